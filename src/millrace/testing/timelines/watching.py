"""Notes what an operator goes through, from outside: the operator itself knows nothing of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from millrace.common.state import ListStateDescriptor
from millrace.common.window import TimeWindow
from millrace.runtime.bases.process_base import KeyedProcessBase
from millrace.runtime.elements import Chunk
from millrace.runtime.state.address import key_of
from millrace.runtime.timers import TimerId, TimerQueue
from millrace.runtime.windows.window import WindowOperatorBase
from millrace.testing.timelines.events import Arrival, Event, TimerFired, TimerSet, WatermarkMoved, WindowFired


class Watcher:
    """What was seen of one operator.

    :ivar events: so far.
    :ivar arrivals: how many of them are elements.
    """

    def __init__(self, operator: KeyedProcessBase[Any]) -> None:
        """To be called before the operator is opened."""
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
        """On this one object something is another one."""
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
        """What seems to be in a window that only keeps what its elements were folded to."""
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
    """A window function that tells what it was called for and what it gave."""

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
