"""A job with every kind of pattern: one that is given, several that messages bring, and MATCH_RECOGNIZE."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from millrace.cep import CEP, AfterMatchSkipStrategy, Pattern, PatternProcessFunction, PatternProcessor
from millrace.common.time import Time
from millrace.common.typeinfo import Types
from millrace.common.types import Row
from millrace.common.watermark_strategy import TimestampAssigner, WatermarkStrategy
from millrace.datastream import DataStream, StreamExecutionEnvironment
from millrace.table import Schema, StreamTableEnvironment

COUNT, KEYS = 300, 5
FIELDS = ["k", "name", "number"]
EVENT = Types.ROW_NAMED(FIELDS, [Types.LONG(), Types.STRING(), Types.LONG()])


def event_of(number: int) -> Row:
    """An event of each number: few names, in an order without a period that one sees."""
    mixed = number * 2654435761 & 0xFFFFFFFF
    return Row(k=(mixed >> 8) % KEYS, name="abcd"[(mixed >> 20) % 4], number=number)


class Numbers(TimestampAssigner):
    def extract_timestamp(self, value: Row, record_timestamp: int) -> int:
        number: int = value.number
        return 10 * number


class Numbered(PatternProcessFunction):
    def process_match(self, match: dict[str, list[Row]], ctx: Any) -> Iterator[str]:
        yield f"{ctx.pattern_id()} {shown(match)}"


def shown(match: dict[str, list[Row]]) -> str:
    return " ".join(f"{row.name}{row.number}" for rows in match.values() for row in rows)


def is_later_b(row: Row, ctx: Any) -> bool:
    return bool(row.name == "b" and row.number > ctx.get_events_for_pattern("a")[0].number)


GIVEN = (
    Pattern.begin("a", AfterMatchSkipStrategy.skip_to_next())
    .where("name = 'a'")
    .followed_by("bs")
    .where(is_later_b)
    .times(1, 3)
    .followed_by_any("c")
    .where("name = 'c'")
    .within(Time(900))
)
BROUGHT = [
    PatternProcessor("cd", 1, Pattern.begin("c").where("name = 'c'").next("d").where("name = 'd'").within(Time(500))),
    PatternProcessor("da", 4, Pattern.begin("d").where("name = 'd'").followed_by("a").where("name = 'a'")),
]
QUERY = """
    SELECT k, first_b, last_b, n FROM events
    MATCH_RECOGNIZE (
      PARTITION BY k ORDER BY ts
      MEASURES FIRST(B.number) AS first_b, LAST(B.number) AS last_b, SUM(B.number) AS n
      AFTER MATCH SKIP PAST LAST ROW
      PATTERN (A B{1,3} C) WITHIN INTERVAL '2' SECOND
      DEFINE A AS A.name = 'a', B AS B.name <> 'a' AND SUM(B.number) < 700, C AS C.name = 'a'
    )
"""


def patterns(env: StreamExecutionEnvironment, on_the_way: Callable[[Row], Row] = lambda row: row) -> DataStream:
    """All matches as texts.

    :param on_the_way: called with each event.
    """
    times = WatermarkStrategy.for_bounded_out_of_orderness(Time(30)).with_timestamp_assigner(Numbers())
    events = env.from_sequence(0, COUNT - 1).uid("numbers").map(event_of, EVENT).uid("events")
    events = events.assign_timestamps_and_watermarks(times).uid("times")
    keyed = events.map(on_the_way, EVENT).uid("way").key_by(lambda row: row.k, Types.LONG())
    given = CEP.pattern(keyed, GIVEN).select(shown, Types.STRING()).uid("given")
    messages = env.from_collection(BROUGHT).uid("messages")
    brought = CEP.dynamic_patterns(keyed, messages).process(Numbered(), Types.STRING()).uid("brought")
    return given.union(brought)


def recognized(env: StreamExecutionEnvironment) -> DataStream:
    """The matches of a statement as texts."""
    t_env = StreamTableEnvironment.create(env)
    times = WatermarkStrategy.for_bounded_out_of_orderness(Time(30)).with_timestamp_assigner(Numbers())
    events = env.from_sequence(0, COUNT - 1).uid("numbers").map(event_of, EVENT).uid("events")
    schema = (
        Schema.new_builder()
        .column("k", "BIGINT")
        .column("name", "STRING")
        .column("number", "BIGINT")
        .column_by_metadata("ts", "TIMESTAMP_LTZ(3)", "rowtime")
        .watermark("ts", "SOURCE_WATERMARK()")
        .build()
    )
    stream = events.assign_timestamps_and_watermarks(times).uid("times")
    t_env.create_temporary_view("events", t_env.from_data_stream(stream, schema))
    rows = t_env.to_data_stream(t_env.sql_query(QUERY))
    return rows.map(lambda row: " ".join(map(str, row)), Types.STRING()).uid("texts")


JOBS = {"patterns": patterns, "recognized": recognized}
