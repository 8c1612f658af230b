"""Windows: what elements they hold, when they are evaluated, and what is dropped before (PyFlink's module)."""

from __future__ import annotations

from millrace.common.window.assigner import MergingWindowAssigner, WindowAssigner
from millrace.common.window.continuous_triggers import ContinuousEventTimeTrigger, ContinuousProcessingTimeTrigger
from millrace.common.window.count_trigger import CountTrigger
from millrace.common.window.count_windows import CountSlidingWindowAssigner, CountTumblingWindowAssigner
from millrace.common.window.cumulative import CumulativeEventTimeWindows, CumulativeProcessingTimeWindows
from millrace.common.window.delta_function import DeltaFunction
from millrace.common.window.delta_trigger import DeltaTrigger
from millrace.common.window.evictor import CountEvictor, DeltaEvictor, Evictor, TimeEvictor, TimestampedValue
from millrace.common.window.global_windows import EndOfStreamTrigger, GlobalWindows
from millrace.common.window.never_trigger import NeverTrigger
from millrace.common.window.purging_trigger import PurgingTrigger
from millrace.common.window.serializers import CountWindowSerializer, GlobalWindowSerializer, TimeWindowSerializer
from millrace.common.window.session import (
    DynamicEventTimeSessionWindows,
    DynamicProcessingTimeSessionWindows,
    EventTimeSessionWindows,
    ProcessingTimeSessionWindows,
    SessionWindowTimeGapExtractor,
)
from millrace.common.window.sliding import SlidingEventTimeWindows, SlidingProcessingTimeWindows
from millrace.common.window.time_triggers import EventTimeTrigger, ProcessingTimeTrigger
from millrace.common.window.timeout_trigger import ProcessingTimeoutTrigger
from millrace.common.window.trigger import Trigger, TriggerResult
from millrace.common.window.tumbling import TumblingEventTimeWindows, TumblingProcessingTimeWindows
from millrace.common.window.windows import CountWindow, GlobalWindow, MergeCallback, TimeWindow, Window

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
