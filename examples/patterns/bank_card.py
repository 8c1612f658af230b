"""A bank card that pays at another place within ten minutes: the query of the documents, as it is written there.

    python examples/patterns/bank_card.py

``e2+`` is greedy and comes last, which Flink refuses; here the statement has the meaning of SQL's standard.
"""

from __future__ import annotations

from reading import Event, events, run

from millrace.common import Types
from millrace.common.types import Row
from millrace.datastream import DataStream, StreamExecutionEnvironment
from millrace.table import Schema, StreamTableEnvironment

FRAUD = """
    SELECT cardId, first_place, last_place, payments
    FROM swipes
    MATCH_RECOGNIZE (
      PARTITION BY cardId
      ORDER BY `time`
      MEASURES e1.location AS first_place, LAST(e2.location) AS last_place, COUNT(e2.location) AS payments
      ONE ROW PER MATCH
      AFTER MATCH SKIP TO NEXT ROW
      PATTERN (e1 e2+) WITHIN INTERVAL '10' MINUTE
      DEFINE e1 AS e1.action = 'Consumption', e2 AS e2.action = 'Consumption' AND e2.location <> e1.location
    )
"""


def build(env: StreamExecutionEnvironment, given: list[Event] | None = None) -> DataStream:
    t_env = StreamTableEnvironment.create(env)
    kind = Types.ROW_NAMED(["cardId", "location", "action"], [Types.STRING()] * 3)
    swipes = events(env, "swipes", given)
    stream = swipes.map(lambda event: Row(cardId=event[0], location=event[1], action=event[2]), kind)
    schema = (
        Schema.new_builder()
        .column("cardId", "STRING")
        .column("location", "STRING")
        .column("action", "STRING")
        .column_by_metadata("time", "TIMESTAMP_LTZ(3)", "rowtime")
        .watermark("time", "SOURCE_WATERMARK()")
        .build()
    )
    t_env.create_temporary_view("swipes", t_env.from_data_stream(stream, schema))
    rows = t_env.to_data_stream(t_env.sql_query(FRAUD))
    return rows.map(lambda row: f"{row[0]}: {row[1]}, then {row[3]} payments up to {row[2]}", Types.STRING())


if __name__ == "__main__":
    run(build)
