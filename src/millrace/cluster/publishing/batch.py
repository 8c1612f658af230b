"""The document of a query in batch mode: its vertices are Spark's stages."""

from __future__ import annotations

import os

from millrace.cluster.documents.job import JobDocument
from millrace.cluster.documents.vertices import OperatorDocument, SubtaskDocument, VertexDocument
from millrace.cluster.publishing.exceptions import plain_exceptions
from millrace.cluster.publishing.metrics import job_metrics
from millrace.cluster.publishing.restarts import describe_restarts
from millrace.cluster.publishing.times import ended, timestamps
from millrace.common.jobs.job_status import JobStatus
from millrace.runtime.clocks import now_millis
from millrace.runtime.coordination.history import JobHistory
from millrace.runtime.coordination.restart_policies import NoRestart
from millrace.runtime.jobs.vertices import hex_id
from millrace.spark.tables.batch_job import BatchJobClient
from millrace.spark.tables.stages import StageCount
from millrace.util.secrets import mask_options

_BEFORE = ("CREATED", "SCHEDULED", "DEPLOYING", "INITIALIZING", "RUNNING")
"""what a task has been before it has ended"""


def batch_document(client: BatchJobClient) -> JobDocument:
    """The query at this moment; may be called from any thread."""
    history, context = client.history, client.context
    configuration = dict(context.surroundings.configuration)
    return JobDocument(
        id=context.job_id,
        name=context.job_name,
        state=history.status.name,
        batch=True,
        parallelism=context.parallelism,
        max_parallelism=-1,
        started=history.created,
        ended=ended(history),
        written=now_millis(),
        timestamps=timestamps(history),
        vertices=tuple(_vertex(stage, history) for stage in client.stages()),
        exceptions=plain_exceptions(history),
        exceptions_truncated=history.truncated,
        metrics=job_metrics(client.get_metrics()),
        restart_strategy=describe_restarts(NoRestart(), {}),
        configuration=mask_options(configuration),
        spark_page=client.web_page,
        process=os.getpid(),
    )


def _vertex(stage: StageCount, history: JobHistory) -> VertexDocument:
    """Spark tells how many tasks of a stage have ended, not which, nor when: the first ones stand for them, and what
    has ended with the job did so at its end."""
    over = history.status.is_globally_terminal_state()
    rest = "CANCELED" if over else "SCHEDULED"
    working = "CANCELED" if over else "RUNNING"
    states = ["FINISHED"] * stage.done + [working] * stage.active
    states += [rest] * (stage.tasks - len(states))
    end = ended(history)
    began = history.entered().get(JobStatus.RUNNING, history.created)
    return VertexDocument(
        id=hex_id(f"stage {stage.id}"),
        name=stage.name,
        parallelism=stage.tasks,
        max_parallelism=stage.tasks,
        slot_sharing_group=hex_id("slot sharing group default"),
        operators=(OperatorDocument(str(stage.id), stage.name, ""),),
        subtasks=tuple(
            SubtaskDocument(index, state, 0, "", "", _entered(state, began, end), started=began, ended=end)
            for index, state in enumerate(states[: stage.tasks])
        ),
    )


def _entered(state: str, began: int, end: int) -> dict[str, int]:
    """When a task entered its states: with its job, since Spark doesn't tell."""
    before = _BEFORE[: _BEFORE.index(state)] if state in _BEFORE else _BEFORE
    return {**dict.fromkeys(before, began), state: began if end < 0 else end}
