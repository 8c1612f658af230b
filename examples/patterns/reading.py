"""What the programs of this folder share: the events of a file, with their times."""

from __future__ import annotations

import csv
import datetime
from pathlib import Path

from millrace.common import Types
from millrace.common.watermark_strategy import TimestampAssigner, WatermarkStrategy
from millrace.datastream import DataStream, StreamExecutionEnvironment

DATA = Path(__file__).parent / "data"
Event = tuple[str, ...]
"""the fields of a line; the last one is the time"""


def millis(event: Event) -> int:
    """When it happened, ms since 1970."""
    moment = datetime.datetime.fromisoformat(event[-1]).replace(tzinfo=datetime.timezone.utc)
    return round(moment.timestamp() * 1000)


class Times(TimestampAssigner):
    def extract_timestamp(self, value: Event, record_timestamp: int) -> int:
        return millis(value)


def lines(name: str) -> list[Event]:
    """The lines of a file without the first one."""
    with (DATA / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return [tuple(line) for line in csv.reader(file)][1:]


def events(env: StreamExecutionEnvironment, name: str, given: list[Event] | None = None) -> DataStream:
    """The events of a file (or those that are given), of which f0 is the key, with timestamps."""
    found = given if given is not None else lines(name)
    texts = Types.TUPLE([Types.STRING()] * len(found[0]))
    times = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Times())
    return env.from_collection(found, texts).assign_timestamps_and_watermarks(times)


def run(build: object) -> None:
    """Run a program as a command and print what it finds."""
    assert callable(build)
    env = StreamExecutionEnvironment.get_execution_environment()
    build(env.set_parallelism(1)).print()
    env.execute()
