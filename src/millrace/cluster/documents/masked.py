"""A job as others may see it: without secrets, wherever they stand."""

from __future__ import annotations

from dataclasses import replace

from millrace.cluster.documents.checkpoints import CheckpointDocument, CheckpointsDocument
from millrace.cluster.documents.exceptions import ExceptionDocument
from millrace.cluster.documents.job import JobDocument
from millrace.util.secrets import mask_options, mask_text

__all__ = ["masked"]


def masked(job: JobDocument) -> JobDocument:
    """The job with what hides secrets in place of them: in options, texts of exceptions, paths of checkpoints."""
    return replace(
        job,
        parameters=mask_options(job.parameters),
        configuration=mask_options(job.configuration),
        exceptions=tuple([_exception(each) for each in job.exceptions]),
        checkpoints=_checkpoints(job.checkpoints),
    )


def _exception(exception: ExceptionDocument) -> ExceptionDocument:
    return replace(
        exception,
        text=mask_text(exception.text),
        stacktrace=mask_text(exception.stacktrace),
        concurrent=tuple([_exception(each) for each in exception.concurrent]),
    )


def _checkpoints(known: CheckpointsDocument) -> CheckpointsDocument:
    restored = known.restored
    if restored is not None:
        restored = replace(restored, path=_text(restored.path))
    return replace(known, history=tuple([_checkpoint(each) for each in known.history]), restored=restored)


def _checkpoint(checkpoint: CheckpointDocument) -> CheckpointDocument:
    return replace(checkpoint, path=_text(checkpoint.path), failure=_text(checkpoint.failure))


def _text(text: str | None) -> str | None:
    return None if text is None else mask_text(text)
