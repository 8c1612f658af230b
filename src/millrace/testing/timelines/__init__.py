"""Timelines: windows, watermarks and timers of a small program, element by element, for learning and debugging."""

from __future__ import annotations

from millrace.testing.timelines.running import TimelineError, record_job, timeline
from millrace.testing.timelines.timeline import (
    Arrival,
    Event,
    OperatorTimeline,
    Timeline,
    TimerFired,
    TimerSet,
    WatermarkMoved,
    WindowFired,
)

__all__ = [
    "Arrival",
    "Event",
    "OperatorTimeline",
    "Timeline",
    "TimelineError",
    "TimerFired",
    "TimerSet",
    "WatermarkMoved",
    "WindowFired",
    "record_job",
    "timeline",
]
