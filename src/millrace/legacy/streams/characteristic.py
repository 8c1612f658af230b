"""``TimeCharacteristic``: which time the windows of a whole program went by."""

from __future__ import annotations

import time
from enum import Enum
from typing import Any

from millrace.common.watermark_strategy import TimestampAssigner, WatermarkStrategy
from millrace.datastream import StreamExecutionEnvironment
from millrace.legacy.telling import tell

__all__ = ["TimeCharacteristic"]

_EVENT_TIME_INTERVAL_MS = 200


class TimeCharacteristic(Enum):
    """The time that ``time_window`` goes by."""

    ProcessingTime = 0
    IngestionTime = 1
    EventTime = 2


class Arrival(TimestampAssigner):
    """Elements get the time at which they arrive."""

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(time.time() * 1000)


def set_stream_time_characteristic(
    env: StreamExecutionEnvironment, characteristic: TimeCharacteristic
) -> StreamExecutionEnvironment:
    """Which time ``time_window`` goes by. With ingestion time, sources stamp the elements that they read."""
    if not isinstance(characteristic, TimeCharacteristic):
        raise TypeError(f"set_stream_time_characteristic() takes a TimeCharacteristic, not {characteristic!r}")
    tell(
        "StreamExecutionEnvironment.set_stream_time_characteristic()",
        "window assigners say it: TumblingEventTimeWindows, TumblingProcessingTimeWindows; leave it out",
    )
    env.__dict__["_older_characteristic"] = characteristic
    of_sources = WatermarkStrategy.no_watermarks()
    if characteristic is TimeCharacteristic.IngestionTime:
        of_sources = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Arrival())
    env._watermarks_of_sources = of_sources
    is_processing = characteristic is TimeCharacteristic.ProcessingTime
    env.get_config().set_auto_watermark_interval(0 if is_processing else _EVENT_TIME_INTERVAL_MS)
    return env


def get_stream_time_characteristic(env: StreamExecutionEnvironment) -> TimeCharacteristic:
    """The one that was set; processing time by default, as it was up to Flink 1.11."""
    return env.__dict__.get("_older_characteristic", TimeCharacteristic.ProcessingTime)  # type: ignore[no-any-return]
