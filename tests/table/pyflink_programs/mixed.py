"""Tables and DataStreams in one program; tables and pandas."""

from __future__ import annotations

from typing import Any

from pyflink.common import Row, RowKind, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import ProcessFunction
from pyflink.table import DataTypes, Schema
from pyflink.table.expressions import col, lit
from pyflink.table.window import Tumble
from tests.table.pyflink_programs.expected import prints, streaming, with_streams


@prints("""
    +I[ALICE]
    +I[BOB]
    """)
def there_and_back() -> None:
    env, t_env = with_streams()
    stream = env.from_collection(["Alice", "Bob"], Types.STRING())
    t_env.create_temporary_view("names", t_env.from_data_stream(stream, col("name")))
    upper = t_env.sql_query("SELECT UPPER(name) FROM names")
    t_env.to_data_stream(upper).print()
    env.execute()


@prints("""
    +I[Alice,112]
    +I[Bob,10]
    """)
def changes_as_a_stream() -> None:
    env, t_env = with_streams()
    stream = env.from_collection(
        [("Alice", 12), ("Bob", 10), ("Alice", 100)], Types.ROW_NAMED(["name", "score"], [Types.STRING(), Types.INT()])
    )
    t_env.create_temporary_view("scores", t_env.from_data_stream(stream))
    totals = t_env.sql_query("SELECT name, SUM(score) FROM scores GROUP BY name")
    t_env.to_changelog_stream(totals).print()
    env.execute()


@prints("""
    +I[Alice, 100]
    +I[Bob, 10]
    """)
def a_stream_of_changes() -> None:
    env, t_env = with_streams()
    changes = [
        Row.of_kind(RowKind.INSERT, "Alice", 12),
        Row.of_kind(RowKind.INSERT, "Bob", 5),
        Row.of_kind(RowKind.UPDATE_BEFORE, "Alice", 12),
        Row.of_kind(RowKind.UPDATE_AFTER, "Alice", 100),
        Row.of_kind(RowKind.DELETE, "Bob", 5),
        Row.of_kind(RowKind.INSERT, "Bob", 10),
    ]
    stream = env.from_collection(changes, Types.ROW([Types.STRING(), Types.INT()]))
    t_env.execute_sql("CREATE TABLE sink (name STRING, score INT) WITH ('connector' = 'print')")
    t_env.create_temporary_view("changes", t_env.from_changelog_stream(stream))
    t_env.execute_sql("INSERT INTO sink SELECT f0, SUM(f1) FROM changes GROUP BY f0").wait()


@prints("""
    (True, <Row('a', 1)>)
    (True, <Row('b', 2)>)
    """)
def retract_stream() -> None:
    _, t_env = with_streams()
    table = t_env.from_elements([("a", 1), ("b", 2)], ["k", "n"])
    stream = t_env.to_retract_stream(table, Types.ROW([Types.STRING(), Types.LONG()]))
    rows = stream.execute_and_collect()
    print("\n".join(sorted(str((bool(flag), Row(*row))) for flag, row in rows)))


class Third(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[2])


@prints("""
    +I[a, 3, 1970-01-01T00:00:05]
    +I[a, 4, 1970-01-01T00:00:10]
    """)
def timestamps_of_the_stream() -> None:
    env, t_env = with_streams()
    stream = env.from_collection(
        [("a", 1, 1000), ("a", 2, 2000), ("a", 4, 6000)], Types.TUPLE([Types.STRING(), Types.INT(), Types.LONG()])
    ).assign_timestamps_and_watermarks(WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Third()))
    schema = (
        Schema.new_builder()
        .column_by_metadata("rowtime", "TIMESTAMP_LTZ(3)")
        .watermark("rowtime", "SOURCE_WATERMARK()")
        .build()
    )
    table = t_env.from_data_stream(stream, schema)
    t_env.execute_sql("CREATE TABLE sink (k STRING, s INT, w TIMESTAMP(3)) WITH ('connector' = 'print')")
    windowed = table.window(Tumble.over(lit(5).seconds).on(col("rowtime")).alias("w")).group_by(col("f0"), col("w"))
    result = windowed.select(col("f0"), col("f1").sum, col("w").end.cast(DataTypes.TIMESTAMP(3)))
    result.execute_insert("sink").wait()


class Stamp(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield f"{value[0]} at {ctx.timestamp()}"


@prints("""
    1 at 1500
    2 at 2500
    """)
def event_time_reaches_the_stream() -> None:
    env, t_env = with_streams()
    stream = env.from_collection([(1, 1500), (2, 2500)], Types.ROW_NAMED(["n", "ms"], [Types.INT(), Types.LONG()]))
    schema = (
        Schema.new_builder()
        .column("n", "INT")
        .column("ms", "BIGINT")
        .column_by_expression("ts", "TO_TIMESTAMP_LTZ(ms, 3)")
        .watermark("ts", "ts - INTERVAL '1' SECOND")
        .build()
    )
    table = t_env.from_data_stream(stream, schema)
    t_env.to_data_stream(table).process(Stamp(), Types.STRING()).print()
    env.execute()


@prints("""
    [1, 3]
    ['x', None]
    int64
    """)
def table_to_frame() -> None:
    table = streaming().from_elements([(1, "x"), (2, "y"), (3, None)], ["n", "s"])
    frame = table.where(col("n") != 2).to_pandas().sort_values("n")
    print(frame["n"].tolist())
    print([None if value is None else value for value in frame["s"].tolist()])
    print(frame["n"].dtype)


@prints("""
    (
      `a` BIGINT,
      `b` DOUBLE
    )
    (1, 0.5)
    (2, 1.5)
    """)
def frame_to_table() -> None:
    import pandas as pd

    t_env = streaming()
    table = t_env.from_pandas(pd.DataFrame({"x": [1, 2], "y": [0.5, 1.5]}), ["a", "b"])
    table.print_schema()
    with table.execute().collect() as rows:
        print("\n".join(sorted(str(tuple(row)) for row in rows)))


@prints("""
    b x
    a 1
    """)
def nested_rows() -> None:
    t_env = streaming()
    inner = DataTypes.ROW(
        [
            DataTypes.FIELD("x", DataTypes.STRING()),
            DataTypes.FIELD("m", DataTypes.MAP(DataTypes.STRING(), DataTypes.INT())),
        ]
    )
    schema = DataTypes.ROW([DataTypes.FIELD("r", inner), DataTypes.FIELD("l", DataTypes.ARRAY(DataTypes.STRING()))])
    table = t_env.from_elements([(Row("x", {"a": 1}), ["a", "b"])], schema)
    table = table.select(col("l").at(2), col("r").get("x"), col("r").m.at("a"), col("r"), col("l"))
    with table.execute().collect() as rows:
        for row in rows:
            print(row[0], row[1])
            print(row[4][0], row[3][1]["a"])
