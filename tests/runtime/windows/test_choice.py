"""Which operator runs which windows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.runtime.windows.windowing import AGGREGATE, PROCESS, key_of

from millrace.common.time import Time
from millrace.datastream.window import (
    ContinuousEventTimeTrigger,
    CountEvictor,
    CountTumblingWindowAssigner,
    CumulativeEventTimeWindows,
    EventTimeSessionWindows,
    EventTimeTrigger,
    GlobalWindows,
    ProcessingTimeSessionWindows,
    ProcessingTimeTrigger,
    PurgingTrigger,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from millrace.runtime.windows.choice import window_operator
from millrace.runtime.windows.window_operator import EvictingWindowOperator, WindowOperator
from millrace.testing.operators import window_spec

ms = Time.milliseconds
TUMBLING, SESSIONS = TumblingEventTimeWindows.of(ms(5)), EventTimeSessionWindows.with_gap(ms(5))
CLOCK = TumblingProcessingTimeWindows.of(ms(5))


class MyTrigger(EventTimeTrigger[Any]):
    """May do anything."""


class MyWindows(TumblingEventTimeWindows[Any]):
    """May do anything."""


class MySessions(EventTimeSessionWindows[Any]):
    """May do anything."""


CHOICES: list[tuple[Any, Any, dict[str, Any], str, str]] = [
    (TUMBLING, PROCESS, {}, "AlignedEventTime", "BatchAlignedEventTime"),
    (SlidingEventTimeWindows.of(ms(5), ms(2)), AGGREGATE, {}, "AlignedEventTime", "BatchAlignedEventTime"),
    (CumulativeEventTimeWindows.of(ms(4), ms(2)), PROCESS, {}, "AlignedEventTime", "BatchAlignedEventTime"),
    (TUMBLING, PROCESS, {"trigger": EventTimeTrigger.create()}, "AlignedEventTime", "BatchAlignedEventTime"),
    (CLOCK, PROCESS, {}, "AlignedProcessingTime", "BatchAlignedProcessingTime"),
    (SlidingProcessingTimeWindows.of(ms(5), ms(2)), PROCESS, {}, "AlignedProcessingTime", "BatchAlignedProcessingTime"),
    (SESSIONS, AGGREGATE, {}, "Session", "BatchSession"),
    (EventTimeSessionWindows.with_dynamic_gap(len), AGGREGATE, {}, "Session", "BatchSession"),
    (SESSIONS, PROCESS, {}, "", "Batch"),
    (ProcessingTimeSessionWindows.with_gap(ms(5)), AGGREGATE, {}, "", "Batch"),
    (GlobalWindows.create(), AGGREGATE, {}, "", "Batch"),
    (CountTumblingWindowAssigner.of(2), AGGREGATE, {}, "", "Batch"),
    (MyWindows.of(ms(5)), AGGREGATE, {}, "", "Batch"),
    (MySessions.with_gap(ms(5)), AGGREGATE, {}, "", "Batch"),
    (TUMBLING, AGGREGATE, {"trigger": MyTrigger()}, "", "Batch"),
    (TUMBLING, AGGREGATE, {"trigger": PurgingTrigger.of(EventTimeTrigger())}, "", "Batch"),
    (SESSIONS, AGGREGATE, {"trigger": ContinuousEventTimeTrigger.of(ms(2))}, "", "Batch"),
    (TUMBLING, AGGREGATE, {"trigger": ProcessingTimeTrigger.create()}, "", "Batch"),
    (CLOCK, AGGREGATE, {"trigger": EventTimeTrigger.create()}, "", "Batch"),
    (TUMBLING, AGGREGATE, {"evictor": CountEvictor.of(1)}, "Evicting", "BatchEvicting"),
    (SESSIONS, AGGREGATE, {"evictor": CountEvictor.of(1)}, "Evicting", "BatchEvicting"),
]


@pytest.mark.parametrize(("assigner", "mode", "settings", "streaming", "batch"), CHOICES)
def test_the_fastest_that_does_it(
    assigner: Any, mode: Any, settings: dict[str, Any], streaming: str, batch: str
) -> None:
    strategy = window_spec(assigner, key_selector=key_of, **mode.settings, **settings).strategy
    chosen = [window_operator(strategy, mode_is_batch).__name__ for mode_is_batch in (False, True)]
    assert chosen == [f"{streaming}WindowOperator", f"{batch}WindowOperator"]


@pytest.mark.parametrize(("assigner", "mode", "settings"), [choice[:3] for choice in CHOICES])
def test_with_state_on_disk_contents_are_on_disk(assigner: Any, mode: Any, settings: dict[str, Any]) -> None:
    spec = window_spec(assigner, **mode.settings, **settings, key_selector=key_of)
    operator = window_operator(replace(spec.strategy, in_memory=False), batch=False)
    assert operator in (WindowOperator, EvictingWindowOperator)
