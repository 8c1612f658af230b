"""Tasks that still run when their Spark job has failed or was cancelled."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark import SparkContext

_LOOK_EVERY_SECONDS = 0.05


@contextmanager
def none_left(context: SparkContext, tag: str, deadline_seconds: float = 10.0) -> Iterator[None]:
    """Spark jobs with a tag of their own. If they fail, waits until the last of their tasks has ended: what a task has
    left can only be taken back when it writes no more.

    :param deadline_seconds: for how long at most; a task that does not heed being killed runs on after that.
    """
    context.addJobTag(tag)
    try:
        yield
    except BaseException:
        give_up = time.monotonic() + deadline_seconds
        while _running(context, tag) and time.monotonic() < give_up:
            time.sleep(_LOOK_EVERY_SECONDS)
        raise
    finally:
        context.removeJobTag(tag)


def _running(context: SparkContext, tag: str) -> int:
    """How many tasks run. None of a context that has been stopped."""
    try:
        tracker = context._jsc.sc().statusTracker()
        jobs = [context.statusTracker().getJobInfo(job) for job in tracker.getJobIdsForTag(tag)]
        stages = [context.statusTracker().getStageInfo(stage) for job in jobs if job for stage in job.stageIds]
    except Exception:
        return 0
    return sum(stage.numActiveTasks for stage in stages if stage)
