"""Table API programs run in streaming mode without Spark; the expected rows are written by hand."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from tests.table.planner.programs import changelog, final

from millrace.common.types import Row, RowKind
from millrace.connectors.tables.values_table import clear_values, register_values, results_of
from millrace.datastream import StreamExecutionEnvironment
from millrace.relational.functions.registry import Surroundings
from millrace.relational.rules.optimizer import optimise_streaming
from millrace.table import Table, TableEnvironment
from millrace.table.expressions import (
    CURRENT_RANGE,
    UNBOUNDED_RANGE,
    call,
    col,
    concat,
    if_then_else,
    lit,
    not_,
    row_interval,
)
from millrace.table.planner.engine import add_to_program
from millrace.table.planner.plan import Options
from millrace.table.udf import AggregateFunction, TableAggregateFunction, udaf, udf, udtaf, udtf
from millrace.table.values.arrow_tables import remaining
from millrace.table.window import Over, Session, Slide, Tumble
from millrace.testing.local import run_locally

AT = dt.datetime(2024, 5, 6, 10, 0)


def minutes(count: float) -> dt.datetime:
    return AT + dt.timedelta(minutes=count)


CLICKS = [("Ann", 1, minutes(0)), ("Bob", 2, minutes(1)), ("Ann", 3, minutes(4)), ("Ann", 5, minutes(11))]

twice = udf(lambda value: value * 2, result_type="INT", name="twice")
letters = udtf(lambda name: list(name), result_types=["STRING"])
largest = udaf(lambda values: values.max(), result_type="INT", func_type="pandas", name="largest")
pair = udf(lambda value: Row(value, str(value)), result_type="ROW<a INT, b STRING>", name="pair")


class Extremes(AggregateFunction[Row, Any]):
    def create_accumulator(self) -> Any:
        return Row(None, None)

    def accumulate(self, accumulator: Any, *args: Any) -> None:
        values = [value for value in (*accumulator, args[0]) if value is not None]
        accumulator[0], accumulator[1] = min(values), max(values)

    def get_value(self, accumulator: Any) -> Row:
        return Row(accumulator[0], accumulator[1])


class Top(TableAggregateFunction[Row, list[int]]):
    def create_accumulator(self) -> list[int]:
        return []

    def accumulate(self, accumulator: list[int], *args: Any) -> None:
        accumulator.append(args[0])

    def emit_value(self, accumulator: list[int]) -> Any:
        yield from (Row(value) for value in sorted(accumulator)[-2:])


extremes = udaf(Extremes(), result_type="ROW<low INT, high INT>", accumulator_type="ROW<a INT, b INT>", name="extremes")
top = udtaf(Top(), result_type="ROW<top INT>", accumulator_type="ARRAY<INT>", name="top")


@pytest.fixture
def clicks(t_env: TableEnvironment) -> Any:
    register_values("clicks", CLICKS)
    t_env.execute_sql(
        "CREATE TABLE clicks (name STRING, n INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) "
        "WITH ('connector' = 'values', 'data-id' = 'clicks')"
    )
    yield t_env.from_path("clicks")
    clear_values()


name, n, w = col("name"), col("n"), col("w")
tumble = Tumble.over(lit(10).minutes).on(col("ts")).alias("w")
slide = Slide.over(lit(10).minutes).every(lit(5).minutes).on(col("ts")).alias("w")
session = Session.with_gap(lit(5).minutes).on(col("ts")).alias("w")
over = Over.partition_by(name).order_by(col("ts"))
everything = over.preceding(UNBOUNDED_RANGE).following(CURRENT_RANGE).alias("w")
two = over.preceding(row_interval(1)).alias("w")

PROGRAMS: list[tuple[str, Callable[[Table], Table], list[tuple[Any, ...]]]] = [
    ("select", lambda t: t.select(concat(name, "!"), n + 1), [("Ann!", 2), ("Bob!", 3), ("Ann!", 4), ("Ann!", 6)]),
    ("where", lambda t: t.where((n > 1) & (name == "Ann")).select(n), [(3,), (5,)]),
    ("not between", lambda t: t.where(n.not_between(2, 3)).select(n), [(1,), (5,)]),
    ("in", lambda t: t.where(n.in_(1, 2)).select(n), [(1,), (2,)]),
    ("if", lambda t: t.select(if_then_else(n > 2, "many", "few")), [("few",), ("few",), ("many",), ("many",)]),
    ("udf", lambda t: t.select(twice(n)), [(2,), (4,), (6,), (10,)]),
    ("group", lambda t: t.group_by(name).select(name, n.sum, n.count), [("Ann", 9, 3), ("Bob", 2, 1)]),
    ("all rows", lambda t: t.select(n.max - n.min, name.count.distinct), [(4, 2)]),
    ("computed key", lambda t: t.group_by((n % 2).alias("k")).select(col("k"), n.sum.alias("s")), [(0, 2), (1, 9)]),
    ("distinct", lambda t: t.select(name).distinct(), [("Ann",), ("Bob",)]),
    ("twice", lambda t: t.group_by(name).select(n.sum.alias("s")).select(col("s").max), [(9,)]),
    (
        "lateral",
        lambda t: t.where(n == 2).join_lateral(letters(name).alias("c")).select(col("c")),
        [("B",), ("o",), ("b",)],
    ),
    ("flat_map", lambda t: t.where(n == 2).flat_map(letters(name)), [("B",), ("o",), ("b",)]),
    ("union", lambda t: t.select(n).union_all(t.select(n).where(n == 1)), [(1,), (1,), (2,), (3,), (5,)]),
    ("minus", lambda t: t.select(name).minus(t.where(n == 2).select(name)), [("Ann",)]),
    (
        "join",
        lambda t: t.join(t.select(name.alias("who"), n.alias("m")), (name == col("who")) & (n < col("m"))).select(
            n, col("m")
        ),
        [(1, 3), (1, 5), (3, 5)],
    ),
    ("top", lambda t: t.select(n).order_by(n.desc).fetch(2), [(5,), (3,)]),
    ("in a table", lambda t: t.where(n.in_(t.where(name == "Bob").select(n))).select(name), [("Bob",)]),
    ("not in a table", lambda t: t.where(not_(n.in_(t.where(name == "Bob").select(n)))).select(n), [(1,), (3,), (5,)]),
    (
        "left join",
        lambda t: t.left_outer_join(t.where(n == 1).select(name.alias("who")), name == col("who")).select(
            n, col("who")
        ),
        [(1, "Ann"), (2, None), (3, "Ann"), (5, "Ann")],
    ),
    ("intersect", lambda t: t.select(name).intersect(t.select(name)), [("Ann",), ("Bob",)]),
    ("map", lambda t: t.map(pair(n)), [(1, "1"), (2, "2"), (3, "3"), (5, "5")]),
    (
        "flat aggregate",
        lambda t: t.group_by(name).flat_aggregate(top(n).alias("m")).select(name, col("m")),
        [("Ann", 5), ("Ann", 3), ("Bob", 2)],
    ),
    (
        "row aggregate",
        lambda t: t.group_by(name).aggregate(extremes(n)).select(name, col("low"), col("high")),
        [("Ann", 1, 5), ("Bob", 2, 2)],
    ),
    ("distinct udaf", lambda t: t.group_by(name).select(call(extremes, n).low), [(1,), (2,)]),
    (
        "tumble",
        lambda t: t.window(tumble).group_by(w, name).select(name, w.start, n.sum),
        [("Ann", AT, 4), ("Bob", AT, 2), ("Ann", minutes(10), 5)],
    ),
    (
        "slide",
        lambda t: t.window(slide).group_by(w).select(w.end, n.sum.alias("s")),
        [(minutes(5), 6), (minutes(10), 6), (minutes(15), 5), (minutes(20), 5)],
    ),
    (
        "session",
        lambda t: t.window(session).group_by(w, name).select(name, w.start, w.end, n.count),
        [("Ann", AT, minutes(9), 2), ("Bob", minutes(1), minutes(6), 1), ("Ann", minutes(11), minutes(16), 1)],
    ),
    (
        "over",
        lambda t: t.over_window(everything).select(name, n.sum.over(w), n),
        [("Ann", 1, 1), ("Bob", 2, 2), ("Ann", 4, 3), ("Ann", 9, 5)],
    ),
    (
        "over rows",
        lambda t: t.over_window(two).select(n, n.sum.over(w)),
        [(1, 1), (2, 2), (3, 4), (5, 8)],
    ),
    (
        "pandas aggregate",
        lambda t: t.group_by(name).select(name, call(largest, n)),
        [("Ann", 5), ("Bob", 2)],
    ),
]


@pytest.mark.parametrize(("program", "rows"), [each[1:] for each in PROGRAMS], ids=[each[0] for each in PROGRAMS])
def test_final_result(clicks: Table, program: Callable[[Table], Table], rows: list[tuple[Any, ...]]) -> None:
    assert final(changelog(program(clicks)._plan)) == Counter(rows)


def test_windows_of_rows(t_env: TableEnvironment, clicks: Table) -> None:
    """What is not full at the end gives no row."""
    t_env.execute_sql(
        "CREATE TABLE arriving (name STRING, n INT, at AS PROCTIME()) "
        "WITH ('connector' = 'values', 'data-id' = 'clicks')"
    )
    arriving = t_env.from_path("arriving")
    pairs = arriving.window(Tumble.over(row_interval(2)).on(col("at")).alias("w"))
    assert final(changelog(pairs.group_by(w, name).select(name, n.sum)._plan)) == Counter([("Ann", 4)])
    overlapping = arriving.window(Slide.over(row_interval(3)).every(row_interval(1)).on(col("at")).alias("w"))
    assert final(changelog(overlapping.group_by(w).select(n.count, n.min)._plan)) == Counter([(3, 1), (3, 2)])


def test_from_a_source_into_a_sink(t_env: TableEnvironment) -> None:
    t_env.execute_sql(
        "CREATE TABLE numbers (n INT, text STRING) WITH ('connector' = 'datagen', 'fields.n.kind' = 'sequence', "
        "'fields.n.start' = '1', 'fields.n.end' = '20', 'rows-per-second' = '100000')"
    )
    t_env.execute_sql("CREATE TABLE sums (k INT, s INT, PRIMARY KEY (k) NOT ENFORCED) WITH ('connector' = 'values')")
    numbers = t_env.from_path("numbers")
    grouped = numbers.group_by((n % 2).alias("odd")).select(col("odd"), n.sum)
    plans = [grouped.insert_into("sums")._plan]
    environment = StreamExecutionEnvironment()
    add_to_program([optimise_streaming(plan, Surroundings(1)) for plan in plans], environment._program, Options())
    run_locally(environment)
    written = results_of("default_catalog.default_database.sums")
    clear_values()
    assert {tuple(row) for row in remaining(written)} == {(1, 100), (0, 110)}
    assert {row.get_row_kind() for row in written} >= {RowKind.INSERT}
