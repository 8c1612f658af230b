"""The highest speed of each car in the last ten seconds, told whenever it has driven another 50 metres.

A window without end, a trigger of one's own that looks at the distance, and an evictor that forgets what is old.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from show import show

from millrace.common import Duration, Time, Types, WatermarkStrategy
from millrace.common.watermark_strategy import TimestampAssigner
from millrace.datastream import DataStream, StreamExecutionEnvironment
from millrace.datastream.functions import ProcessWindowFunction
from millrace.datastream.state import ValueStateDescriptor
from millrace.datastream.window import GlobalWindows, TimeEvictor, Trigger, TriggerResult


@dataclass(frozen=True)
class Reading:
    car: int
    speed: int
    """km/h"""
    distance: float
    """m"""
    at: int
    """ms"""


def drive(car: int, speeds: Iterable[int]) -> list[Reading]:
    distance, readings = 0.0, []
    for second, speed in enumerate(speeds):
        distance += speed / 3.6
        readings.append(Reading(car, speed, distance, second * 1000))
    return readings


FIRST, SECOND = drive(1, [50, 55, 60, 90, 40, *[30] * 9]), drive(2, [80] * 6)
READINGS = sorted(FIRST + SECOND, key=lambda reading: reading.at)


class At(TimestampAssigner):
    def extract_timestamp(self, value: Reading, record_timestamp: int) -> int:
        return value.at


class Metres(Trigger):
    """Fires when a car has driven so far since it last fired."""

    def __init__(self, metres: float) -> None:
        self._metres = metres
        self._last = ValueStateDescriptor("last", Types.DOUBLE())

    def on_element(self, element: Reading, timestamp: int, window: Any, ctx: Any) -> TriggerResult:
        last = ctx.get_partitioned_state(self._last)
        if last.value() is None:
            last.update(element.distance)
            return TriggerResult.CONTINUE
        if element.distance - last.value() < self._metres:
            return TriggerResult.CONTINUE
        last.update(element.distance)
        return TriggerResult.FIRE

    def on_processing_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_merge(self, window: Any, ctx: Any) -> None:
        """Windows without end are one."""

    def clear(self, window: Any, ctx: Any) -> None:
        ctx.get_partitioned_state(self._last).clear()


class Fastest(ProcessWindowFunction):
    def process(self, key: int, context: Any, elements: Iterable[Reading]) -> Iterable[str]:
        readings = list(elements)
        fastest = max(readings, key=lambda reading: reading.speed)
        yield f"car {key}: {fastest.speed} km/h at {fastest.at // 1000} s (told at {readings[-1].at // 1000} s)"


def build(env: StreamExecutionEnvironment) -> DataStream:
    times = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(1)).with_timestamp_assigner(At())
    cars = env.from_collection(READINGS).assign_timestamps_and_watermarks(times).key_by(lambda reading: reading.car)
    windows = cars.window(GlobalWindows.create()).trigger(Metres(50)).evictor(TimeEvictor.of(Time.seconds(10)))
    return windows.process(Fastest(), Types.STRING())


if __name__ == "__main__":
    show(build, "top speed")
