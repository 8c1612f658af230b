"""Chooses the operator that runs a window, the fastest one that the strategy allows, and describes windows for
savepoints.

A savepoint records the form in which an operator stores its windows, and which windows it has.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from millrace.common.state import ListStateDescriptor
from millrace.common.window import (
    DynamicEventTimeSessionWindows,
    EventTimeSessionWindows,
    EventTimeTrigger,
    ProcessingTimeTrigger,
)
from millrace.runtime.windows.aligned_window import (
    AlignedEventTimeWindowOperator,
    AlignedProcessingTimeWindowOperator,
    AlignedWindowBase,
    BatchAlignedEventTimeWindowOperator,
    BatchAlignedProcessingTimeWindowOperator,
)
from millrace.runtime.windows.session_window import BatchSessionWindowOperator, SessionWindowOperator
from millrace.runtime.windows.slicing import (
    CumulativeSlices,
    Slicing,
    SlidingSlices,
    TumblingSlices,
    WindowStrategy,
    slicing_of,
)
from millrace.runtime.windows.window_operator import (
    BatchEvictingWindowOperator,
    BatchWindowOperator,
    EvictingWindowOperator,
    WindowOperator,
    WindowOperatorBase,
)


def window_operator(strategy: WindowStrategy, batch: bool) -> type[WindowOperatorBase]:
    """The operator class for a window strategy."""
    if strategy.evictor is not None:
        return BatchEvictingWindowOperator if batch else EvictingWindowOperator
    fast = _fast_operator(strategy, batch) if strategy.in_memory else None
    return fast or (BatchWindowOperator if batch else WindowOperator)


def _fast_operator(strategy: WindowStrategy, batch: bool) -> type[WindowOperatorBase] | None:
    """An operator with tables of its own; None: the strategy fits none. Only exact classes count, since a subclass of
    an assigner or trigger may differ."""
    aligned = slicing_of(strategy.assigner) is not None
    if aligned and strategy.is_event_time and type(strategy.trigger) is EventTimeTrigger:
        return BatchAlignedEventTimeWindowOperator if batch else AlignedEventTimeWindowOperator
    if aligned and not strategy.is_event_time and type(strategy.trigger) is ProcessingTimeTrigger:
        return BatchAlignedProcessingTimeWindowOperator if batch else AlignedProcessingTimeWindowOperator
    sessions = type(strategy.assigner) in (EventTimeSessionWindows, DynamicEventTimeSessionWindows)
    # Sessions of whole elements store them in a list state, where a change costs only what was added.
    folded = not isinstance(strategy.contents, ListStateDescriptor)
    if sessions and folded and type(strategy.trigger) is EventTimeTrigger:
        return BatchSessionWindowOperator if batch else SessionWindowOperator
    return None


# The description in a savepoint

Described = dict[str, Any]

ALIGNED, SESSIONS, EVICTING, GENERAL = "aligned", "sessions", "evicting", "general"
"""forms of window state, see ADR 9: by window, by key, or by key and window"""
_SLICINGS: dict[str, type[Slicing]] = {
    "tumbling": TumblingSlices,
    "sliding": SlidingSlices,
    "cumulative": CumulativeSlices,
}


def describe_windows(strategy: WindowStrategy) -> Described:
    """The windows of a strategy, as plain JSON."""
    slicing = slicing_of(strategy.assigner)
    return {
        "form": _form(strategy),
        "assigner": type(strategy.assigner).__name__,
        "slicing": None if slicing is None else {"kind": _kind(slicing), **asdict(slicing)},
        "merging": strategy.is_merging,
        "time": "event" if strategy.is_event_time else "processing",
        "trigger": type(strategy.trigger).__name__,
        "fires_at_end": type(strategy.trigger) in (EventTimeTrigger, ProcessingTimeTrigger),
        "contents": "elements" if isinstance(strategy.contents, ListStateDescriptor) else "folded",
    }


def _form(strategy: WindowStrategy) -> str:
    operator = window_operator(strategy, batch=False)
    forms = {AlignedWindowBase: ALIGNED, SessionWindowOperator: SESSIONS, EvictingWindowOperator: EVICTING}
    return next((form for base, form in forms.items() if issubclass(operator, base)), GENERAL)


def _kind(slicing: Slicing) -> str:
    return next(kind for kind, cls in _SLICINGS.items() if type(slicing) is cls)


def slicing_from(described: Described) -> Slicing:
    """The slicing of an ``aligned`` description."""
    numbers = dict(described["slicing"])
    return _SLICINGS[numbers.pop("kind")](**numbers)
