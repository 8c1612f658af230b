"""What assigners and triggers are given, for one key and without an operator."""

from __future__ import annotations

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

from millrace.common.constants import MIN_LONG_VALUE
from millrace.datastream.state import ReducingStateDescriptor, StateDescriptor, ValueStateDescriptor
from millrace.datastream.window import Trigger, TriggerResult, Window, WindowAssigner

Fired = list[tuple[int, TriggerResult]]
"""time of a timer, what the trigger answered"""


class Cell:
    """A value state or a reducing state: one entry of a dict."""

    def __init__(self, descriptor: StateDescriptor, cells: dict[Any, Any], at: Any) -> None:
        self._descriptor = descriptor
        self._cells = cells
        self._at = at

    def value(self) -> Any:
        assert isinstance(self._descriptor, ValueStateDescriptor)
        return self._cells.get(self._at)

    def update(self, value: Any) -> None:
        assert isinstance(self._descriptor, ValueStateDescriptor)
        self._cells[self._at] = value

    def get(self) -> Any:
        assert isinstance(self._descriptor, ReducingStateDescriptor)
        return self._cells.get(self._at)

    def add(self, value: Any) -> None:
        assert isinstance(self._descriptor, ReducingStateDescriptor)
        reduce = self._descriptor.get_reduce_function().reduce
        self._cells[self._at] = reduce(self._cells[self._at], value) if self._at in self._cells else value

    def clear(self) -> None:
        self._cells.pop(self._at, None)


class AssignerContext(WindowAssigner.WindowAssignerContext):
    def __init__(self, now: int = 0) -> None:
        self.now = now
        self.cells: dict[Any, Any] = {}

    def get_current_processing_time(self) -> int:
        return self.now

    def get_runtime_context(self) -> Any:
        return SimpleNamespace(get_state=lambda descriptor: Cell(descriptor, self.cells, descriptor.get_name()))


class Driver(Trigger.OnMergeContext):
    """Calls a trigger as a window operator would, and is its context."""

    def __init__(self, trigger: Trigger[Any, Any], now: int = 0) -> None:
        self.trigger = trigger
        self.now = now
        self.watermark = MIN_LONG_VALUE
        self.cells: dict[Any, Any] = {}
        self.event_timers: set[tuple[int, Window]] = set()
        self.processing_timers: set[tuple[int, Window]] = set()
        self._window: Any = None
        self._merged: list[Any] = []

    # the operator

    def element(self, window: Any, timestamp: int | None = None, value: Any = None) -> TriggerResult:
        self._window = window
        return self.trigger.on_element(value, timestamp, window, self)

    def to_watermark(self, watermark: int) -> Fired:
        self.watermark = watermark
        return self._fire(self.event_timers, watermark, self.trigger.on_event_time)

    def to_time(self, now: int) -> Fired:
        self.now = now
        return self._fire(self.processing_timers, now, self.trigger.on_processing_time)

    def _fire(self, timers: set[tuple[int, Window]], now: int, call: Any) -> Fired:
        fired = []
        while due := sorted((timer for timer in timers if timer[0] <= now), key=lambda timer: timer[0]):
            timers.remove(due[0])
            time, self._window = due[0]
            fired.append((time, call(time, self._window, self)))
        return fired

    def merge(self, windows: Iterable[Any], result: Any) -> None:
        self._merged = list(windows)
        self._window = result
        self.trigger.on_merge(result, self)
        for window in self._merged:
            self.clear(window)

    def clear(self, window: Any) -> None:
        self._window = window
        self.trigger.clear(window, self)

    def is_clean(self) -> bool:
        return not (self.cells or self.event_timers or self.processing_timers)

    # the context

    def get_current_processing_time(self) -> int:
        return self.now

    def get_metric_group(self) -> Any:
        raise AssertionError("no built-in trigger has metrics")

    def get_current_watermark(self) -> int:
        return self.watermark

    def register_processing_time_timer(self, time: int) -> None:
        self.processing_timers.add((time, self._window))

    def register_event_time_timer(self, time: int) -> None:
        self.event_timers.add((time, self._window))

    def delete_processing_time_timer(self, time: int) -> None:
        self.processing_timers.discard((time, self._window))

    def delete_event_time_timer(self, time: int) -> None:
        self.event_timers.discard((time, self._window))

    def get_partitioned_state(self, state_descriptor: StateDescriptor) -> Any:
        return Cell(state_descriptor, self.cells, (state_descriptor.get_name(), self._window))

    def merge_partitioned_state(self, state_descriptor: StateDescriptor) -> None:
        state = self.get_partitioned_state(state_descriptor)
        for window in self._merged:
            at = (state_descriptor.get_name(), window)
            if at in self.cells:
                state.add(self.cells.pop(at))
