"""Operations that cancel a job, and what Flink has for changing the parallelism of a running one.

Fields of request bodies that are not known are ignored.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from millrace.cluster.control import JobOverError
from millrace.cluster.rest.call import NO_JOB, Call, not_enabled, refused
from millrace.cluster.rest.call import broken as internal
from millrace.cluster.rest.jobs import find_job
from millrace.cluster.rest.operation import INTEGER, Id, Operation, Query, choice
from millrace.cluster.rest.settings import RestSettings
from millrace.cluster.rest.statistics import ENDED


class JobClientHeartbeatRequestBody(msgspec.Struct):
    """A client that is still there."""

    expiredTimestamp: int


class Parallelism(msgspec.Struct):
    """Bounds of a parallelism."""

    lowerBound: int = 1
    upperBound: int = -1


class JobVertexResourceRequirements(msgspec.Struct):
    """What a vertex needs."""

    parallelism: Parallelism


# Operations

_NO_STOP = (
    'The termination mode "stop" has been removed. For an ungraceful shutdown, please use "cancel" instead. For a '
    'graceful shutdown, please use "jobs/:jobId/stop" instead.'
)


def cancel(call: Call, id: str) -> None:
    """Begin to cancel a job. One that is cancelled already stays so."""
    control = call.holder.control(id)
    if control is None:
        raise refused(404, "Job could not be found.")
    job = call.holder.job(id)
    if job is not None and job.state == "CANCELED":
        return
    try:
        control.cancel()
    except JobOverError:
        job = call.holder.job(id)
        state = "FINISHED" if job is None else job.state
        text = "Job cancellation failed because the job has already reached another terminal state"
        raise refused(409, f"{text} ({state}).") from None


def _cancel(call: Call) -> None:
    if call.one("mode") == "stop":
        raise refused(308, _NO_STOP)
    cancel(call, call.path["jobid"])


def _yarn_cancel(call: Call) -> None:
    cancel(call, call.path["jobid"])


def _yarn_stop(call: Call) -> None:
    raise refused(308, _NO_STOP)


def _heartbeat(call: Call) -> None:
    """Answer the heartbeat of a client; nothing is recorded, since jobs don't end with their client."""


def _rescale(call: Call) -> None:
    raise refused(503, "Rescaling is temporarily disabled. See FLINK-12312.")


def _requirements(call: Call) -> None:
    job = find_job(call.holder, call.path["jobid"])
    if job.state in ENDED:
        raise internal(NO_JOB, f"Could not find Flink job ({job.id})")
    raise internal(
        "java.lang.UnsupportedOperationException",
        "The DefaultScheduler does not support changing the parallelism without a job restart. "
        "This feature is currently only expected to work with the AdaptiveScheduler.",
    )


def _require(call: Call) -> None:
    """Validate a request to change the parallelism, then refuse it with the reason."""
    wanted: Mapping[str, JobVertexResourceRequirements] = call.body
    if not wanted:
        raise refused(400, "Request body does not specify resource requirements.")
    job = find_job(call.holder, call.path["jobid"])
    known = {each.id for each in job.vertices}
    for id in wanted:
        if id.lower() not in known:
            raise refused(400, f"Job vertex [{id}] was not found in the JobGraph.")
    for id in known - {each.lower() for each in wanted}:
        raise refused(400, f"The request is incomplete, missing job vertex [{id}] resource requirements.")
    _requirements(call)


def _no_rescales(call: Call) -> None:
    job = call.job()
    kind = "org.apache.flink.runtime.rest.handler.job.rescales.RescalesUnavailableException"
    text = "or it has been enabled but the value of configuration option"
    option = "web.adaptive-scheduler.rescale-history.size"
    raise not_enabled(
        f"The job `{job.id}` has not enabled the `Adaptive` scheduler, {text} `{option}` has not been set to "
        "greater than `0`.",
        kind,
    )


def _no_rescale_config(call: Call) -> None:
    raise not_enabled(f"AdaptiveScheduler is not enabled for this job ({call.job().id}).")


def operations(settings: RestSettings) -> tuple[Operation, ...]:
    """The steering operations that the settings allow."""
    operations = list(_ALWAYS)
    if settings.cancel:
        operations.append(
            Operation(
                "PATCH",
                "/jobs/{jobid}",
                _cancel,
                "Cancel a job.",
                status=202,
                query=(Query("mode", choice("cancel", "stop")),),
            )
        )
    if settings.cancel and settings.yarn_cancel:
        path = "/jobs/{jobid}/yarn-cancel"
        operations.append(Operation("GET", path, _yarn_cancel, "Cancel a job.", status=202, changes=True))
    return tuple(operations)


_ALWAYS = (
    Operation("GET", "/jobs/{jobid}/yarn-stop", _yarn_stop, "Removed from Flink.", status=308),
    Operation(
        "PATCH",
        "/jobs/{jobid}/clientHeartbeat",
        _heartbeat,
        "A client is still there: of no effect.",
        status=202,
        request=JobClientHeartbeatRequestBody,
    ),
    Operation(
        "PATCH",
        "/jobs/{jobid}/rescaling",
        _rescale,
        "Switched off, in Flink, too.",
        status=503,
        query=(Query("parallelism", INTEGER),),
    ),
    Operation("GET", "/jobs/{jobid}/rescaling/{triggerid}", _rescale, "Switched off, in Flink, too.", status=503),
    Operation(
        "GET", "/jobs/{jobid}/resource-requirements", _requirements, "Only of Flink's adaptive scheduler.", status=500
    ),
    Operation(
        "PUT",
        "/jobs/{jobid}/resource-requirements",
        _require,
        "Only of Flink's adaptive scheduler.",
        status=500,
        request=dict[Id, JobVertexResourceRequirements],
        request_name="JobResourceRequirementsBody",
    ),
    *(
        Operation(
            "GET",
            f"/jobs/{{jobid}}/rescales/{name}",
            handler,
            "Only of Flink's adaptive scheduler.",
            status=404,
            history=name in ("history", "config"),
        )
        for name, handler in (
            ("history", _no_rescales),
            ("overview", _no_rescales),
            ("summary", _no_rescales),
            ("details/{rescaleuuid}", _no_rescales),
            ("config", _no_rescale_config),
        )
    ),
)
