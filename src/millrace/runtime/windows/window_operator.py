"""``KeyedStream.window``: any assigner with any trigger, by timers and state of each key and window; also evictors.

Aligned windows and sessions with their default trigger have operators of their own, which do the same faster:
``aligned_window`` and ``session_window``.

The contents of merging windows are not moved each time a session grows: they stay under the window that they were first
stored for, its state window, and only its name, the actual window, changes. With an evictor all elements are stored,
and some are removed before or after the window function sees them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import repeat
from typing import Any

from millrace.common.functions import (
    AggregateFunction,
    Function,
    KeyedStateStore,
    ProcessWindowFunction,
    ReduceFunction,
)
from millrace.common.functions.process_functions import TimeDomain
from millrace.common.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapState,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
)
from millrace.common.typeinfo import Types
from millrace.common.window import (
    Evictor,
    MergingWindowAssigner,
    TimestampedValue,
    Trigger,
    TriggerResult,
    WindowAssigner,
)
from millrace.runtime.bases.batch_operators import EndingTimers
from millrace.runtime.bases.operator import Operator, OperatorContext, Output, failing
from millrace.runtime.bases.process_operators import KeyedProcessBase, OfOperator, Results
from millrace.runtime.elements import MAX_WATERMARK, Chunk
from millrace.runtime.state.address import Scoped
from millrace.runtime.state.backend import KeyedStateBackend
from millrace.runtime.state.keyed_states import KeyedStates
from millrace.runtime.timers import TimerQueue
from millrace.runtime.windows.slicing import CONTENTS, WindowStrategy
from millrace.runtime.windows.window_contents import fold_of

# What assigners, triggers and window functions see


class AssignerContext(OfOperator, WindowAssigner.WindowAssignerContext): ...


class TriggerContext(OfOperator, Trigger.OnMergeContext):
    """Timers and state of the current key and window, which ``enter`` sets."""

    def __init__(self, operator: Operator, backend: KeyedStateBackend) -> None:
        super().__init__(operator)
        self._event_timers = backend.event_timers
        self._processing_timers = backend.processing_timers
        self._states = backend.view()
        self._merged: list[Any] = []

    def enter(self, at: Scoped) -> None:
        self._at = self._states.at = at

    def merging(self, windows: Iterable[Any]) -> None:
        """``windows`` of the current key are being merged into the current one."""
        key = self._at.key
        self._merged = [Scoped(key, window) for window in windows]

    def register_processing_time_timer(self, time: int) -> None:
        self._processing_timers.register(int(time), self._at)

    def register_event_time_timer(self, time: int) -> None:
        self._event_timers.register(int(time), self._at)

    def delete_processing_time_timer(self, time: int) -> None:
        self._processing_timers.delete(int(time), self._at)

    def delete_event_time_timer(self, time: int) -> None:
        self._event_timers.delete(int(time), self._at)

    def get_partitioned_state(self, state_descriptor: StateDescriptor) -> Any:
        return self._states.get_any(state_descriptor)

    def merge_partitioned_state(self, state_descriptor: StateDescriptor) -> None:
        state = self._states.get_any(state_descriptor)
        if not hasattr(state, "absorb"):
            raise TypeError(
                f"state {state_descriptor.get_name()!r} can't be merged: only list, reducing and aggregating states can"
            )
        state.absorb(self._merged)


class WindowContext(OfOperator, ProcessWindowFunction.Context[Any]):
    """The key and window that the window function is called for; ``enter`` sets them."""

    def __init__(self, operator: Operator, backend: KeyedStateBackend, merging: bool) -> None:
        super().__init__(operator)
        self._backend = backend
        self._merging = merging
        self._window: Any = None
        self._window_states: KeyedStates | None = None

    def enter(self, key: Any, window: Any) -> None:
        self._backend.at = key
        self._window = window
        if self._window_states is not None:
            self._window_states.at = Scoped(key, window)

    def window(self) -> Any:
        return self._window

    def window_state(self) -> KeyedStateStore:
        if self._merging:
            raise RuntimeError(
                "window_state() can't be used with merging windows such as sessions: state of a window would be lost "
                "when it merges; use global_state()"
            )
        if self._window_states is None:
            self._window_states = self._backend.view()
            self._window_states.at = Scoped(self._backend.at, self._window)
        return self._window_states

    def global_state(self) -> KeyedStateStore:
        return self._backend


# Windows that merge

OnMerge = Callable[[Any, list[Any], Any, list[Any]], None]
"""called with (merged window, windows that it replaces, state window that stays, state windows to merge into it)"""


class MergingWindows:
    """The windows of the current key, by actual window, with their state windows."""

    def __init__(self, assigner: MergingWindowAssigner[Any, Any], mapping: MapState[Any, Any]) -> None:
        self._assigner = assigner
        self._mapping = mapping

    def state_window(self, window: Any) -> Any:
        """The state window of a window; None: the window does not exist any more."""
        return self._mapping.get(window)

    def retire(self, window: Any) -> None:
        """Remove a window."""
        self._mapping.remove(window)

    def add(self, new: Any, on_merge: OnMerge) -> Any:
        """Add a window; returns the window that it is part of after merging. ``on_merge`` is called before every
        merge.
        """
        mapping = self._mapping
        known = dict(mapping.items())
        if new in known:
            return new
        merges = _Merges()
        self._assigner.merge_windows([*known, new], merges)
        actual = new
        for result, parts in merges.found:
            gone = [window for window in parts if window in known]
            if new in parts:
                actual = result
            if gone in ([], [result]):
                # Nothing but the new window changed: it lies within an existing window, or is alone.
                continue
            stays, *folded = [known[window] for window in gone]
            on_merge(result, [window for window in gone if window != result], stays, folded)
            for window in gone:
                mapping.remove(window)
            mapping.put(result, stays)
        if not mapping.contains(actual):
            mapping.put(actual, actual)
        return actual


class _Merges(MergingWindowAssigner.MergeCallback[Any]):
    """Records what the assigner merges."""

    def __init__(self) -> None:
        self.found: list[tuple[Any, list[Any]]] = []

    def merge(self, to_be_merged: Iterable[Any], merge_result: Any) -> None:
        self.found.append((merge_result, list(to_be_merged)))


# The operator

MERGING = "merging-window-set"
"""name of the state that contains the merged windows"""
LATE_METRIC = "numLateRecordsDropped"


class WindowOperatorBase(KeyedProcessBase[ProcessWindowFunction[Any, Any, Any, Any]]):
    """The base of all window operators: the function and its context, results, late elements."""

    def __init__(self, strategy: WindowStrategy, function: ProcessWindowFunction[Any, Any, Any, Any]) -> None:
        super().__init__(function)
        self.strategy = strategy
        self._event_time = strategy.is_event_time
        self._lateness = strategy.allowed_lateness
        self._clears = type(function).clear is not ProcessWindowFunction.clear

    def setup(self, context: OperatorContext, output: Output) -> None:
        super().setup(context, output)
        self._window_context = WindowContext(self, self._backend, self.strategy.is_merging)

    def event_timestamp(self) -> int | None:
        window = self._window_context.window()
        if window is None or not self.strategy.is_event_time:
            return None
        last: int = window.max_timestamp()
        return min(last, self.watermark)  # a window that fires early does so at the watermark

    def open(self) -> None:
        self._late = self.context.runtime.get_metrics_group().counter(LATE_METRIC)
        incremental = _incremental_function(self.strategy)
        if incremental is not None:
            try:
                incremental.open(self.context.runtime)
            except Exception as error:
                raise self.context.error(error, during=" in open()") from error
        super().open()

    def close(self) -> None:
        opened = self._opened
        super().close()
        incremental = _incremental_function(self.strategy)
        if incremental is not None and opened:
            try:
                incremental.close()
            except Exception as error:
                raise self.context.error(error, during=" in close()") from error

    def evaluate(self, key: Any, window: Any, contents: Iterable[Any], timestamp: int | None, found: Results) -> None:
        """Call the window function. Its results get the window's last timestamp or, if it has none, the timestamp of
        the element or timer that fired it."""
        context = self._window_context
        context.enter(key, window)
        last = window.max_timestamp()
        results = self.function.process(key, context, contents)
        if results is not None:
            found.gather(results, last if last != MAX_WATERMARK else timestamp)

    def clear_window(self, key: Any, window: Any) -> None:
        """Clear the function's state of a window that is about to be dropped."""
        if self._clears:
            self._window_context.enter(key, window)
            self.function.clear(self._window_context)

    def contents_of(self, key: Any, window: Any) -> Any:
        """The contents of an open window: its elements, their reduced value, or the accumulator. None: it has none.

        For tests: may cost as much as firing the window for all keys.
        """
        raise NotImplementedError

    def is_late(self, timestamp: int | None) -> bool:
        """Whether an element that is in no open window came too late, rather than never belonged to one."""
        return self._event_time and timestamp is not None and timestamp + self._lateness <= self.watermark

    def fired_elsewhere(self, key: Any, last: int) -> bool:
        """Whether a window with this last timestamp (ms) has fired for the key in its earlier subtask."""
        return self._event_time and self.ahead is not None and self.ahead.of_key(key) >= last

    def cleanup_of(self, last: int) -> int:
        """When the state of a window with this last timestamp is deleted (ms)."""
        return min(last + self._lateness, MAX_WATERMARK) if self._event_time else last

    def too_late(self, value: Any, timestamp: int | None, found: Results) -> None:
        tag = self.strategy.late_tag
        if tag is None:
            self._late.inc()
        else:
            part = self.strategy.late_element
            found.add_side(tag, value if part is None else part(value), timestamp)

    def send(self, found: Results) -> None:
        """Emit the results of the window function."""
        found.emit(self, True)


def _incremental_function(strategy: WindowStrategy) -> Function | None:
    """The user's function that folds the contents; None: there is none."""
    contents = strategy.contents
    found: AggregateFunction | ReduceFunction
    if isinstance(contents, AggregatingStateDescriptor):
        found = contents.get_agg_function()
    elif isinstance(contents, ReducingStateDescriptor):
        found = contents.get_reduce_function()
    else:
        return None
    return found if isinstance(found, Function) else None


class WindowOperator(WindowOperatorBase):
    """Windows of any kind: every element goes through assigner and trigger."""

    def setup(self, context: OperatorContext, output: Output) -> None:
        super().setup(context, output)
        strategy, backend = self.strategy, self._backend
        self._states = backend.view()
        contents = self._stored_as()
        self._contents = self._states.get_any(contents)
        in_list = isinstance(contents, ListStateDescriptor)
        self._elements = _list_elements if in_list else _folded_element
        self._assigner_context = AssignerContext(self)
        self._trigger = strategy.trigger
        self._trigger_context = TriggerContext(self, backend)
        self._cleanup_timers = backend.event_timers if self._event_time else backend.processing_timers
        if strategy.is_merging:
            anything = Types.PICKLED_BYTE_ARRAY()
            mapping = backend.get_map_state(MapStateDescriptor(MERGING, anything, anything))
            self._merging: MergingWindows | None = MergingWindows(strategy.assigner, mapping)  # type: ignore[arg-type]
        else:
            self._merging = None

    # -- elements -------------------------------------------------------------------------------------------------

    def process(self, chunk: Chunk, input: int) -> None:
        found, backend = Results(), self._backend
        assign, context = self.strategy.assigner.assign_windows, self._assigner_context
        add = self._add if self._merging is None else self._add_merging
        remaining = iter(chunk.values)
        try:
            for key, timestamp, value in zip(chunk.keys or (), chunk.timestamps or repeat(None), remaining):
                backend.at = key
                skipped = True
                for window in assign(value, timestamp, context):  # type: ignore[arg-type]
                    if add(key, window, value, timestamp, found):
                        skipped = False
                if skipped and self.is_late(timestamp):
                    self.too_late(value, timestamp, found)
        except Exception as error:
            raise self.context.error(error, failing(chunk.values, remaining)) from error
        self.send(found)

    def _add(self, key: Any, window: Any, value: Any, timestamp: int | None, found: Results) -> bool:
        """Add an element to a window; False if the window has been deleted."""
        cleanup = self.cleanup_of(window.max_timestamp())
        if self._event_time and cleanup <= self.watermark:
            return False
        at = Scoped(key, window)
        self._insert(at, at, value, timestamp, cleanup, found)
        return True

    def _add_merging(self, key: Any, window: Any, value: Any, timestamp: int | None, found: Results) -> bool:
        assert self._merging is not None
        actual = self._merging.add(window, self._on_merge)
        cleanup = self.cleanup_of(actual.max_timestamp())
        if self._event_time and cleanup <= self.watermark:
            self._merging.retire(actual)
            return False
        stored = Scoped(key, self._merging.state_window(actual))
        self._insert(Scoped(key, actual), stored, value, timestamp, cleanup, found)
        return True

    def _insert(
        self, at: Scoped, stored: Scoped, value: Any, timestamp: int | None, cleanup: int, found: Results
    ) -> None:
        context = self._trigger_context
        self._states.at = stored
        self._contents.add(self._kept(value, timestamp))
        context.enter(at)
        result = self._trigger.on_element(value, timestamp, at.namespace, context)  # type: ignore[arg-type]
        if result is not TriggerResult.CONTINUE:
            self._obey(result, at, stored, timestamp, found)
        if cleanup != MAX_WATERMARK:
            self._cleanup_timers.register(cleanup, at)

    def _stored_as(self) -> StateDescriptor:
        """The descriptor of the state with the contents."""
        return self.strategy.contents

    def _kept(self, value: Any, timestamp: int | None) -> Any:
        """What is stored of an element."""
        return value

    def _on_merge(self, merged: Any, gone: list[Any], stays: Any, folded: list[Any]) -> None:
        key, context = self._backend.at, self._trigger_context
        self._refuse_merge_into_the_past(merged)
        context.enter(Scoped(key, merged))
        context.merging(gone)
        self._trigger.on_merge(merged, context)
        for window in gone:
            at = Scoped(key, window)
            context.enter(at)
            self._trigger.clear(window, context)
            self._cleanup_timers.delete(self.cleanup_of(window.max_timestamp()), at)
        self._states.at = Scoped(key, stays)
        self._contents.absorb([Scoped(key, window) for window in folded])

    def _refuse_merge_into_the_past(self, merged: Any) -> None:
        now = self.watermark if self._event_time else self.context.clock()
        if self.cleanup_of(merged.max_timestamp()) <= now:
            raise RuntimeError(
                f"{type(self.strategy.assigner).__name__} merged windows into {merged}, which is over already (time is "
                f"{now}): merging may only move the end of a window forward"
            )

    # -- firing ---------------------------------------------------------------------------------------------------

    def _obey(self, result: TriggerResult, at: Scoped, stored: Scoped, timestamp: int | None, found: Results) -> None:
        """Do what the trigger has returned."""
        if result.is_fire():
            self._states.at = stored
            self._evaluate_contents(at, timestamp, found)
        if result.is_purge():
            self._states.at = stored
            self._contents.clear()

    def _evaluate_contents(self, at: Scoped, timestamp: int | None, found: Results) -> None:
        elements = self._elements(self._contents.get())
        if elements:
            self.evaluate(at.key, at.namespace, elements, timestamp, found)

    def fire(self, timers: TimerQueue, time: int, domain: TimeDomain) -> None:
        timer = timers.pop_due(time)
        if timer is None:
            return
        found = Results()
        while timer is not None:
            timestamp, at = timer
            try:
                self._on_timer(timestamp, at, domain, found)
            except Exception as error:
                during = f" when {at.namespace!r} of key {at.key!r} fired"
                raise self.context.error(error, during=during) from error
            timer = timers.pop_due(time)
        self.send(found)

    def _on_timer(self, timestamp: int, at: Scoped, domain: TimeDomain, found: Results) -> None:
        key, window = at
        self._backend.at = key
        stored = at
        if self._merging is not None:
            state_window = self._merging.state_window(window)
            if state_window is None:
                return  # a timer that a trigger left behind: the window has merged into another, or is gone
            stored = Scoped(key, state_window)
        context, trigger, by_event_time = self._trigger_context, self._trigger, domain is TimeDomain.EVENT_TIME
        context.enter(at)
        on_time = trigger.on_event_time if by_event_time else trigger.on_processing_time
        self._obey(on_time(timestamp, window, context), at, stored, timestamp if by_event_time else None, found)
        if self._event_time is by_event_time and self.cleanup_of(window.max_timestamp()) == timestamp:
            self._drop(at, stored)

    def contents_of(self, key: Any, window: Any) -> Any:
        stored = window
        if self._merging is not None:
            self._backend.at = key
            stored = self._merging.state_window(window)
        table = self._backend.table(CONTENTS)
        return None if table is None else table.content(Scoped(key, stored))

    # -- the end of a window --------------------------------------------------------------------------------------

    def _drop(self, at: Scoped, stored: Scoped) -> None:
        key, window = at
        self._states.at = stored
        self._contents.clear()
        self._trigger_context.enter(at)
        self._trigger.clear(window, self._trigger_context)
        self.clear_window(key, window)
        if self._merging is not None:
            self._backend.at = key
            self._merging.retire(window)


class BatchWindowOperator(EndingTimers, WindowOperator):
    """``WindowOperator`` in batch mode: at the end of the input processing-time windows fire, too."""


def _list_elements(contents: Iterable[Any] | None) -> list[Any]:
    return list(contents or ())


def _folded_element(contents: Any) -> list[Any]:
    # As in Flink, a result of None is no result: the window function is not called.
    return [] if contents is None else [contents]


# Windows with an evictor


class EvictingWindowOperator(WindowOperator):
    """Stores every element with its timestamp; the elements left after eviction are folded when the window fires."""

    def __init__(self, strategy: WindowStrategy, function: ProcessWindowFunction[Any, Any, Any, Any]) -> None:
        assert strategy.evictor is not None
        super().__init__(strategy, function)
        self._evictor: Evictor[Any, Any] = strategy.evictor

    def setup(self, context: OperatorContext, output: Output) -> None:
        super().setup(context, output)
        self._fold = fold_of(self.strategy.contents)
        self._evictor_context = _EvictorContext(self)

    def _stored_as(self) -> StateDescriptor:
        return ListStateDescriptor(CONTENTS, Types.PICKLED_BYTE_ARRAY())

    def _kept(self, value: Any, timestamp: int | None) -> Any:
        return TimestampedValue(value, timestamp)

    def _evaluate_contents(self, at: Scoped, timestamp: int | None, found: Results) -> None:
        elements = list(self._contents.get())
        if not elements:
            return
        key, window = at
        stored, context, evictor = self._states.at, self._evictor_context, self._evictor
        evictor.evict_before(elements, len(elements), window, context)
        contents = self._folded([element.get_value() for element in elements])
        if contents is not None:
            self.evaluate(key, window, contents, timestamp, found)
        evictor.evict_after(elements, len(elements), window, context)
        self._states.at = stored
        self._contents.update(elements)

    def _folded(self, values: list[Any]) -> list[Any] | None:
        """What the window function gets; None: it is not called, because no element is left to fold."""
        fold = self._fold
        if not values:
            return [] if isinstance(self.strategy.contents, ListStateDescriptor) else None
        accumulator = fold.first(values[0])
        for value in values[1:]:
            accumulator = fold.add(value, accumulator)
        result = fold.result(accumulator)
        return None if result is None else list(result)


class BatchEvictingWindowOperator(EndingTimers, EvictingWindowOperator):
    """``EvictingWindowOperator`` in batch mode."""


class _EvictorContext(OfOperator, Evictor.EvictorContext): ...
