"""Prices of a stock that fall at least twice in a row and then rise again: a V.

    python examples/patterns/v_shape.py

The same question to ``Pattern`` and to MATCH_RECOGNIZE; the two run on one automaton.
"""

from __future__ import annotations

from typing import Any

from reading import Event, events, run

from millrace.cep import CEP, AfterMatchSkipStrategy, Pattern
from millrace.common import Types
from millrace.common.types import Row
from millrace.datastream import DataStream, StreamExecutionEnvironment
from millrace.table import Schema, StreamTableEnvironment

V_SHAPE = """
    SELECT symbol, top, bottom, back
    FROM stocks
    MATCH_RECOGNIZE (
      PARTITION BY symbol
      ORDER BY ts
      MEASURES BEGUN.price AS top, LAST(DOWN.price) AS bottom, UP.price AS back
      AFTER MATCH SKIP PAST LAST ROW
      PATTERN (BEGUN DOWN{2,} UP)
      DEFINE
        DOWN AS DOWN.price < LAST(DOWN.price, 1) OR (LAST(DOWN.price, 1) IS NULL AND DOWN.price < BEGUN.price),
        UP AS UP.price > LAST(DOWN.price)
    )
"""


def price(event: Event) -> int:
    return int(event[1])


def falls(event: Event, ctx: Any) -> bool:
    down = ctx.get_events_for_pattern("down")
    before = down[-1] if down else ctx.get_events_for_pattern("begun")[0]
    return price(event) < price(before)


def rises(event: Event, ctx: Any) -> bool:
    return price(event) > price(ctx.get_events_for_pattern("down")[-1])


PATTERN = (
    Pattern.begin("begun", AfterMatchSkipStrategy.skip_past_last_event())
    .next("down")
    .where(falls)
    .times_or_more(2)
    .consecutive()
    .greedy()
    .next("up")
    .where(rises)
)


def shown(match: dict[str, list[Event]]) -> str:
    begun, down, up = match["begun"][0], match["down"], match["up"][0]
    return f"{begun[0]} {price(begun)} > {price(down[-1])} > {price(up)}"


def build(env: StreamExecutionEnvironment, given: list[Event] | None = None) -> DataStream:
    stocks = events(env, "stocks", given).key_by(lambda event: event[0])
    return CEP.pattern(stocks, PATTERN).select(shown, Types.STRING())


def build_sql(env: StreamExecutionEnvironment, given: list[Event] | None = None) -> DataStream:
    """The same in SQL."""
    t_env = StreamTableEnvironment.create(env)
    kind = Types.ROW_NAMED(["symbol", "price"], [Types.STRING(), Types.INT()])
    stream = events(env, "stocks", given).map(lambda event: Row(symbol=event[0], price=price(event)), kind)
    schema = (
        Schema.new_builder()
        .column("symbol", "STRING")
        .column("price", "INT")
        .column_by_metadata("ts", "TIMESTAMP_LTZ(3)", "rowtime")
        .watermark("ts", "SOURCE_WATERMARK()")
        .build()
    )
    t_env.create_temporary_view("stocks", t_env.from_data_stream(stream, schema))
    rows = t_env.to_data_stream(t_env.sql_query(V_SHAPE))
    return rows.map(lambda row: f"{row[0]} {row[1]} > {row[2]} > {row[3]}", Types.STRING())


if __name__ == "__main__":
    run(build)
