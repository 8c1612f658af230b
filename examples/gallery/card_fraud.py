"""Financial risk: a small payment that is followed by a large one within a minute raises an alarm.

State per card, and a timer that forgets what was in vain. When a timer fires depends on the watermark, so the time
between the two payments is looked at, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from show import show

from millrace.common import Types, WatermarkStrategy
from millrace.common.watermark_strategy import TimestampAssigner
from millrace.datastream import DataStream, StreamExecutionEnvironment
from millrace.datastream.functions import KeyedProcessFunction, RuntimeContext
from millrace.datastream.state import ValueStateDescriptor

MINUTE = 60_000
SMALL, LARGE = 1.0, 500.0
# (card, amount, ms)
PAYMENTS = [
    ("A", 0.09, 0),
    ("B", 900.00, 5_000),
    ("A", 510.00, 30_000),
    ("B", 0.50, 40_000),
    ("C", 0.10, 50_000),
    ("B", 20.00, 60_000),
    ("B", 700.00, 70_000),
    ("C", 999.00, 120_000),
    ("A", 0.02, 130_000),
    ("A", 501.00, 189_999),
]


class At(TimestampAssigner):
    def extract_timestamp(self, value: tuple[str, float, int], record_timestamp: int) -> int:
        return value[2]


class SmallThenLarge(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self._small = runtime_context.get_state(ValueStateDescriptor("small", Types.LONG()))

    def process_element(self, payment: tuple[str, float, int], ctx: Any) -> Iterator[str]:
        card, amount, at = payment
        timers, since = ctx.timer_service(), self._small.value()
        if since is not None:
            timers.delete_event_time_timer(since + MINUTE)
            self._small.clear()
            if amount > LARGE and at - since <= MINUTE:
                yield f"card {card}: {amount:.2f} at {at / 1000:g} s, {(at - since) / 1000:g} s after a small one"
        if amount < SMALL:
            self._small.update(at)
            timers.register_event_time_timer(at + MINUTE)

    def on_timer(self, timestamp: int, ctx: Any) -> None:
        self._small.clear()


def build(env: StreamExecutionEnvironment) -> DataStream:
    times = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(At())
    payments = env.from_collection(PAYMENTS).assign_timestamps_and_watermarks(times)
    return payments.key_by(lambda payment: payment[0]).process(SmallThenLarge(), Types.STRING())


if __name__ == "__main__":
    show(build, "fraud")
