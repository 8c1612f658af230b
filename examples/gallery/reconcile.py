"""Two streams that must agree: orders and payments with one number. What stays alone for ten seconds is told.

A connected pair of keyed streams, a state for each side, and a timer for what waits.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from show import show

from millrace.common import Types, WatermarkStrategy
from millrace.common.watermark_strategy import TimestampAssigner
from millrace.datastream import DataStream, StreamExecutionEnvironment
from millrace.datastream.functions import KeyedCoProcessFunction, RuntimeContext
from millrace.datastream.state import ValueStateDescriptor

WAIT = 10_000
# (order, ms)
ORDERS = [("o1", 1_000), ("o2", 2_000), ("o3", 3_000)]
PAYMENTS = [("o1", 5_000), ("o3", 30_000), ("o4", 31_000)]


class At(TimestampAssigner):
    def extract_timestamp(self, value: tuple[str, int], record_timestamp: int) -> int:
        return value[1]


class Agree(KeyedCoProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self._order = runtime_context.get_state(ValueStateDescriptor("order", Types.LONG()))
        self._payment = runtime_context.get_state(ValueStateDescriptor("payment", Types.LONG()))

    def process_element1(self, order: tuple[str, int], ctx: Any) -> Iterator[str]:
        return self._match(order, self._order, self._payment, ctx)

    def process_element2(self, payment: tuple[str, int], ctx: Any) -> Iterator[str]:
        return self._match(payment, self._payment, self._order, ctx)

    def _match(self, value: tuple[str, int], own: Any, other: Any, ctx: Any) -> Iterator[str]:
        number, at = value
        before = other.value()
        if before is None or abs(at - before) > WAIT:
            own.update(at)
            ctx.timer_service().register_event_time_timer(at + WAIT)
        else:
            ctx.timer_service().delete_event_time_timer(before + WAIT)
            yield f"{number}: ordered and paid within {abs(at - before) / 1000:g} s"
            other.clear()

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[str]:
        for own, missing in ((self._order, "payment"), (self._payment, "order")):
            if own.value() is not None and own.value() + WAIT == timestamp:
                yield f"{ctx.get_current_key()}: no {missing} within {WAIT / 1000:g} s"
                own.clear()


def build(env: StreamExecutionEnvironment) -> DataStream:
    times = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(At())
    orders, payments = (
        env.from_collection(each).assign_timestamps_and_watermarks(times).key_by(lambda value: value[0])
        for each in (ORDERS, PAYMENTS)
    )
    return orders.connect(payments).process(Agree(), Types.STRING())


if __name__ == "__main__":
    show(build, "reconcile")
