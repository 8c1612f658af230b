"""Global windows and the trigger of the end of the input."""

from __future__ import annotations

from tests.common.window.contexts import AssignerContext, Driver

from millrace.common.constants import MAX_LONG_VALUE
from millrace.datastream.window import (
    EndOfStreamTrigger,
    GlobalWindow,
    GlobalWindows,
    GlobalWindowSerializer,
    NeverTrigger,
    TriggerResult,
)


def test_all_elements_are_in_one_window() -> None:
    assigner = GlobalWindows.create()
    assert assigner.assign_windows("x", None, AssignerContext()) == [GlobalWindow()]
    assert not assigner.is_event_time()
    assert isinstance(assigner.get_default_trigger(None), NeverTrigger)
    assert assigner.get_window_serializer() == GlobalWindowSerializer()
    assert repr(assigner) == "GlobalWindows()"


def test_the_end_of_the_input_fires_once() -> None:
    trigger = GlobalWindows.create_with_end_of_stream_trigger().get_default_trigger(None)
    assert isinstance(trigger, EndOfStreamTrigger)
    driver = Driver(trigger)
    assert driver.element(GlobalWindow(), 5) is driver.element(GlobalWindow(), None) is TriggerResult.CONTINUE
    assert driver.to_watermark(10**15) == driver.to_time(10**15) == []
    assert driver.to_watermark(MAX_LONG_VALUE) == [(MAX_LONG_VALUE, TriggerResult.FIRE)]
    assert driver.is_clean()
