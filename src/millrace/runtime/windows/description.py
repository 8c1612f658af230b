"""What a savepoint records of a window operator: in which form it keeps its windows, and which windows these are."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from millrace.common.state import ListStateDescriptor
from millrace.common.window import EventTimeTrigger, ProcessingTimeTrigger
from millrace.runtime.windows.aligned_window import AlignedWindowBase
from millrace.runtime.windows.choice import window_operator
from millrace.runtime.windows.evicting_window import EvictingWindowOperator
from millrace.runtime.windows.session_window import SessionWindowOperator
from millrace.runtime.windows.slicing import CumulativeSlices, Slicing, SlidingSlices, TumblingSlices, slicing_of
from millrace.runtime.windows.strategy import WindowStrategy

__all__ = ["ALIGNED", "EVICTING", "GENERAL", "SESSIONS", "describe_windows", "slicing_from"]

Described = dict[str, Any]

ALIGNED, SESSIONS, EVICTING, GENERAL = "aligned", "sessions", "evicting", "general"
"""forms, see ADR 9: by window, by key, or by key and window"""
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
    """The windows that an ``aligned`` description stands for."""
    numbers = dict(described["slicing"])
    return _SLICINGS[numbers.pop("kind")](**numbers)
