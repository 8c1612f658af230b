"""The clicks that most programs of this folder read, and how they get their event time."""

from __future__ import annotations

import datetime
from typing import Any, NamedTuple

from millrace.common.time import Duration
from millrace.common.watermark_strategy import TimestampAssigner, WatermarkGenerator, WatermarkOutput, WatermarkStrategy
from millrace.datastream import DataStream, StreamExecutionEnvironment


class Click(NamedTuple):
    user: str
    url: str
    timestamp: int


CLICKS = [
    Click("Mary", "./home", 500),
    Click("Bob", "./cart", 1000),
    Click("Alice", "./home", 1500),
    Click("Mary", "./prod?id=1", 2000),
    Click("Bob", "./cart", 3000),
    Click("Alice", "./home", 4999),
    Click("Mary", "./cart", 5000),
    Click("Bob", "./home", 6000),
    Click("Alice", "./cart", 7000),
    Click("Mary", "./cart", 9000),
    Click("Bob", "./prod?id=1", 10000),
    Click("Alice", "./prod?id=1", 11000),
    Click("Mary", "./home", 12000),
    Click("Bob", "./prod?id=1", 13000),
    Click("Alice", "./prod?id=1", 14000),
    Click("Mary", "./home", 15000),
    Click("Bob", "./prod?id=1", 16000),
    Click("Alice", "./home", 17000),
    Click("Mary", "./home", 18000),
]


class LastField(TimestampAssigner):
    """The event time of a tuple is its last field (ms)."""

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[-1])


class PerElement(WatermarkGenerator):
    """A watermark after every element, as if each came long after the one before."""

    def __init__(self) -> None:
        self.latest = -(2**62)

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        self.latest = max(self.latest, event_timestamp)
        output.emit_watermark(self.latest - 1)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """All is said in on_event."""


IN_ORDER = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(0)).with_timestamp_assigner(LastField())
PACED = WatermarkStrategy.for_generator(PerElement).with_timestamp_assigner(LastField())


def stamped(env: StreamExecutionEnvironment, elements: list[Any], strategy: WatermarkStrategy = IN_ORDER) -> DataStream:
    """The elements with their event time, in one subtask: dealt out to several they would have several watermarks."""
    return env.from_collection(elements).assign_timestamps_and_watermarks(strategy).set_parallelism(1)


def clicks(env: StreamExecutionEnvironment, strategy: WatermarkStrategy = IN_ORDER) -> DataStream:
    return stamped(env, CLICKS, strategy)


def timestamp_text(millis: int) -> str:
    """As Java's ``Timestamp`` prints it, in UTC: ``1970-01-01 00:00:05.0``."""
    whole, rest = divmod(millis, 1000)
    time = datetime.datetime.fromtimestamp(whole, datetime.timezone.utc)
    return f"{time:%Y-%m-%d %H:%M:%S}.{f'{rest:03d}'.rstrip('0') or '0'}"
