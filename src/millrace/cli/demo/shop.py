"""The program of the demonstration: what a shop sold, in two ways.

The orders of a morning lie in a file, in the order in which they arrived: some late, two far too late. The first
program adds up in event time what each ten minutes took, and keeps what came too late apart. The second one asks in SQL
which products sold best in each hour.
"""

from __future__ import annotations

import datetime
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

from millrace.common import Time, Types, WatermarkStrategy
from millrace.common.watermark_strategy import TimestampAssigner, WatermarkGenerator, WatermarkOutput
from millrace.datastream import DataStream, OutputTag, StreamExecutionEnvironment
from millrace.datastream.functions import ProcessWindowFunction
from millrace.datastream.window import TimeWindow, TumblingEventTimeWindows
from millrace.table import StreamTableEnvironment

ORDERS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "orders.csv")
LATE = OutputTag("late", Types.PICKLED_BYTE_ARRAY())
TEN_MINUTES = Time.minutes(10)
PATIENCE = 60_000
"""how long the windows wait for orders that are late (ms)"""


class Order(NamedTuple):
    """A line of the file."""

    at: datetime.datetime
    number: int
    customer: str
    product: str
    pieces: int
    cents: int

    @property
    def worth(self) -> int:
        return self.pieces * self.cents


def parsed(line: str) -> Order:
    at, number, customer, product, pieces, cents = line.split(",")
    moment = datetime.datetime.fromisoformat(at).replace(tzinfo=datetime.timezone.utc)
    return Order(moment, int(number), customer, product, int(pieces), int(cents))


class OrderedAt(TimestampAssigner):
    """The event time of an order is when it was made, not when it arrived."""

    def extract_timestamp(self, value: Order, record_timestamp: int) -> int:
        return int(value.at.timestamp() * 1000)


class AfterEachOrder(WatermarkGenerator):
    """A watermark after each order, a minute behind the latest: so it is known which ones are too late."""

    def __init__(self) -> None:
        self.latest = PATIENCE

    def on_event(self, event: Order, event_timestamp: int, output: WatermarkOutput) -> None:
        self.latest = max(self.latest, event_timestamp)
        output.emit_watermark(self.latest - PATIENCE - 1)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """All is said in on_event."""


class Taken(ProcessWindowFunction[Order, tuple[str, int, int], str, TimeWindow]):
    """Orders and cents of one window."""

    def process(
        self, key: str, context: ProcessWindowFunction.Context[TimeWindow], elements: Iterable[Order]
    ) -> Iterator[tuple[str, int, int]]:
        orders = list(elements)
        yield clock(context.window().start), len(orders), sum(each.worth for each in orders)


def takings(lines: DataStream) -> tuple[DataStream, DataStream]:
    """What each ten minutes took, and the orders that came too late for theirs."""
    watermarks = WatermarkStrategy.for_generator(AfterEachOrder)
    windows = (
        lines.map(parsed)
        .assign_timestamps_and_watermarks(watermarks.with_timestamp_assigner(OrderedAt()))
        .key_by(lambda order: "shop")
        .window(TumblingEventTimeWindows.of(TEN_MINUTES))
        .side_output_late_data(LATE)
        .process(Taken())
        .name("takings")
    )
    late = windows.get_side_output(LATE).map(
        lambda order: (f"{order.customer}'s {order.product} of {order.at:%H:%M:%S}",)
    )
    return windows, late


BEST = """SELECT * FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY begun ORDER BY euros DESC) AS place
  FROM (
    SELECT DATE_FORMAT(window_start, 'HH:mm') AS begun, product, SUM(pieces * cents) / 100.0 AS euros
    FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(ordered), INTERVAL '1' HOUR))
    GROUP BY window_start, window_end, product))
WHERE place <= 3
ORDER BY begun, place"""


def clock(millis: int) -> str:
    return f"{datetime.datetime.fromtimestamp(millis / 1000, datetime.timezone.utc):%H:%M}"


def best_sellers() -> list[tuple[Any, ...]]:
    """The three products that sold best in each hour, by SQL over the same file."""
    t_env = StreamTableEnvironment.create(StreamExecutionEnvironment.get_execution_environment())
    t_env.get_config().set("execution.runtime-mode", "batch")
    t_env.execute_sql(f"""
        CREATE TABLE orders (
          ordered TIMESTAMP(3), number INT, customer STRING, product STRING, pieces INT, cents INT,
          WATERMARK FOR ordered AS ordered - INTERVAL '1' MINUTE
        ) WITH ('connector' = 'filesystem', 'path' = '{ORDERS}', 'format' = 'csv')""")
    return [tuple(row) for row in t_env.execute_sql(BEST).collect()]


def main() -> None:
    console = Console(highlight=False, soft_wrap=True)
    began = time.monotonic()
    console.print("[bold]1. Event time, in Python.[/] 240 orders arrive. What did each ten minutes take?")
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    windows, late = takings(env.read_text_file(ORDERS))
    found = list(windows.union(late).execute_and_collect("takings"))
    rows = [(at, orders, f"{cents / 100:,.2f}") for at, orders, cents in (each for each in found if len(each) == 3)]
    show(console, ("from", "orders", "euros"), rows)
    for (order,) in (each for each in found if len(each) == 1):
        console.print(f"Too late for its window: {order}.")
    console.print("\n[bold]2. The same file, in SQL.[/] Which products sold best in each hour?")
    console.print(BEST, style="dim")
    best = [(begun, product, f"{euros:,.2f}", place) for begun, product, euros, place in best_sellers()]
    show(console, ("begun", "product", "euros", "place"), best)
    console.print(f"\nThat was all, after {time.monotonic() - began:.0f} s on a Spark of this machine.")
    console.print(f"The program: {os.path.abspath(__file__)}")
    console.print("Next: `millrace new shop` makes a project of your own, `millrace sql` takes your questions.")


def show(console: Console, titles: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """A table on the screen; its numbers stand on the right."""
    table = Table(header_style="bold")
    for title in titles:
        table.add_column(title, justify="left" if title in ("from", "begun", "product") else "right")
    for row in rows:
        table.add_row(*map(str, row))
    console.print(table)


if __name__ == "__main__":
    main()
