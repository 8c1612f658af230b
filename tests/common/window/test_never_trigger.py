"""The trigger that never fires."""

from __future__ import annotations

from tests.common.window.contexts import Driver

from millrace.common.constants import MAX_LONG_VALUE
from millrace.datastream.window import GlobalWindow, NeverTrigger, TriggerResult


def test_it_never_fires() -> None:
    driver = Driver(NeverTrigger())
    assert driver.element(GlobalWindow(), 1) is TriggerResult.CONTINUE
    assert driver.is_clean()
    driver.register_event_time_timer(5)
    driver.register_processing_time_timer(5)
    assert driver.to_watermark(MAX_LONG_VALUE) == driver.to_time(5) == [(5, TriggerResult.CONTINUE)]
    driver.clear(GlobalWindow())
    assert not driver.trigger.can_merge()
    driver.merge([], GlobalWindow())
    assert repr(driver.trigger) == "NeverTrigger()"
