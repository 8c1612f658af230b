"""P12: what a user looked at from ten minutes before an order to five minutes after it, asked from either side."""

from __future__ import annotations

from collections.abc import Iterator

from fixture import IN_ORDER, stamped

from millrace.common import Time, Types, WatermarkStrategy
from millrace.datastream import DataStream, KeyedStream, ProcessJoinFunction, StreamExecutionEnvironment

Event = tuple[str, str, int]

ORDERS: list[Event] = [("Mary", "order", 1_200_000)]
PAGE_VIEWS: list[Event] = [
    ("Mary", "pv", 900_000), ("Mary", "pv", 660_000), ("Mary", "pv", 540_000), ("Mary", "pv", 1_260_000),
]  # fmt: skip


class OrderFirst(ProcessJoinFunction):
    def process_element(self, left: Event, right: Event, ctx: ProcessJoinFunction.Context) -> Iterator[str]:
        yield f"{left}=>{right}"


class PageViewFirst(ProcessJoinFunction):
    def process_element(self, left: Event, right: Event, ctx: ProcessJoinFunction.Context) -> Iterator[str]:
        yield f"{right}->{left}"


def build(env: StreamExecutionEnvironment, strategy: WatermarkStrategy = IN_ORDER) -> DataStream:
    def keyed(events: list[Event]) -> KeyedStream:
        return stamped(env, events, strategy).key_by(lambda event: event[0], Types.STRING())

    orders, page_views = keyed(ORDERS), keyed(PAGE_VIEWS)
    by_order = orders.interval_join(page_views).between(Time.minutes(-10), Time.minutes(5))
    by_page_view = page_views.interval_join(orders).between(Time.minutes(-5), Time.minutes(10))
    return by_order.process(OrderFirst(), Types.STRING()).union(by_page_view.process(PageViewFirst(), Types.STRING()))


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    build(env).print()
    env.execute("interval join")


if __name__ == "__main__":
    main()
