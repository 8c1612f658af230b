"""The document of a job that has not been started: its plan."""

from __future__ import annotations

from millrace.cluster.documents.job import JobDocument
from millrace.cluster.publishing.restarts import describe_restarts
from millrace.cluster.publishing.vertices import planned_vertex
from millrace.common.jobs.job_status import JobStatus
from millrace.runtime.clocks import now_millis
from millrace.runtime.jobs.job import JobGraph
from millrace.spark.jobs.submit import JobSettings
from millrace.util.secrets import mask_options


def planned_document(job: JobGraph, settings: JobSettings) -> JobDocument:
    """The job that would run."""
    now = now_millis()
    return JobDocument(
        id=job.job_id,
        name=job.name,
        state=JobStatus.CREATED.name,
        batch=settings.batch,
        parallelism=settings.parallelism,
        max_parallelism=int(settings.described.get("pipeline.max-parallelism", -1)),  # as set: -1 where it is not
        started=now,
        ended=-1,
        written=now,
        timestamps={JobStatus.CREATED.name: now},
        vertices=tuple(planned_vertex(job, vertex) for vertex in job.vertices),
        restart_strategy=describe_restarts(settings.restart, settings.described),
        parameters=dict(mask_options(job.parameters)),
        configuration=mask_options(settings.described or settings.configuration),
    )
