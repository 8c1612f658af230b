"""Operations on checkpoints and savepoints: those that look (counts, summaries, history, configuration, and what
subtasks did for a checkpoint), and those that take savepoints and checkpoints, stop a job with a savepoint, or
dispose of savepoints.

The latter are all asynchronous. Fields of request bodies that are not known are ignored.
"""

from __future__ import annotations

from concurrent.futures import Future
from threading import Thread
from typing import Any, Literal, TypedDict

import msgspec

from millrace.cluster.control import JobControl
from millrace.cluster.documents import (
    FOREVER,
    CheckpointDocument,
    CheckpointsDocument,
    JobDocument,
    RestoredDocument,
    TaskCheckpointDocument,
)
from millrace.cluster.rest.call import Call, broken, missing, not_enabled, refused
from millrace.cluster.rest.operation import Id, Operation
from millrace.cluster.rest.results import AsynchronousOperationResult, TriggerResponse, begin, on_job, result
from millrace.cluster.rest.statistics import NOTHING, Summary, summary
from millrace.util.secrets import mask_text

# Looking at checkpoints


class _Sizes(TypedDict):
    """Sizes that whole checkpoints and their parts by vertex have in common."""

    id: int
    status: str
    latest_ack_timestamp: int
    checkpointed_size: int
    state_size: int
    end_to_end_duration: int
    alignment_buffered: int
    processed_data: int
    persisted_data: int
    num_subtasks: int
    num_acknowledged_subtasks: int


class TaskCheckpointStatistics(_Sizes):
    """Of one vertex."""


class _Statistics(_Sizes):
    className: str
    is_savepoint: bool
    savepointFormat: str | None
    trigger_timestamp: int
    checkpoint_type: str
    tasks: dict[str, TaskCheckpointStatistics]


class CheckpointStatistics(_Statistics, total=False):
    """A checkpoint; ``className`` says which of the further fields it has."""

    external_path: str | None
    discarded: bool
    failure_timestamp: int
    failure_message: str | None


class Counts(TypedDict):
    """How many checkpoints there were."""

    restored: int
    total: int
    in_progress: int
    completed: int
    failed: int


class CheckpointsSummary(TypedDict):
    """Of the completed ones."""

    checkpointed_size: Summary
    state_size: Summary
    end_to_end_duration: Summary
    alignment_buffered: Summary
    processed_data: Summary
    persisted_data: Summary


class RestoredCheckpointStatistics(TypedDict):
    """What the job went on from."""

    id: int
    restore_timestamp: int
    is_savepoint: bool
    external_path: str | None


class LatestCheckpoints(TypedDict):
    """The last one of each kind."""

    completed: CheckpointStatistics | None
    savepoint: CheckpointStatistics | None
    failed: CheckpointStatistics | None
    restored: RestoredCheckpointStatistics | None


class CheckpointingStatistics(TypedDict):
    """All of it."""

    counts: Counts
    summary: CheckpointsSummary
    latest: LatestCheckpoints
    history: list[CheckpointStatistics]


class Externalization(TypedDict):
    """Whether checkpoints outlive the job."""

    enabled: bool
    delete_on_cancellation: bool


class CheckpointConfigInfo(TypedDict):
    """What is configured."""

    mode: str
    interval: int
    timeout: int
    min_pause: int
    max_concurrent: int
    externalization: Externalization
    state_backend: str
    checkpoint_storage: str
    unaligned_checkpoints: bool
    tolerable_failed_checkpoints: int
    aligned_checkpoint_timeout: int
    checkpoints_after_tasks_finish: bool
    state_changelog_enabled: bool
    changelog_periodic_materialization_interval: int
    changelog_storage: str


def statistics(known: CheckpointsDocument) -> CheckpointingStatistics:
    """Counts, summary, the latest of each kind, history without tasks."""
    completed = [each for each in known.history if each.status == "COMPLETED"]
    return {
        "counts": {
            "restored": known.restored_count,
            "total": known.total,
            "in_progress": known.in_progress,
            "completed": known.completed,
            "failed": known.failed,
        },
        "summary": {
            "checkpointed_size": summary([each.size for each in completed]),
            "state_size": summary([each.full_size for each in completed]),
            "end_to_end_duration": summary([each.duration for each in completed]),
            "alignment_buffered": NOTHING,
            "processed_data": summary([0 for _ in completed]),
            "persisted_data": summary([0 for _ in completed]),
        },
        "latest": {
            "completed": _first(completed, savepoint=False),
            "savepoint": _first(completed, savepoint=True),
            "failed": _first([each for each in known.history if each.status == "FAILED"]),
            "restored": None if known.restored is None else _restored(known.restored),
        },
        "history": [checkpoint(each) for each in known.history],
    }


def _first(checkpoints: list[CheckpointDocument], savepoint: bool | None = None) -> CheckpointStatistics | None:
    for each in checkpoints:
        if savepoint is None or each.savepoint == savepoint:
            return checkpoint(each)
    return None


def _restored(restored: RestoredDocument) -> RestoredCheckpointStatistics:
    return {
        "id": restored.id,
        "restore_timestamp": restored.at,
        "is_savepoint": restored.savepoint,
        "external_path": None if restored.path is None else mask_text(restored.path),
    }


def checkpoint(known: CheckpointDocument, with_tasks: bool = False) -> CheckpointStatistics:
    """One checkpoint."""
    body: CheckpointStatistics = {
        "className": known.status.lower(),
        "id": known.id,
        "status": known.status,
        "is_savepoint": known.savepoint,
        "savepointFormat": "CANONICAL" if known.savepoint else None,
        "trigger_timestamp": known.triggered,
        "latest_ack_timestamp": known.latest_ack,
        "checkpointed_size": known.size,
        "state_size": known.full_size,
        "end_to_end_duration": known.duration,
        "alignment_buffered": 0,
        "processed_data": 0,
        "persisted_data": 0,
        "num_subtasks": sum(each.subtasks for each in known.tasks),
        "num_acknowledged_subtasks": sum(each.acknowledged for each in known.tasks),
        "checkpoint_type": _kind(known),
        "tasks": {each.vertex: task(known, each) for each in known.tasks} if with_tasks else {},
    }
    if known.status == "COMPLETED":
        body["external_path"] = None if known.path is None else mask_text(known.path)
        body["discarded"] = known.discarded
    elif known.status == "FAILED":
        body["failure_timestamp"] = known.failed
        body["failure_message"] = None if known.failure is None else mask_text(known.failure)
    return body


def _kind(known: CheckpointDocument) -> str:
    if not known.savepoint:
        return "CHECKPOINT"
    return "SYNC_SAVEPOINT" if known.ends_job else "SAVEPOINT"


def task_state(known: CheckpointDocument, task: TaskCheckpointDocument) -> str:
    if task.acknowledged >= task.subtasks:
        return "COMPLETED"
    return "FAILED" if known.status == "FAILED" else "IN_PROGRESS"


def task(known: CheckpointDocument, task: TaskCheckpointDocument) -> TaskCheckpointStatistics:
    """What one vertex did for a checkpoint."""
    return {
        "id": known.id,
        "status": task_state(known, task),
        "latest_ack_timestamp": task.latest_ack,
        "checkpointed_size": task.size,
        "state_size": task.full_size,
        "end_to_end_duration": task.duration,
        "alignment_buffered": 0,
        "processed_data": 0,
        "persisted_data": 0,
        "num_subtasks": task.subtasks,
        "num_acknowledged_subtasks": task.acknowledged,
    }


def config(known: CheckpointsDocument) -> CheckpointConfigInfo:
    """What is configured."""
    set = known.config
    return {
        # As in Flink, where nothing is exactly once without checkpoints.
        "mode": "at_least_once" if set.interval == FOREVER else set.mode,
        "interval": set.interval,
        "timeout": set.timeout,
        "min_pause": set.min_pause,
        "max_concurrent": set.max_concurrent,
        "externalization": {"enabled": set.externalized, "delete_on_cancellation": not set.retained_on_cancellation},
        "state_backend": set.state_backend,
        "checkpoint_storage": set.storage,
        "unaligned_checkpoints": set.unaligned,
        "tolerable_failed_checkpoints": set.tolerable_failures,
        "aligned_checkpoint_timeout": 0,
        "checkpoints_after_tasks_finish": set.after_tasks_finish,
        "state_changelog_enabled": False,
        "changelog_periodic_materialization_interval": 600_000,
        "changelog_storage": "memory",
    }


# Subtasks

CheckpointDuration = TypedDict("CheckpointDuration", {"sync": int, "async": int})


class CheckpointAlignment(TypedDict):
    """Barriers that wait for each other: there are none here, all is 0."""

    buffered: int
    processed: int
    persisted: int
    duration: int


class _Subtask(TypedDict):
    className: str
    index: int
    status: str


class SubtaskCheckpointStatistics(_Subtask, total=False):
    """One subtask; those that have not acknowledged have no more than their index."""

    ack_timestamp: int
    end_to_end_duration: int
    checkpointed_size: int
    state_size: int
    checkpoint: CheckpointDuration
    alignment: CheckpointAlignment
    start_delay: int
    unaligned_checkpoint: bool
    aborted: bool


DurationSummary = TypedDict("DurationSummary", {"sync": Summary, "async": Summary})


class AlignmentSummary(TypedDict):
    """Barriers that wait for each other: there are none here, all is 0."""

    buffered: Summary
    processed: Summary
    persisted: Summary
    duration: Summary


class TaskSummary(TypedDict):
    """Over the subtasks."""

    checkpointed_size: Summary
    state_size: Summary
    end_to_end_duration: Summary
    checkpoint_duration: DurationSummary
    alignment: AlignmentSummary
    start_delay: Summary


class TaskCheckpointStatisticsWithSubtaskDetails(TaskCheckpointStatistics):
    """A vertex with its subtasks."""

    summary: TaskSummary
    subtasks: list[SubtaskCheckpointStatistics]


def with_subtasks(known: CheckpointDocument, of: TaskCheckpointDocument) -> TaskCheckpointStatisticsWithSubtaskDetails:
    """A vertex with its subtasks. Percentiles are not computed here, neither are they by Flink."""
    count = of.acknowledged
    sizes = [of.sizes[index] if index < len(of.sizes) else of.size // max(1, of.subtasks) for index in range(count)]
    none = summary([0] * count, with_percentiles=False)
    return {
        **task(known, of),
        "summary": {
            "checkpointed_size": summary(sizes, with_percentiles=False),
            "state_size": summary(sizes, with_percentiles=False),
            "end_to_end_duration": summary([of.duration] * count, with_percentiles=False),
            "checkpoint_duration": {"sync": none, "async": summary([of.duration] * count, with_percentiles=False)},
            "alignment": {"buffered": NOTHING, "processed": none, "persisted": none, "duration": none},
            "start_delay": none,
        },
        "subtasks": [_subtask(of, index, sizes) for index in range(of.subtasks)],
    }


def _subtask(of: TaskCheckpointDocument, index: int, sizes: list[int]) -> SubtaskCheckpointStatistics:
    if index >= of.acknowledged:
        return {"className": "pending", "index": index, "status": "pending_or_failed"}
    return {
        "className": "completed",
        "index": index,
        "status": "completed",
        "ack_timestamp": of.latest_ack,
        "end_to_end_duration": of.duration,
        "checkpointed_size": sizes[index],
        "state_size": sizes[index],
        "checkpoint": {"sync": 0, "async": of.duration},
        "alignment": {"buffered": 0, "processed": 0, "persisted": 0, "duration": 0},
        "start_delay": 0,
        "unaligned_checkpoint": False,
        "aborted": False,
    }


# Operations

_ALL = "/jobs/{jobid}/checkpoints"
_ONE = f"{_ALL}/details/{{checkpointid}}"


def _statistics(call: Call) -> CheckpointingStatistics:
    job = call.job()
    if job.batch:
        raise not_enabled("Checkpointing has not been enabled.")
    return statistics(job.checkpoints)


def _config(call: Call) -> CheckpointConfigInfo:
    job = call.job()
    if job.batch:
        raise not_enabled(f"Checkpointing is not enabled for this job ({job.id}).")
    return config(job.checkpoints)


def _find(call: Call, job: JobDocument) -> CheckpointDocument:
    if job.batch:
        raise refused(404, f"Checkpointing was not enabled for job {job.id}.")
    id = call.path["checkpointid"]
    found = next((each for each in job.checkpoints.history if each.id == id), None)
    if found is None:
        raise refused(404, f"Could not find checkpointing statistics for checkpoint {id}.")
    return found


def _details(call: Call) -> CheckpointStatistics:
    return checkpoint(_find(call, call.job()), with_tasks=True)


def _subtasks(call: Call) -> TaskCheckpointStatisticsWithSubtaskDetails:
    known = _find(call, call.job())
    for each in known.tasks:
        if each.vertex == call.path["vertexid"]:
            return with_subtasks(known, each)
    raise missing(f"There is no checkpoint statistics for task {call.path['vertexid']}.")


OPERATIONS = (
    Operation("GET", _ALL, _statistics, "Counts, summary, history.", CheckpointingStatistics, history=True),
    Operation("GET", f"{_ALL}/config", _config, "What is configured.", CheckpointConfigInfo, history=True),
    Operation("GET", _ONE, _details, "A checkpoint by vertex.", CheckpointStatistics, history=True),
    Operation(
        "GET",
        f"{_ONE}/subtasks/{{vertexid}}",
        _subtasks,
        "A vertex's part of a checkpoint.",
        TaskCheckpointStatisticsWithSubtaskDetails,
        history=True,
    ),
)


# Taking and disposing of savepoints

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
    return result(_find_triggered(call, "savepoint"), "failure-cause", lambda path: {"location": path})


def _checkpoint_status(call: Call) -> AsynchronousOperationResult:
    return result(_find_triggered(call, "checkpoint"), "failureCause", lambda number: {"checkpointId": number})


def _find_triggered(call: Call, kind: str) -> Future[Any]:
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


SAVEPOINT_OPERATIONS = (
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
