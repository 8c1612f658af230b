"""The trigger that makes another one purge."""

from __future__ import annotations

from typing import Any

import pytest
from tests.common.window.contexts import Driver

from millrace.datastream.window import (
    CountTrigger,
    EventTimeTrigger,
    NeverTrigger,
    PurgingTrigger,
    TimeWindow,
    Trigger,
    TriggerResult,
)

CONTINUE, FIRE, FIRE_AND_PURGE = TriggerResult.CONTINUE, TriggerResult.FIRE, TriggerResult.FIRE_AND_PURGE
A, B, C = TimeWindow(0, 10), TimeWindow(5, 15), TimeWindow(0, 15)


class Always(NeverTrigger):
    """Answers everything with one result."""

    def __init__(self, result: TriggerResult) -> None:
        self.result = result

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Trigger.TriggerContext) -> TriggerResult:
        return self.result

    def on_processing_time(self, time: int, window: Any, ctx: Trigger.TriggerContext) -> TriggerResult:
        return self.result

    def on_event_time(self, time: int, window: Any, ctx: Trigger.TriggerContext) -> TriggerResult:
        return self.result


@pytest.mark.parametrize(
    ("nested", "expected"),
    [
        (CONTINUE, CONTINUE),
        (FIRE, FIRE_AND_PURGE),
        (FIRE_AND_PURGE, FIRE_AND_PURGE),
        (TriggerResult.PURGE, TriggerResult.PURGE),
    ],
)
def test_what_fires_also_purges(nested: TriggerResult, expected: TriggerResult) -> None:
    driver = Driver(PurgingTrigger.of(Always(nested)))
    assert driver.element(A) is expected
    driver.register_event_time_timer(5)
    driver.register_processing_time_timer(6)
    assert driver.to_watermark(5) == [(5, expected)]
    assert driver.to_time(6) == [(6, expected)]


def test_the_nested_trigger_keeps_state_and_timers() -> None:
    driver = Driver(PurgingTrigger.of(EventTimeTrigger()))
    assert driver.trigger.can_merge()
    driver.element(A)
    driver.element(B)
    driver.merge([A, B], C)
    assert driver.event_timers == {(14, C)}
    driver.clear(C)
    assert driver.is_clean()


def test_merging_counts() -> None:
    driver = Driver(PurgingTrigger.of(CountTrigger.of(3)))
    driver.element(A)
    driver.element(B)
    driver.merge([A, B], C)
    assert driver.element(C) is FIRE_AND_PURGE


def test_it_merges_only_if_the_nested_trigger_does() -> None:
    assert not PurgingTrigger.of(NeverTrigger()).can_merge()
    assert repr(PurgingTrigger.of(CountTrigger.of(3))) == "PurgingTrigger(CountTrigger(3))"
