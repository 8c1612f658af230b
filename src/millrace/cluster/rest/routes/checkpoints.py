"""Looking at checkpoints."""

from __future__ import annotations

from millrace.cluster.documents.checkpoints import CheckpointDocument
from millrace.cluster.documents.job import JobDocument
from millrace.cluster.rest.answers.checkpoint_subtasks import (
    TaskCheckpointStatisticsWithSubtaskDetails,
    with_subtasks,
)
from millrace.cluster.rest.answers.checkpoints import (
    CheckpointConfigInfo,
    CheckpointingStatistics,
    CheckpointStatistics,
    checkpoint,
    config,
    statistics,
)
from millrace.cluster.rest.web.call import Call
from millrace.cluster.rest.web.errors import missing, not_enabled, refused
from millrace.cluster.rest.web.operation import Operation

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
