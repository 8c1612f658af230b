"""Runs a small program without Spark, element by element, and watches its operators from outside.

``Watcher`` wraps the methods of each operator, which does not know about it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from millrace.common.state import ListStateDescriptor
from millrace.common.window import TimeWindow
from millrace.runtime.bases.process_operators import KeyedProcessBase
from millrace.runtime.clocks import now_millis
from millrace.runtime.elements import Chunk
from millrace.runtime.operators.job_graph import JobGraph
from millrace.runtime.state.address import key_of
from millrace.runtime.state.working import InMemory
from millrace.runtime.storage import INITIAL
from millrace.runtime.tasks.member import Member
from millrace.runtime.tasks.task import StageTask
from millrace.runtime.tasks.worker import LiveTask
from millrace.runtime.timers import TimerId, TimerQueue
from millrace.runtime.windows.window_operator import WindowOperatorBase
from millrace.testing.local import LocalEngine, job_of
from millrace.testing.timelines.timeline import (
    Arrival,
    Event,
    OperatorTimeline,
    Timeline,
    TimerFired,
    TimerSet,
    WatermarkMoved,
    WindowFired,
)

if TYPE_CHECKING:
    from millrace.datastream.data_stream import DataStream
    from millrace.datastream.stream_execution_environment import StreamExecutionEnvironment


class Watcher:
    """Records the events of one operator.

    :ivar events: events so far.
    :ivar arrivals: number of elements among them.
    """

    def __init__(self, operator: KeyedProcessBase[Any]) -> None:
        """Wrap the operator; must happen before the operator is opened."""
        self.events: list[Event] = []
        self.arrivals = 0
        self._late = False
        self._process = operator.process
        self._instead(operator, "process", self._one_by_one)
        self._before(operator, "process_watermark", lambda watermark: self.events.append(WatermarkMoved(watermark)))
        if isinstance(operator, WindowOperatorBase):
            self._before(operator, "too_late", self._note_late)
            self._in_lists = isinstance(operator.strategy.contents, ListStateDescriptor)
            self._instead(operator, "function", _Spy(operator.function, self._evaluated))
        else:
            backend = operator.keyed_state()
            self._watch_timers(backend.event_timers, by_clock=False)
            self._watch_timers(backend.processing_timers, by_clock=True)

    @staticmethod
    def _instead(owner: object, name: str, other: object) -> None:
        """Replace a method of this object only."""
        setattr(owner, name, other)

    def _before(self, owner: object, name: str, note: Callable[..., object]) -> None:
        """Call ``note`` with the arguments of each call of a method, before it."""
        method = getattr(owner, name)

        def noted(*arguments: Any) -> Any:
            note(*arguments)
            return method(*arguments)

        self._instead(owner, name, noted)

    def _one_by_one(self, chunk: Chunk, input: int) -> None:
        times, keys = chunk.timestamps, chunk.keys
        for index, value in enumerate(chunk.values):
            time = None if times is None else times[index]
            key = None if keys is None else keys[index]
            arrival, place, self._late = Arrival(key, value, time, False), len(self.events), False
            self.events.append(arrival)
            self._process(Chunk([value], None if times is None else [time], None if keys is None else [key]), input)
            if self._late:
                self.events[place] = replace(arrival, late=True)
            self.arrivals += 1

    def _note_late(self, *_: object) -> None:
        self._late = True

    # -- windows --------------------------------------------------------------------------------------------------

    def _evaluated(self, key: Any, window: Any, contents: list[Any], results: tuple[Any, ...]) -> None:
        start, end = (window.start, window.end) if isinstance(window, TimeWindow) else (None, None)
        elements = contents if self._in_lists else self._arrived(key, start, end)
        self.events.append(WindowFired(key, start, end, tuple(elements), results))

    def _arrived(self, key: Any, start: int | None, end: int | None) -> list[Any]:
        """The elements that a window probably contains, if it stores only the value that they were reduced to."""
        if start is None or end is None:
            return []
        return [
            event.value
            for event in self.events
            if isinstance(event, Arrival) and not event.late and event.key == key
            if event.time is not None and start <= event.time < end
        ]

    # -- timers ---------------------------------------------------------------------------------------------------

    def _watch_timers(self, timers: TimerQueue, by_clock: bool) -> None:
        self._before(timers, "register", lambda time, at: self._set(time, at, by_clock))
        self._before(timers, "delete", lambda time, at: self._deleted(timers, time, at, by_clock))
        pop = timers.pop_due

        def popped(time: int) -> TimerId | None:
            timer = pop(time)
            if timer is not None:
                self.events.append(TimerFired(key_of(timer[1]), timer[0], by_clock))
            return timer

        self._instead(timers, "pop_due", popped)

    def _set(self, time: int, at: Any, by_clock: bool) -> None:
        self.events.append(TimerSet(key_of(at), time, by_clock))

    def _deleted(self, timers: TimerQueue, time: int, at: Any, by_clock: bool) -> None:
        if time in timers.times(at):
            self.events.append(TimerSet(key_of(at), time, by_clock, deleted=True))


class _Spy:
    """Wraps a window function, and records its calls and results."""

    def __init__(self, function: Any, told: Callable[[Any, Any, list[Any], tuple[Any, ...]], None]) -> None:
        self.function = function
        self._told = told

    def process(self, key: Any, context: Any, contents: Any) -> tuple[Any, ...]:
        contents = list(contents)
        results = tuple(self.function.process(key, context, contents) or ())
        self._told(key, context.window(), contents, results)
        return results

    def __getattr__(self, name: str) -> Any:
        return getattr(self.function, name)


ELEMENTS = 200
"""number of elements of a program that are recorded, over all of its operators"""
_EPOCHS = 5_000
"""number of epochs without the wanted elements after which the recording ends"""


class TimelineError(ValueError):
    """There is nothing to draw: no windows or timers, or batch mode.

    >>> timeline(env.from_collection([1]).map(str))
    Traceback (most recent call last):
        ...
    millrace.testing.timelines.running.TimelineError: the program has neither windows nor a ...
    """


class _WatchedEngine(LocalEngine):
    """A ``LocalEngine`` whose tasks are made before the first epoch, so that their operators are watched from the
    beginning."""

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
    """Run a program without Spark, one element at a time, and record the events of its windows and timers.

    Watermarks come after every element, so elements can be late that would be in time if all came at once.

        >>> windows = env.from_collection([1, 2, 3]).key_by(lambda n: "all").count_window(2)
        >>> timeline(windows.reduce(lambda x, y: x + y)).complete
        True

    :param elements: number of elements after which the program is stopped.
    :raises TimelineError: the program has neither windows nor a keyed process function, or is in batch mode.
    :raises JobFailedError: it failed.
    """
    return record_job(job_of(program), elements)


def record_job(job: JobGraph, elements: int = ELEMENTS) -> Timeline:
    """Run a job one element at a time, and record the events of its windows and timers."""
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
