"""Timelines: windows, watermarks and timers of a small program, element by element, for learning and debugging."""

from __future__ import annotations

from millrace.testing.timelines.running import (
    Arrival,
    Event,
    OperatorTimeline,
    Timeline,
    TimelineError,
    TimerFired,
    TimerSet,
    WatermarkMoved,
    WindowFired,
    record_job,
    timeline,
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
