"""Which operator runs a window: the fastest that does what the user asked for."""

from __future__ import annotations

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
    BatchAlignedEventTimeWindowOperator,
    BatchAlignedProcessingTimeWindowOperator,
)
from millrace.runtime.windows.evicting_window import BatchEvictingWindowOperator, EvictingWindowOperator
from millrace.runtime.windows.session_window import BatchSessionWindowOperator, SessionWindowOperator
from millrace.runtime.windows.slicing import slicing_of
from millrace.runtime.windows.strategy import WindowStrategy
from millrace.runtime.windows.window import BatchWindowOperator, WindowOperator, WindowOperatorBase


def window_operator(strategy: WindowStrategy, batch: bool) -> type[WindowOperatorBase]:
    """The operator of a strategy."""
    if strategy.evictor is not None:
        return BatchEvictingWindowOperator if batch else EvictingWindowOperator
    fast = _fast_operator(strategy, batch) if strategy.in_memory else None
    return fast or (BatchWindowOperator if batch else WindowOperator)


def _fast_operator(strategy: WindowStrategy, batch: bool) -> type[WindowOperatorBase] | None:
    """An operator with tables of its own, None if the strategy fits none. Only exact classes count: a subclass of an
    assigner or trigger may differ."""
    aligned = slicing_of(strategy.assigner) is not None
    if aligned and strategy.is_event_time and type(strategy.trigger) is EventTimeTrigger:
        return BatchAlignedEventTimeWindowOperator if batch else AlignedEventTimeWindowOperator
    if aligned and not strategy.is_event_time and type(strategy.trigger) is ProcessingTimeTrigger:
        return BatchAlignedProcessingTimeWindowOperator if batch else AlignedProcessingTimeWindowOperator
    sessions = type(strategy.assigner) in (EventTimeSessionWindows, DynamicEventTimeSessionWindows)
    # Sessions of whole elements keep them in a list state, whose changes cost what was added.
    folded = not isinstance(strategy.contents, ListStateDescriptor)
    if sessions and folded and type(strategy.trigger) is EventTimeTrigger:
        return BatchSessionWindowOperator if batch else SessionWindowOperator
    return None
