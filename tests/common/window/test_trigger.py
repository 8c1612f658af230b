"""What triggers answer, and triggers that a user writes."""

from __future__ import annotations

import pickle

import pytest
from tests.common.window.contexts import Driver

from millrace.datastream.window import TimeWindow, Trigger, TriggerResult

WINDOW = TimeWindow(0, 10)


class EveryElement(Trigger[str, TimeWindow]):
    def on_element(
        self, element: str, timestamp: int, window: TimeWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        return TriggerResult.FIRE

    def on_processing_time(self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def clear(self, window: TimeWindow, ctx: Trigger.TriggerContext) -> None:
        return None


def test_what_a_result_means() -> None:
    meaning = {result.name: (result.is_fire(), result.is_purge()) for result in TriggerResult}
    assert meaning == {
        "CONTINUE": (False, False),
        "FIRE_AND_PURGE": (True, True),
        "FIRE": (True, False),
        "PURGE": (False, True),
    }
    assert all(TriggerResult(pair) is TriggerResult[name] for name, pair in meaning.items())
    assert pickle.loads(pickle.dumps(TriggerResult.FIRE)) is TriggerResult.FIRE


def test_a_trigger_without_on_merge_refuses_to_merge() -> None:
    driver = Driver(EveryElement())
    assert driver.element(WINDOW) is TriggerResult.FIRE
    assert not driver.trigger.can_merge()
    with pytest.raises(NotImplementedError) as caught:
        driver.merge([TimeWindow(0, 3), TimeWindow(2, 10)], WINDOW)
    assert str(caught.value) == "EveryElement() can't be used with windows that merge: it has no on_merge()"


def test_the_other_callbacks_are_needed() -> None:
    class Half(EveryElement):
        clear = Trigger.clear

    with pytest.raises(TypeError, match="abstract"):
        Half()  # type: ignore[abstract]
