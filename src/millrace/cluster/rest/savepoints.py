"""Operations that take savepoints and checkpoints, stop a job with a savepoint, or dispose of savepoints.

All are asynchronous. Fields of request bodies that are not known are ignored.
"""

from __future__ import annotations

from concurrent.futures import Future
from threading import Thread
from typing import Any, Literal

import msgspec

from millrace.cluster.control import JobControl
from millrace.cluster.rest.call import Call, broken, missing, refused
from millrace.cluster.rest.operation import Id, Operation
from millrace.cluster.rest.results import AsynchronousOperationResult, TriggerResponse, begin, on_job, result

Format = Literal["CANONICAL", "NATIVE"]


_KEBAB = {"target_directory": "target-directory", "cancel": "cancel-job"}


class SavepointTriggerRequestBody(msgspec.Struct, rename=_KEBAB):
    """Take a savepoint."""

    target_directory: str | None = None
    cancel: bool | None = None
    formatType: Format | None = None
    triggerId: Id | None = None


class StopWithSavepointRequestBody(msgspec.Struct):
    """Take a savepoint and end the job."""

    targetDirectory: str | None = None
    drain: bool | None = None
    formatType: Format | None = None
    triggerId: Id | None = None


class CheckpointTriggerRequestBody(msgspec.Struct):
    """Take a checkpoint."""

    checkpointType: Literal["CONFIGURED", "FULL", "INCREMENTAL"] | None = None
    triggerId: Id | None = None


class SavepointDisposalRequest(msgspec.Struct, rename={"path": "savepoint-path"}):
    """Delete a savepoint."""

    path: str | None = None


# Operations

_DIRECTORY = ("execution.checkpointing.savepoint-dir", "state.savepoints.dir")


def _directory(call: Call, given: str | None, field: str) -> str | None:
    """Directory of a savepoint; None: the one that the job's configuration names."""
    if given:
        return given
    job = call.holder.job(call.path["jobid"])
    for configuration in (job.configuration if job else {}, call.holder.configuration()):
        if any(configuration.get(key) for key in _DIRECTORY):
            return None
    raise refused(400, f"Config key [{_DIRECTORY[0]}] is not set. Property [{field}] must be provided.")


def _savepoint(call: Call) -> TriggerResponse:
    body: SavepointTriggerRequestBody = call.body
    directory = _directory(call, body.target_directory, "target-directory")

    def start(control: JobControl) -> Future[Any]:
        future = control.savepoint(directory, body.formatType == "NATIVE")
        return _then_cancel(control, future) if body.cancel else future

    return begin(call, "savepoint", call.path["jobid"], body.triggerId, on_job(call, start))


def _then_cancel(control: JobControl, savepoint: Future[str]) -> Future[str]:
    """Cancel the job once its savepoint is complete; if the savepoint fails, the job continues."""
    whole: Future[str] = Future()

    def taken(done: Future[str]) -> None:
        try:
            path = done.result()
            control.cancel()
        except Exception as error:
            whole.set_exception(error)
        else:
            whole.set_result(path)

    savepoint.add_done_callback(taken)
    return whole


def _stop(call: Call) -> TriggerResponse:
    body: StopWithSavepointRequestBody = call.body
    directory = _directory(call, body.targetDirectory, "targetDirectory")

    def start(control: JobControl) -> Future[Any]:
        return control.stop(directory, bool(body.drain), body.formatType == "NATIVE")

    return begin(call, "savepoint", call.path["jobid"], body.triggerId, on_job(call, start))


def _checkpoint(call: Call) -> TriggerResponse:
    body: CheckpointTriggerRequestBody = call.body
    if body.checkpointType == "INCREMENTAL":
        text = "Flink does not support triggering incremental checkpoint explicitly. See FLINK-33723."
        raise broken("java.lang.IllegalStateException", text)

    def start(control: JobControl) -> Future[Any]:
        return control.checkpoint(body.checkpointType == "FULL")

    return begin(call, "checkpoint", call.path["jobid"], body.triggerId, on_job(call, start))


def _dispose(call: Call) -> TriggerResponse:
    body: SavepointDisposalRequest = call.body
    path = body.path
    if path is None:
        raise refused(400, "Field savepoint-path must not be omitted or be null.")
    return begin(call, "disposal", "", None, lambda: _in_background(lambda: call.holder.dispose_savepoint(path)))


def _in_background(work: Any) -> Future[None]:
    future: Future[None] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except Exception as error:
            future.set_exception(error)

    Thread(target=run, name="millrace-disposal", daemon=True).start()
    return future


def _savepoint_status(call: Call) -> AsynchronousOperationResult:
    return result(_find(call, "savepoint"), "failure-cause", lambda path: {"location": path})


def _checkpoint_status(call: Call) -> AsynchronousOperationResult:
    return result(_find(call, "checkpoint"), "failureCause", lambda number: {"checkpointId": number})


def _find(call: Call, kind: str) -> Future[Any]:
    job, id = call.path["jobid"], call.path["triggerid"]
    found = call.site.triggers.find((kind, job, id))
    if found is None:
        raise refused(404, f"There is no {kind} operation with triggerId={id} for job {job}.")
    return found


def _disposal_status(call: Call) -> AsynchronousOperationResult:
    found = call.site.triggers.find(("disposal", "", call.path["triggerid"]))
    if found is None:
        raise missing(f"Operation not found under key: {call.path['triggerid']}")
    return result(found, "failure-cause", lambda _: {})


OPERATIONS = (
    Operation(
        "POST",
        "/jobs/{jobid}/savepoints",
        _savepoint,
        "Take a savepoint, and cancel the job after it if wanted.",
        TriggerResponse,
        202,
        request=SavepointTriggerRequestBody,
    ),
    Operation(
        "GET",
        "/jobs/{jobid}/savepoints/{triggerid}",
        _savepoint_status,
        "What came of a savepoint or stop.",
        AsynchronousOperationResult,
    ),
    Operation(
        "POST",
        "/jobs/{jobid}/stop",
        _stop,
        "Take a savepoint and end the job.",
        TriggerResponse,
        202,
        request=StopWithSavepointRequestBody,
    ),
    Operation(
        "POST",
        "/jobs/{jobid}/checkpoints",
        _checkpoint,
        "Take a checkpoint.",
        TriggerResponse,
        202,
        request=CheckpointTriggerRequestBody,
    ),
    Operation(
        "GET",
        "/jobs/{jobid}/checkpoints/{triggerid}",
        _checkpoint_status,
        "What came of a checkpoint.",
        AsynchronousOperationResult,
    ),
    Operation(
        "POST",
        "/savepoint-disposal",
        _dispose,
        "Delete a savepoint.",
        TriggerResponse,
        request=SavepointDisposalRequest,
    ),
    Operation(
        "GET",
        "/savepoint-disposal/{triggerid}",
        _disposal_status,
        "What came of a disposal.",
        AsynchronousOperationResult,
    ),
)
