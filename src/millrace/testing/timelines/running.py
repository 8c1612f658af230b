"""Runs a small program without Spark, element by element, and watches its operators."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from millrace.runtime.bases.process_base import KeyedProcessBase
from millrace.runtime.clocks import now_millis
from millrace.runtime.jobs.job import JobGraph
from millrace.runtime.state.working import InMemory
from millrace.runtime.tasks.member import Member
from millrace.runtime.tasks.task import StageTask
from millrace.runtime.tasks.task_cache import LiveTask
from millrace.runtime.versions import INITIAL
from millrace.testing.local import LocalEngine, job_of
from millrace.testing.timelines.events import OperatorTimeline
from millrace.testing.timelines.timeline import Timeline
from millrace.testing.timelines.watching import Watcher

if TYPE_CHECKING:
    from millrace.datastream.data_stream import DataStream
    from millrace.datastream.stream_execution_environment import StreamExecutionEnvironment

ELEMENTS = 200
"""that are recorded of a program, in all its operators together"""
_EPOCHS = 5_000
"""after which a source is given up that brings nothing"""


class TimelineError(ValueError):
    """There is nothing to draw: no windows or timers, or batch mode.

        >>> timeline(env.from_collection([1]).map(str))
        Traceback (most recent call last):
            ...
        millrace.testing.timelines.running.TimelineError: the program has neither windows nor a ...
    """


class _WatchedEngine(LocalEngine):
    """Its tasks are made before the first epoch, so that their operators can be watched from the beginning."""

    def __init__(self, job: JobGraph) -> None:
        super().__init__(job, now_millis)
        self.watchers: list[tuple[Member, Watcher]] = []
        (cache,) = self._workers
        for stage, partitions in enumerate(job.partitions):
            for partition in range(partitions):
                task = StageTask(self._load(), stage, partition, self._clock)
                for member in task.members:
                    if isinstance(member.operator, KeyedProcessBase):
                        self.watchers.append((member, Watcher(member.operator)))
                task.open()
                cache.put(cache.begin(job.job_id, (stage, partition), INITIAL), LiveTask(task))


def timeline(program: StreamExecutionEnvironment | DataStream, elements: int = ELEMENTS) -> Timeline:
    """Run a program without Spark, one element at a time, and tell what happened to its windows and timers.

    Watermarks come after every element, so elements can be late that would be in time if all came at once.

        >>> windows = env.from_collection([1, 2, 3]).key_by(lambda n: "all").count_window(2)
        >>> timeline(windows.reduce(lambda x, y: x + y)).complete
        True

    :param elements: so many elements at most are recorded; then the program is stopped.
    :raises TimelineError: the program has neither windows nor a keyed process function, or is in batch mode.
    :raises JobFailedError: it failed.
    """
    return record_job(job_of(program), elements)


def record_job(job: JobGraph, elements: int = ELEMENTS) -> Timeline:
    """The same for a job that is ready to run."""
    if job.batch:
        raise TimelineError("in batch mode no watermark moves while elements come: run the program in streaming mode")
    engine = _WatchedEngine(replace(job, epoch_records=1, state=InMemory()))
    if not engine.watchers:
        raise TimelineError(
            "the program has neither windows nor a keyed process function on a DataStream, so there is no time to show"
        )
    for number, _ in enumerate(engine.epochs(), start=1):
        if number == _EPOCHS or sum(watcher.arrivals for _, watcher in engine.watchers) >= elements:
            break
    seen = tuple(_seen(member, watcher) for member, watcher in engine.watchers)
    return Timeline(seen, engine.coordinator.finished)


def _seen(member: Member, watcher: Watcher) -> OperatorTimeline:
    info = member.info
    name = info.name if info.parallelism == 1 else f"{info.name} ({member.subtask + 1}/{info.parallelism})"
    return OperatorTimeline(name, tuple(watcher.events))
