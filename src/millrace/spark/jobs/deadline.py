"""An epoch that does not end: a function, a sink or a disk that hangs would stop a job without a word."""

from __future__ import annotations

import contextlib
import threading
from types import TracebackType
from typing import TYPE_CHECKING

from millrace.datastream.settings import options

if TYPE_CHECKING:
    from pyspark import SparkContext


class EpochTimeoutError(Exception):
    """An epoch took longer than ``millrace.epoch.timeout``."""


class Deadline:
    """Cancels the Spark jobs with a tag when their time is over, and tells what they were waiting for.

    :param timeout_ms: None: they have all the time in the world.
    """

    def __init__(self, context: SparkContext, tag: str, epoch: int, timeout_ms: int | None) -> None:
        self._context = context
        self._tag = tag
        self._epoch = epoch
        self._timeout_ms = timeout_ms
        self._timer: threading.Timer | None = None
        self._missed: str | None = None

    def __enter__(self) -> Deadline:
        if self._timeout_ms is not None:
            self._timer = threading.Timer(self._timeout_ms / 1000, self._cancel)
            self._timer.daemon = True
            self._timer.start()
        return self

    def _cancel(self) -> None:
        self._missed = waiting_for(self._context)
        self._context.cancelJobsWithTag(self._tag)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if error is not None and self._missed is not None:
            raise EpochTimeoutError(
                f"epoch {self._epoch} did not end within {self._timeout_ms} ms ({options.EPOCH_TIMEOUT.key}): "
                f"{self._missed}"
            ) from None


def waiting_for(context: SparkContext) -> str:
    """Which tasks of Spark have not ended."""
    found = []
    with contextlib.suppress(Exception):
        tracker = context.statusTracker()
        for number in tracker.getActiveStageIds():
            stage = tracker.getStageInfo(number)
            if stage is not None:
                found.append(
                    f"{stage.numActiveTasks} running and {stage.numCompletedTasks} completed of {stage.numTasks} tasks "
                    f"of Spark's stage {number}"
                )
    return "it waits for " + (", ".join(found) or "Spark, which runs no task")
