"""What the module exports."""

from __future__ import annotations

from millrace.datastream import window

# The __all__ of pyflink.datastream.window 2.3.0.
PYFLINK = """Window TimeWindow CountWindow GlobalWindow WindowAssigner TumblingProcessingTimeWindows
    TumblingEventTimeWindows SlidingProcessingTimeWindows SlidingEventTimeWindows ProcessingTimeSessionWindows
    EventTimeSessionWindows DynamicProcessingTimeSessionWindows DynamicEventTimeSessionWindows GlobalWindows
    MergingWindowAssigner CountTumblingWindowAssigner CountSlidingWindowAssigner TriggerResult Trigger
    EventTimeTrigger ProcessingTimeTrigger ContinuousEventTimeTrigger ContinuousProcessingTimeTrigger NeverTrigger
    PurgingTrigger CountTrigger TimeWindowSerializer CountWindowSerializer GlobalWindowSerializer
    SessionWindowTimeGapExtractor"""


def test_all_names_of_pyflink_are_there() -> None:
    assert set(PYFLINK.split()) <= set(window.__all__)
    assert all(isinstance(getattr(window, name), type) for name in window.__all__)
