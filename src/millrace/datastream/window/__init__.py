"""Windows: what elements they hold, when they are evaluated, and what is dropped before (PyFlink's module)."""

from __future__ import annotations

from millrace.datastream.window.assigner import MergingWindowAssigner, WindowAssigner
from millrace.datastream.window.continuous_triggers import ContinuousEventTimeTrigger, ContinuousProcessingTimeTrigger
from millrace.datastream.window.count_trigger import CountTrigger
from millrace.datastream.window.count_windows import CountSlidingWindowAssigner, CountTumblingWindowAssigner
from millrace.datastream.window.cumulative import CumulativeEventTimeWindows, CumulativeProcessingTimeWindows
from millrace.datastream.window.delta_function import DeltaFunction
from millrace.datastream.window.delta_trigger import DeltaTrigger
from millrace.datastream.window.evictor import CountEvictor, DeltaEvictor, Evictor, TimeEvictor, TimestampedValue
from millrace.datastream.window.global_windows import EndOfStreamTrigger, GlobalWindows
from millrace.datastream.window.never_trigger import NeverTrigger
from millrace.datastream.window.purging_trigger import PurgingTrigger
from millrace.datastream.window.serializers import CountWindowSerializer, GlobalWindowSerializer, TimeWindowSerializer
from millrace.datastream.window.session import (
    DynamicEventTimeSessionWindows,
    DynamicProcessingTimeSessionWindows,
    EventTimeSessionWindows,
    ProcessingTimeSessionWindows,
    SessionWindowTimeGapExtractor,
)
from millrace.datastream.window.sliding import SlidingEventTimeWindows, SlidingProcessingTimeWindows
from millrace.datastream.window.time_triggers import EventTimeTrigger, ProcessingTimeTrigger
from millrace.datastream.window.timeout_trigger import ProcessingTimeoutTrigger
from millrace.datastream.window.trigger import Trigger, TriggerResult
from millrace.datastream.window.tumbling import TumblingEventTimeWindows, TumblingProcessingTimeWindows
from millrace.datastream.window.windows import CountWindow, GlobalWindow, MergeCallback, TimeWindow, Window

__all__ = [
    "Window",
    "TimeWindow",
    "CountWindow",
    "GlobalWindow",
    "WindowAssigner",
    "TumblingProcessingTimeWindows",
    "TumblingEventTimeWindows",
    "SlidingProcessingTimeWindows",
    "SlidingEventTimeWindows",
    "CumulativeProcessingTimeWindows",
    "CumulativeEventTimeWindows",
    "ProcessingTimeSessionWindows",
    "EventTimeSessionWindows",
    "DynamicProcessingTimeSessionWindows",
    "DynamicEventTimeSessionWindows",
    "SessionWindowTimeGapExtractor",
    "GlobalWindows",
    "MergingWindowAssigner",
    "MergeCallback",
    "CountTumblingWindowAssigner",
    "CountSlidingWindowAssigner",
    "TriggerResult",
    "Trigger",
    "EventTimeTrigger",
    "ProcessingTimeTrigger",
    "ContinuousEventTimeTrigger",
    "ContinuousProcessingTimeTrigger",
    "NeverTrigger",
    "EndOfStreamTrigger",
    "PurgingTrigger",
    "CountTrigger",
    "DeltaTrigger",
    "DeltaFunction",
    "ProcessingTimeoutTrigger",
    "Evictor",
    "CountEvictor",
    "TimeEvictor",
    "DeltaEvictor",
    "TimestampedValue",
    "TimeWindowSerializer",
    "CountWindowSerializer",
    "GlobalWindowSerializer",
]
