"""The failures of a job, as documents."""

from __future__ import annotations

from millrace.cluster.documents.exceptions import ExceptionDocument
from millrace.cluster.publishing.failed_task import task_of
from millrace.runtime.coordination.history import FailureRecord, JobHistory
from millrace.spark.jobs.runner import JobRunner
from millrace.util.secrets import mask_text


def exception_documents(runner: JobRunner) -> tuple[ExceptionDocument, ...]:
    """The newest first."""
    return tuple(_document(record, runner) for record in runner.history.failures())


def _document(record: FailureRecord, runner: JobRunner) -> ExceptionDocument:
    task = task_of(runner.job, record)
    figures = None if task is None else runner.coordinator.figures.all().get((task.vertex.id, task.subtask))
    worker = None if figures is None else figures.worker
    return ExceptionDocument(
        name=record.name,
        text=mask_text(record.text),
        stacktrace=mask_text(record.stacktrace),
        at=record.at,
        task=None if task is None else task.name,
        host=None if worker is None else worker.host,
        task_manager=None if worker is None else worker.executor,
        concurrent=tuple(_document(each, runner) for each in record.concurrent),
        root=record.root,
    )


def plain_exceptions(history: JobHistory) -> tuple[ExceptionDocument, ...]:
    """Those of a job without tasks of its own; the newest first."""
    return tuple(
        ExceptionDocument(record.name, mask_text(record.text), mask_text(record.stacktrace), record.at)
        for record in history.failures()
    )
