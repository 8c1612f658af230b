"""A job of Spark that lasts: its tasks hold cores until the driver lets them end."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from pyspark import SparkContext
from pyspark.sql import DataFrame
from pyspark.util import InheritableThread

from millrace.util.threads import in_this_context

END_SECONDS = 2.0
"""Seconds that Spark's tasks have to end by themselves; a task may hang in a function."""


class LastingJob:
    """Runs a plan on a thread of its own until its tasks end, one of them fails, or the job is ended.

    :param plan: its tasks end when the driver closes their connections.
    :param tag: the tag that Spark's job is cancelled by.
    :param over: is called on another thread when the job has ended, for whatever reason.
    """

    def __init__(self, context: SparkContext, plan: DataFrame, tag: str, over: Callable[[], None]) -> None:
        self._context = context
        self._tag = tag
        self._over = over
        self.error: BaseException | None = None
        """what Spark's job has failed with"""
        run = in_this_context(self._run)
        self._thread = InheritableThread(target=run, args=(plan,), name="millrace-lasting-job", daemon=True)
        self._thread.start()

    def _run(self, plan: DataFrame) -> None:
        self._context.addJobTag(self._tag)
        try:
            plan.collect()
        except BaseException as error:
            self.error = error
        finally:
            with contextlib.suppress(Exception):  # the JVM may be gone
                self._context.removeJobTag(self._tag)
            self._over()

    def running(self) -> int:
        """The number of tasks of the job that run now: those of the latest job of this thread's group, which is this
        one unless Spark has not heard of it yet."""
        tracker = self._context.statusTracker()
        jobs = tracker.getJobIdsForGroup(self._context.getLocalProperty("spark.jobGroup.id"))
        info = tracker.getJobInfo(max(jobs, default=-1))
        pool = _pool(self._context)
        sets = [pool.getSchedulableByName(f"TaskSet_{stage}.0") for stage in info.stageIds] if info is not None else []
        return sum(int(tasks.runningTasks()) for tasks in sets if tasks is not None)

    def end(self) -> None:
        """Wait until the tasks have ended; cancel those that have not after ``END_SECONDS``."""
        self._thread.join(END_SECONDS)
        if self._thread.is_alive():
            self.cancel()

    def cancel(self) -> None:
        """Cancel Spark's job."""
        with contextlib.suppress(Exception):
            self._context.cancelJobsWithTag(self._tag)


def cores_of(context: SparkContext) -> int:
    """How many tasks of Spark can run at the same time, whether the cores are free now or not."""
    spark: Any = context._jsc.sc()
    with contextlib.suppress(Exception):  # no public method; what is there has been the same since 3.1
        return int(spark.maxNumConcurrentTasks(spark.resourceProfileManager().defaultResourceProfile()))
    return int(context.defaultParallelism)


def running_tasks(context: SparkContext) -> int:
    """How many tasks of Spark run now, of whatever job."""
    return int(_pool(context).runningTasks())


def _pool(context: SparkContext) -> Any:
    """What Spark's scheduler runs, which has been the same since 2.4. The public tracker is late: it hears of a task
    with the next event of its stage or executor, up to ten seconds later."""
    spark: Any = context._jsc.sc()
    return spark.taskScheduler().rootPool()
