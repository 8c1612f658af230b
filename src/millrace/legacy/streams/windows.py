"""Short ways to windows: ``time_window``, ``time_window_all``, ``count_window_all``."""

from __future__ import annotations

from typing import Any

from millrace.common.time import Time, TimeSpan
from millrace.common.window import (
    CountSlidingWindowAssigner,
    CountTumblingWindowAssigner,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    WindowAssigner,
)
from millrace.datastream.data_stream import DataStream, KeyedStream
from millrace.datastream.windowed_stream import AllWindowedStream, WindowedStream
from millrace.legacy.streams.characteristic import TimeCharacteristic, get_stream_time_characteristic
from millrace.legacy.telling import tell

__all__ = ["count_window_all", "time_window", "time_window_all"]


def time_window(stream: KeyedStream, size: TimeSpan, slide: TimeSpan | None = None) -> WindowedStream:
    """Windows of a length, in the time of the environment's characteristic."""
    assigner = _assigner(stream, size, slide)
    tell("KeyedStream.time_window()", f"window({type(assigner).__name__}.of(...))")
    return stream.window(assigner)


def time_window_all(stream: DataStream, size: TimeSpan, slide: TimeSpan | None = None) -> AllWindowedStream:
    """As ``time_window``, of all elements together."""
    assigner = _assigner(stream, size, slide)
    tell("DataStream.time_window_all()", f"window_all({type(assigner).__name__}.of(...))")
    return stream.window_all(assigner)


def count_window_all(stream: DataStream, size: int, slide: int = 0) -> AllWindowedStream:
    """Windows of ``size`` elements, one after the other or beginning every ``slide``."""
    tell("DataStream.count_window_all()", "window_all(CountTumblingWindowAssigner.of(...))")
    assigner: WindowAssigner[Any, Any] = (
        CountSlidingWindowAssigner.of(size, slide) if slide else CountTumblingWindowAssigner.of(size)
    )
    return stream.window_all(assigner)


def _assigner(stream: DataStream, size: TimeSpan, slide: TimeSpan | None) -> WindowAssigner[Any, Any]:
    characteristic = get_stream_time_characteristic(stream.get_execution_environment())
    if characteristic is TimeCharacteristic.ProcessingTime:
        if slide is None:
            return TumblingProcessingTimeWindows.of(_time(size))
        return SlidingProcessingTimeWindows.of(_time(size), _time(slide))
    if slide is None:
        return TumblingEventTimeWindows.of(_time(size))
    return SlidingEventTimeWindows.of(_time(size), _time(slide))


def _time(span: Any) -> Any:
    return Time.milliseconds(span) if isinstance(span, int) else span
