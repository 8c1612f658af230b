"""SOURCE_WATERMARK(): the watermarks of a DataStream are those of its table; tables of connectors have none."""

from __future__ import annotations

from typing import Any

import pytest

from millrace.common import Row, TimestampAssigner, Types, WatermarkGenerator, WatermarkStrategy
from millrace.datastream import StreamExecutionEnvironment
from millrace.table import DataTypes, Schema, StreamTableEnvironment

COUNT = """
    SELECT COUNT(*) FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY window_start, window_end
"""


class OfField(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[0])


class EachRow(WatermarkGenerator):
    """A watermark behind each row."""

    def __init__(self, lag: int) -> None:
        self._lag = lag

    def on_event(self, event: Any, event_timestamp: int, output: Any) -> None:
        output.emit_watermark(event_timestamp - self._lag * 1000 - 1)

    def on_periodic_emit(self, output: Any) -> None:
        """Nothing more."""


@pytest.mark.parametrize(("lag", "counted"), [(0, [2]), (60, [3])])
def test_what_is_late_is_what_the_stream_says(lag: int, counted: list[int]) -> None:
    """The last row is of the first window, which is over by the watermarks of one strategy, and not of the other's."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    strategy: Any = WatermarkStrategy.for_generator(lambda: EachRow(lag))
    rows = [Row(at * 1000) for at in (1, 2)] + [Row(15_000)] + [Row(3_000)]
    stream = env.from_collection(rows, Types.ROW_NAMED(["ms"], [Types.LONG()]))
    timed = stream.assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(OfField()))
    tables = StreamTableEnvironment.create(env)
    schema = Schema.new_builder().column("ms", DataTypes.BIGINT())
    schema = schema.column_by_metadata("ts", DataTypes.TIMESTAMP_LTZ(3), "rowtime")
    tables.create_temporary_view("t", timed, schema.watermark("ts", "SOURCE_WATERMARK()").build())
    with tables.execute_sql(COUNT).collect() as found:
        first = sorted(row[0] for row in found)
    assert first == sorted([*counted, 1])


@pytest.mark.parametrize("connector", ["kafka", "datagen", "filesystem"])
def test_tables_of_connectors_are_refused_with_the_nearest_way(connector: str) -> None:
    options = {
        "kafka": "'topic' = 't', 'properties.bootstrap.servers' = 'x:1', 'format' = 'json'",
        "datagen": "'rows-per-second' = '1'",
        "filesystem": "'path' = '/nowhere', 'format' = 'json'",
    }[connector]
    tables = StreamTableEnvironment.create(StreamExecutionEnvironment.get_execution_environment())
    columns = "ts TIMESTAMP(3), WATERMARK FOR ts AS SOURCE_WATERMARK()"
    with pytest.raises(Exception, match=r"SOURCE_WATERMARK\(\) is for tables of DataStreams.*WATERMARK FOR ts AS ts -"):
        tables.execute_sql(f"CREATE TABLE t ({columns}) WITH ('connector' = '{connector}', {options})")
