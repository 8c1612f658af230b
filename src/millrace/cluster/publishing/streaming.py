"""The document of a job that runs in epochs, as its driver knows it."""

from __future__ import annotations

import os

from millrace.cluster.documents.epochs import EpochDocument
from millrace.cluster.documents.job import JobDocument, SlowDocument
from millrace.cluster.publishing.checkpoints import checkpoints_document
from millrace.cluster.publishing.exceptions import exception_documents
from millrace.cluster.publishing.metrics import accumulator_documents, job_metrics
from millrace.cluster.publishing.restarts import describe_restarts
from millrace.cluster.publishing.times import ended, timestamps
from millrace.cluster.publishing.vertices import vertex_documents
from millrace.metrics.report import MetricsReport
from millrace.runtime.clocks import now_millis
from millrace.runtime.coordination.history import EpochRecord
from millrace.runtime.elements import MIN_TIMESTAMP
from millrace.spark.jobs.runner import JobRunner
from millrace.util.secrets import mask_options


def job_document(runner: JobRunner) -> JobDocument:
    """The job at this moment; may be called from any thread."""
    job, history, settings = runner.job, runner.history, runner.settings
    coordinator = runner.coordinator
    # Not all that ``coordinator.report`` puts together: what tasks have done is in their figures.
    report = MetricsReport((*coordinator.metrics.report(), *coordinator.reporter.of_job()))
    return JobDocument(
        id=job.job_id,
        name=job.name,
        state=history.status.name,
        batch=settings.batch,
        parallelism=settings.parallelism,
        max_parallelism=int(settings.described.get("pipeline.max-parallelism", -1)),  # as set: -1 where it is not
        started=history.created,
        ended=ended(history),
        written=now_millis(),
        timestamps=timestamps(history),
        vertices=vertex_documents(runner, report),
        checkpoints=checkpoints_document(runner),
        exceptions=exception_documents(runner),
        exceptions_truncated=history.truncated,
        epochs=tuple(map(_epoch, history.epochs())),
        accumulators=accumulator_documents(coordinator.metrics.merged_accumulators()),
        metrics=job_metrics(report),
        restart_strategy=describe_restarts(settings.restart, settings.described),
        parameters=dict(mask_options(job.parameters)),
        configuration=mask_options(settings.described or settings.configuration),
        object_reuse=settings.object_reuse,
        stoppable=not settings.batch,
        log_file=runner.log_file,
        spark_page=runner.web_page,
        process=os.getpid(),
        slow=_slow(runner),
        at_work=runner.at_work(),
    )


def _slow(runner: JobRunner) -> SlowDocument | None:
    slow = runner.coordinator.figures.slow()
    if slow is None:
        return None
    vertex = next(each for each in runner.job.vertices if slow.operator in each.operators)
    return SlowDocument(vertex.id, slow.name, slow.millis, slow.share)


def _epoch(record: EpochRecord) -> EpochDocument:
    return EpochDocument(
        record.number,
        record.began,
        record.duration,
        record.records,
        None if record.watermark == MIN_TIMESTAMP else record.watermark,
        dict(record.phases),
        record.checkpoint,
    )
