"""Queries in the Table API and in SQL: joins, sets, windows, Top-N."""

from __future__ import annotations

from typing import Any

from pyflink.table import DataTypes, Schema, TableDescriptor
from pyflink.table.expressions import col, concat, if_then_else, lit
from pyflink.table.window import Over, Slide, Tumble
from tests.table.pyflink_programs.expected import prints, streaming, with_streams

ORDERS = [("Jack", "FRANCE", 10), ("Rose", "ENGLAND", 30), ("Jack", "FRANCE", 20), ("Bob", "CHINA", 40)]


def orders(t_env: Any) -> Any:
    return t_env.from_elements(ORDERS, ["name", "country", "revenue"])


@prints("""
    +----+--------------------------------+----------------------+
    | op |                           name |              revenue |
    +----+--------------------------------+----------------------+
    | +I |                           Jack |                   30 |
    +----+--------------------------------+----------------------+
    1 row in set
    """)
def revenue_of_the_introduction() -> None:
    """In batch only the last change would be shown; here it is a table of one row for each final result."""
    t_env = streaming()
    table = orders(t_env).where(col("country") == "FRANCE")
    t_env.create_temporary_view("france", table)
    total = t_env.sql_query("SELECT name, SUM(revenue) AS revenue FROM france GROUP BY name")
    rows = {}
    with total.execute().collect() as changes:
        for row in changes:
            rows[row[0]] = row[1]
    t_env.from_elements([tuple(row) for row in rows.items()], ["name", "revenue"]).execute().print()


@prints("""
    ('Bob', 'CHINA', 40)
    ('Jack!', 'FRANCE', 30)
    ('Rose', 'ENGLAND', 30)
    """)
def columns_are_added_renamed_and_dropped() -> None:
    table = orders(streaming())
    table = table.add_columns(concat(col("name"), "!").alias("loud"), col("revenue").alias("r"))
    table = table.where(col("revenue") != 10).drop_columns(col("revenue"))
    table = table.add_or_replace_columns(if_then_else(col("r") < 30, col("r") + 10, col("r")).alias("r"))
    table = table.rename_columns(col("country").alias("land"))
    table = table.select(if_then_else(col("name") == "Jack", col("loud"), col("name")), col("land"), col("r"))
    with table.execute().collect() as rows:
        print("\n".join(sorted(str(tuple(row)) for row in rows)))


@prints("""
    +I[Bob, CHINA, 40, null]
    +I[Jack, FRANCE, 10, Paris]
    +I[Jack, FRANCE, 20, Paris]
    +I[Rose, ENGLAND, 30, null]
    """)
def left_outer_join() -> None:
    t_env = streaming()
    cities = t_env.from_elements([("FRANCE", "Paris"), ("ITALY", "Rome")], ["land", "city"])
    t_env.execute_sql(
        "CREATE TABLE sink (name STRING, country STRING, revenue BIGINT, city STRING) WITH ('connector' = 'print')"
    )
    joined = orders(t_env).left_outer_join(cities, col("country") == col("land")).drop_columns(col("land"))
    joined.execute_insert("sink").wait()


@prints("""
    union all: [1, 2, 2, 3]
    in: [2]
    distinct: [1, 2]
    """)
def operations_on_sets() -> None:
    t_env = streaming()
    numbers = DataTypes.ROW([DataTypes.FIELD("n", DataTypes.INT())])
    left, right = t_env.from_elements([(1,), (2,)], numbers), t_env.from_elements([(2,), (3,)], numbers)
    twice = left.union_all(left)
    tables = {
        "union all": left.union_all(right),
        "in": left.where(col("n").in_(right)),
        "distinct": twice.distinct(),
    }
    for name, table in tables.items():
        left_over: list[int] = []
        with table.execute().collect() as changes:
            for row in changes:
                if str(row.get_row_kind()) in ("+I", "+U"):
                    left_over.append(row[0])
                else:
                    left_over.remove(row[0])
        print(f"{name}: {sorted(left_over)}")


CLICKS = [("a", 1, 1_000), ("b", 2, 2_000), ("a", 4, 4_000), ("a", 8, 11_000), ("b", 16, 12_000)]


def clicks() -> tuple[Any, Any]:
    """A view with event time from a DataStream: clicks(name, n, ts)."""
    from pyflink.common import Types

    env, t_env = with_streams()
    stream = env.from_collection(
        CLICKS, Types.ROW_NAMED(["name", "n", "ms"], [Types.STRING(), Types.INT(), Types.LONG()])
    )
    schema = (
        Schema.new_builder()
        .column("name", "STRING")
        .column("n", "INT")
        .column("ms", "BIGINT")
        .column_by_expression("ts", "TO_TIMESTAMP_LTZ(ms, 3)")
        .watermark("ts", "ts - INTERVAL '2' SECOND")
        .build()
    )
    t_env.create_temporary_view("clicks", stream, schema)
    return t_env, t_env.from_path("clicks")


@prints("""
    +I[a, 1970-01-01T00:00, 5]
    +I[b, 1970-01-01T00:00, 2]
    +I[a, 1970-01-01T00:00:10, 8]
    +I[b, 1970-01-01T00:00:10, 16]
    """)
def tumbling_windows_of_the_table_api() -> None:
    t_env, table = clicks()
    t_env.execute_sql("CREATE TABLE sink (name STRING, w TIMESTAMP(3), s INT) WITH ('connector' = 'print')")
    windowed = table.window(Tumble.over(lit(10).seconds).on(col("ts")).alias("w")).group_by(col("name"), col("w"))
    result = windowed.select(col("name"), col("w").start.cast(DataTypes.TIMESTAMP(3)), col("n").sum)
    result.execute_insert("sink").wait()


@prints("""
    +I[1969-12-31T23:59:55, 7]
    +I[1970-01-01T00:00, 7]
    +I[1970-01-01T00:00:05, 24]
    +I[1970-01-01T00:00:10, 24]
    """)
def sliding_windows_of_the_table_api() -> None:
    t_env, table = clicks()
    t_env.execute_sql("CREATE TABLE sink (w TIMESTAMP(3), s INT) WITH ('connector' = 'print')")
    slide = Slide.over(lit(10).seconds).every(lit(5).seconds).on(col("ts")).alias("w")
    windowed = table.window(slide).group_by(col("w")).select(col("w").start.alias("start"), col("n").sum.alias("s"))
    t_env.create_temporary_view("windowed", windowed)
    t_env.execute_sql("INSERT INTO sink SELECT CAST(`start` AS TIMESTAMP(3)), s FROM windowed").wait()


@prints("""
    +I[1970-01-01T00:00, 1970-01-01T00:00:10, a, 5]
    +I[1970-01-01T00:00, 1970-01-01T00:00:10, b, 2]
    +I[1970-01-01T00:00:10, 1970-01-01T00:00:20, a, 8]
    +I[1970-01-01T00:00:10, 1970-01-01T00:00:20, b, 16]
    """)
def windows_of_table_functions() -> None:
    t_env, _ = clicks()
    t_env.execute_sql(
        "CREATE TABLE sink (s TIMESTAMP(3), e TIMESTAMP(3), name STRING, n INT) WITH ('connector' = 'print')"
    )
    t_env.execute_sql(
        "INSERT INTO sink SELECT window_start, window_end, name, SUM(n) "
        "FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '10' SECOND)) "
        "GROUP BY window_start, window_end, name"
    ).wait()


@prints("""
    +I[5, a, 5]
    +I[5, b, 2]
    +I[10, a, 5]
    +I[10, b, 2]
    +I[15, a, 8]
    +I[15, b, 16]
    +I[20, a, 8]
    +I[20, b, 16]
    """)
def cumulating_windows() -> None:
    t_env, _ = clicks()
    t_env.execute_sql("CREATE TABLE sink (e BIGINT, name STRING, n INT) WITH ('connector' = 'print')")
    t_env.execute_sql(
        "INSERT INTO sink SELECT TIMESTAMPDIFF(SECOND, TIMESTAMP '1970-01-01 00:00:00', window_end), name, SUM(n) "
        "FROM TABLE(CUMULATE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '10' SECOND)) "
        "GROUP BY window_start, window_end, name"
    ).wait()


@prints("""
    +I[a, 1, 1]
    +I[a, 4, 5]
    +I[a, 8, 12]
    +I[b, 2, 2]
    +I[b, 16, 18]
    """)
def over_windows_of_rows() -> None:
    t_env, table = clicks()
    t_env.execute_sql("CREATE TABLE sink (name STRING, n INT, s INT) WITH ('connector' = 'print')")
    from pyflink.table.expressions import row_interval

    window = Over.partition_by(col("name")).order_by(col("ts")).preceding(row_interval(1)).alias("w")
    result = table.over_window(window).select(col("name"), col("n"), col("n").sum.over(col("w")))
    result.execute_insert("sink").wait()


@prints("""
    +I[a, 8, 1]
    +I[a, 4, 2]
    +I[b, 16, 1]
    +I[b, 2, 2]
    """)
def top_n_in_sql() -> None:
    t_env, _ = clicks()
    t_env.execute_sql("CREATE TABLE sink (name STRING, n INT, place BIGINT) WITH ('connector' = 'print')")
    t_env.execute_sql(
        "INSERT INTO sink SELECT name, n, place FROM ("
        "SELECT *, ROW_NUMBER() OVER (PARTITION BY name ORDER BY n DESC) AS place FROM clicks) WHERE place <= 2"
    ).wait()


@prints("""
    +I[a, 8]
    +I[b, 16]
    """)
def newest_row_of_each_key() -> None:
    t_env, _ = clicks()
    t_env.execute_sql("CREATE TABLE sink (name STRING, n INT) WITH ('connector' = 'print')")
    t_env.execute_sql(
        "INSERT INTO sink SELECT name, n FROM ("
        "SELECT *, ROW_NUMBER() OVER (PARTITION BY name ORDER BY ts DESC) AS place FROM clicks) WHERE place = 1"
    ).wait()


@prints("""
    +I[10, 10]
    +I[10, 20]
    """)
def descriptors_without_names() -> None:
    t_env = streaming()
    source = (
        TableDescriptor.for_connector("datagen")
        .schema(Schema.new_builder().column("id", DataTypes.INT()).column_by_expression("ten", lit(10)).build())
        .option("fields.id.kind", "sequence")
        .option("fields.id.start", "1")
        .option("fields.id.end", "2")
        .build()
    )
    sink = (
        TableDescriptor.for_connector("print")
        .schema(Schema.new_builder().column("a", DataTypes.INT()).column("b", DataTypes.INT()).build())
        .build()
    )
    table = t_env.from_descriptor(source)
    table.select(col("ten"), col("id") * 10).execute_insert(sink).wait()
