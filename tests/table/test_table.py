"""Methods of Table: which plan they make."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from millrace.relational.rules.plan_text import plan_text
from millrace.table import DataTypes, Table, TableEnvironment
from millrace.table.expressions import (
    CURRENT_ROW,
    UNBOUNDED_RANGE,
    UNBOUNDED_ROW,
    call,
    call_sql,
    col,
    lag,
    lit,
    range_,
    row_interval,
    with_columns,
    without_columns,
)
from millrace.table.udf import udaf, udf, udtf
from millrace.table.window import GroupWindow, Over, Session, Slide, Tumble
from millrace.util.exceptions import TableException

VALUES = "Values((1, 'Ann', 1.0E1), (2, 'Bob', 2.0E1))"

split = udtf(lambda text: text.split(), result_types=["STRING", "INT"])
upper = udf(lambda text: text.upper(), result_type="STRING", name="upper")
both = udf(lambda row: row, result_type="ROW<x INT, y STRING>", name="both")
mean = udaf(lambda values: values.mean(), result_type="DOUBLE", func_type="pandas", name="mean")


def shape(table: Table) -> list[str]:
    """The nodes from the top down to the values."""
    lines = [line.strip() for line in plan_text(table._plan).splitlines()]
    assert lines[-1].startswith("Values(") or "Scan" in lines[-1]
    return lines[:-1]


PLANS: list[tuple[str, Callable[[Table], Table], list[str], list[str]]] = [
    # what, the method, names of columns, nodes above the values
    (
        "select",
        lambda t: t.select(col("name"), col("id") + 1),
        ["name", "_c1"],
        ["Project(name, (id + CAST(1 AS BIGINT NOT NULL)) AS _c1)"],
    ),
    ("star", lambda t: t.select(col("*")), ["id", "name", "paid"], []),
    ("range", lambda t: t.select(with_columns(range_("name", "paid"))), ["name", "paid"], ["Project(name, paid)"]),
    ("positions", lambda t: t.select(with_columns(range_(1, 2), 3)), ["id", "name", "paid"], []),
    ("without", lambda t: t.select(without_columns(col("id"))), ["name", "paid"], ["Project(name, paid)"]),
    (
        "cast's name",
        lambda t: t.select(col("id").cast(DataTypes.INT())),
        ["id-INT"],
        ["Project(CAST(id AS INT) AS id-INT)"],
    ),
    ("alias", lambda t: t.alias("a", "b"), ["a", "b", "paid"], ["Project(id AS a, name AS b, paid)"]),
    (
        "add",
        lambda t: t.add_columns(lit(1).alias("one")),
        ["id", "name", "paid", "one"],
        ["Project(id, name, paid, 1 AS one)"],
    ),
    (
        "replace",
        lambda t: t.add_or_replace_columns(lit(1).alias("id")),
        ["id", "name", "paid"],
        ["Project(1 AS id, name, paid)"],
    ),
    (
        "rename",
        lambda t: t.rename_columns(col("id").alias("key")),
        ["key", "name", "paid"],
        ["Project(id AS key, name, paid)"],
    ),
    ("drop", lambda t: t.drop_columns(col("id"), col("name")), ["paid"], ["Project(paid)"]),
    (
        "filter",
        lambda t: t.filter(col("id") > 1),
        ["id", "name", "paid"],
        ["Filter((id > CAST(1 AS BIGINT NOT NULL)))"],
    ),
    ("sql", lambda t: t.where(call_sql("name = 'Ann'")), ["id", "name", "paid"], ["Filter((name = 'Ann'))"]),
    ("distinct", lambda t: t.select(col("name")).distinct(), ["name"], ["Aggregate(keys=[name])", "Project(name)"]),
    ("order", lambda t: t.order_by(col("id").desc, col("name")), ["id", "name", "paid"], ["Sort(id DESC, name)"]),
    ("limit", lambda t: t.order_by(col("id")).limit(3, 1), ["id", "name", "paid"], ["Sort(id, offset=1, fetch=3)"]),
    ("fetch", lambda t: t.fetch(3), ["id", "name", "paid"], ["Sort(fetch=3)"]),
    (
        "group",
        lambda t: t.group_by(col("name")).select(col("name"), col("paid").sum),
        ["name", "EXPR$0"],
        ["Project(name, agg0 AS EXPR$0)", "Aggregate(keys=[name], SUM(paid))"],
    ),
    (
        "all rows",
        lambda t: t.select(col("id").count, col("id").max + 1),
        ["EXPR$0", "_c1"],
        ["Project(agg0 AS EXPR$0, (agg1 + CAST(1 AS BIGINT NOT NULL)) AS _c1)", "Aggregate(COUNT(id), MAX(id))"],
    ),
    (
        "computed key",
        lambda t: t.group_by((col("id") % 2).alias("k")).select(col("k"), call("COUNT", col("id"))),
        ["k", "EXPR$0"],
        [
            "Project(k, agg0 AS EXPR$0)",
            "Aggregate(keys=[$key0], COUNT(id))",
            "Project(id, name, paid, (id % CAST(2 AS BIGINT NOT NULL)) AS $key0)",
        ],
    ),
    (
        "distinct sum",
        lambda t: t.select(col("id").sum.distinct.alias("s")),
        ["s"],
        ["Project(agg0 AS s)", "Aggregate(SUM(DISTINCT id))"],
    ),
    (
        "shared aggregate",
        lambda t: t.select(col("id").sum.alias("s"), (col("id").sum + col("id").sum).alias("t")),
        ["s", "t"],
        ["Project(agg0 AS s, (agg0 + agg0) AS t)", "Aggregate(SUM(id))"],
    ),
    (
        "aggregate",
        lambda t: t.group_by(col("name")).aggregate(mean(col("paid")).alias("m")).select(col("name"), col("m")),
        ["name", "m"],
        ["Project(name, agg0 AS m)", "PythonGroupAggregate(groupBy=[name], select=[name, mean(paid) AS agg0])"],
    ),
    ("map", lambda t: t.map(both(col("id"))), ["x", "y"], ["PythonCalc(select=[both(id).x AS x, both(id).y AS y])"]),
    (
        "map of a row",
        lambda t: t.map(both).alias("a", "b"),
        ["a", "b"],
        [
            "Project(x AS a, y AS b)",
            "PythonCalc(select=[both(ROW(id, name, paid)).x AS x, both(ROW(id, name, paid)).y AS y])",
        ],
    ),
    (
        "flat_map",
        lambda t: t.flat_map(split(col("name"))).alias("w"),
        ["w", "f1"],
        ["Project(f0 AS w, f1)", "Project(f0, f1)", "Correlate(INNER, <lambda>(name), produces=[f0, f1])"],
    ),
    (
        "lateral",
        lambda t: t.left_outer_join_lateral(split(col("name")).alias("w", "n")),
        ["id", "name", "paid", "w", "n"],
        ["Correlate(LEFT, <lambda>(name), produces=[w, n])"],
    ),
    ("udf", lambda t: t.select(upper(col("name")).alias("u")), ["u"], ["PythonCalc(select=[upper(name) AS u])"]),
]


@pytest.mark.parametrize(("method", "names", "nodes"), [each[1:] for each in PLANS], ids=[each[0] for each in PLANS])
def test_plans(people: Table, method: Callable[[Table], Table], names: list[str], nodes: list[str]) -> None:
    table = method(people)
    assert table.get_schema().get_field_names() == names
    assert shape(table) == nodes


def test_types_of_aggregates(people: Table) -> None:
    grouped = people.group_by(col("name")).select(col("id").count.alias("n"), col("paid").avg.alias("m"))
    kinds = [str(kind) for kind in grouped.get_schema().get_field_data_types()]
    assert kinds == ["BIGINT NOT NULL", "DOUBLE"]


@pytest.mark.parametrize(
    ("method", "kind"),
    [("join", "INNER"), ("left_outer_join", "LEFT"), ("right_outer_join", "RIGHT"), ("full_outer_join", "FULL")],
)
def test_joins(people: Table, method: str, kind: str) -> None:
    right = people.select(col("id").alias("key"))
    joined = getattr(people, method)(right, col("id") == col("key"))
    assert shape(joined)[0] == f"Join({kind}, (id = key))"
    nullable = [column.type.is_nullable for column in joined._plan.schema]
    assert nullable == [True] * 4


@pytest.mark.parametrize(
    ("method", "text"),
    [
        ("union", "SetOp(UNION)"),
        ("union_all", "SetOp(UNION ALL)"),
        ("intersect", "SetOp(INTERSECT)"),
        ("intersect_all", "SetOp(INTERSECT ALL)"),
        ("minus", "SetOp(EXCEPT)"),
        ("minus_all", "SetOp(EXCEPT ALL)"),
    ],
)
def test_set_operations(people: Table, method: str, text: str) -> None:
    found = getattr(people, method)(people.alias("a", "b", "c"))
    kind, keep = found._plan.kind, found._plan.all
    assert f"SetOp({kind}{' ALL' if keep else ''})" == text
    assert found._plan.names == ["id", "name", "paid"]


def test_in_a_table(people: Table) -> None:
    found = people.where(col("id").in_(people.select(col("id"))))
    assert shape(found)[0].startswith("Join(SEMI")
    assert found._plan.names == people._plan.names


WINDOWS = [
    (Tumble.over(lit(10).minutes).on(col("ts")).alias("w"), "TUMBLE", 600_000, None),
    (Slide.over(lit(10).minutes).every(lit(30).seconds).on(col("ts")).alias("w"), "HOP", 600_000, 30_000),
    (Session.with_gap(lit(2).hours).on(col("ts")).alias("w"), "SESSION", 7_200_000, None),
]


@pytest.mark.parametrize(("window", "kind", "size", "slide"), WINDOWS)
def test_group_windows(clicks: Table, window: Any, kind: str, size: int, slide: int | None) -> None:
    w = col("w")
    table = (
        clicks.window(window)
        .group_by(w, col("user"))
        .select(w.end.alias("end"), col("user"), w.rowtime.alias("rt"), w.start.alias("start"), col("n").sum.alias("s"))
    )
    node = table._plan.input
    assert (node.window.kind, node.window.size, node.window.slide) == (kind, size, slide)
    assert node.properties == ("END", "ROWTIME", "START")
    assert str(table.get_resolved_schema()) == (
        "(\n  `end` TIMESTAMP(3) NOT NULL,\n  `user` STRING,\n  `rt` TIMESTAMP(3) NOT NULL *ROWTIME*,\n"
        "  `start` TIMESTAMP(3) NOT NULL,\n  `s` INT\n)"
    )


ROW_WINDOWS: list[tuple[GroupWindow, str]] = [
    (Tumble.over(row_interval(2)).on(col("ts")).alias("w"), "is over PROCTIME() in streaming mode"),
    (Tumble.over(row_interval(0)).on(col("pt")).alias("w"), "a window of 0 rows: its size and slide"),
    (
        Slide.over(row_interval(2)).every(lit(1).minutes).on(col("pt")).alias("w"),
        "begins again every so many rows, as in row_interval(5)",
    ),
    (Session.with_gap(row_interval(2)).on(col("pt")).alias("w"), "the gap of a session is a span of time"),
    (Tumble.over(row_interval(2)).on(col("pt")).alias("w"), "a window of rows has no start, end or time"),
]


@pytest.mark.parametrize(("window", "message"), ROW_WINDOWS, ids=[message for _, message in ROW_WINDOWS])
def test_windows_of_rows_that_cannot_be(clicks: Table, window: GroupWindow, message: str) -> None:
    with pytest.raises(TableException, match=re.escape(message)):
        clicks.window(window).group_by(col("w")).select(col("w").start)


def test_over_windows(clicks: Table) -> None:
    partitioned = Over.partition_by(col("user")).order_by(col("ts"))
    rows = partitioned.preceding(row_interval(2)).following(CURRENT_ROW).alias("rows")
    times = partitioned.preceding(UNBOUNDED_RANGE).alias("times")
    everything = Over.order_by(col("ts")).preceding(UNBOUNDED_ROW).alias("all")
    table = clicks.over_window(rows, times, everything).select(
        col("user"),
        col("n").sum.over(col("rows")).alias("a"),
        (col("n").max.over(col("times")) + 1).alias("b"),
        lag(col("n")).over(col("rows")).alias("c"),
        col("n").count.over("all").alias("d"),
    )
    overs = [line for line in shape(table) if line.startswith("Over")]
    assert len(overs) == 3
    assert "SUM(n) ROWS BETWEEN 2 PRECEDING AND CURRENT ROW" in overs[2]
    assert "partition" not in overs[0]
    assert table._plan.names == ["user", "a", "b", "c", "d"]


def test_tables_are_names_in_sql(people: Table, t_env: TableEnvironment) -> None:
    assert t_env.sql_query(f"SELECT name FROM {people}").get_schema().get_field_names() == ["name"]


ERRORS: list[tuple[Callable[[Table], Any], str]] = [
    (lambda t: t.select(col("nam")), "unknown column 'nam', did you mean 'name'?"),
    (lambda t: t.select(col("x")), "unknown column 'x' (columns: id, name, paid)"),
    (lambda t: t.select(col("id"), col("id")), "two columns are called 'id'"),
    (lambda t: t.filter(col("id")), "id: a condition needs a BOOLEAN, and this is BIGINT"),
    (lambda t: t.select(call("UPER", col("name"))), "unknown function UPER(), did you mean 'UPPER'?"),
    (
        lambda t: t.filter(col("id").sum > 1),
        "sum(id): aggregate function SUM is not allowed in a condition: aggregates stand in select",
    ),
    (lambda t: t.group_by(col("id")).select(col("name")), "column 'name' is neither a key of the grouping nor"),
    (lambda t: t.join(t, col("id") == 1), "both sides of the join have id, name, paid"),
    (lambda t: t.union(t.select(col("id"))), "UNION of tables with 3 and 1 columns"),
    (lambda t: t.drop_columns(col("id"), col("name"), col("paid")), "leaves no column"),
    (lambda t: t.rename_columns(col("id")), "rename_columns takes col('old').alias('new')"),
    (lambda t: t.select(split(col("name"))), "a table function: use join_lateral or flat_map"),
    (lambda t: t.flat_map(upper(col("name"))), "upper(name) is no table function"),
    (lambda t: t.window(WINDOWS[0][0]).group_by(col("w")), "unknown column 'ts'"),
    (lambda t: t.window(WINDOWS[0][0]).group_by(col("id")), "group_by must name the window 'w'"),
    (lambda t: t.execute_insert("nowhere"), "there is no table nowhere to insert into"),
]


@pytest.mark.parametrize(("program", "message"), ERRORS, ids=[message for _, message in ERRORS])
def test_errors_name_the_line(people: Table, program: Callable[[Table], Any], message: str) -> None:
    with pytest.raises(TableException) as raised:
        program(people)
    assert message in str(raised.value)
    assert str(raised.value).startswith(f"{__file__}:")


id_, name = col("id"), col("name")
PYFLINK_NAMES: list[tuple[Callable[[Table], Table], list[str]]] = [
    (lambda t: t.group_by(name).select(name, id_.sum + 1, id_.max), ["name", "_c1", "EXPR$1"]),
    (lambda t: t.group_by(name).select(id_.max + id_.sum, id_.sum, id_.max.alias("m")), ["_c0", "EXPR$1", "m"]),
    (lambda t: t.group_by(name).select(name.upper_case, id_.sum.alias("x"), id_.max), ["_c0", "x", "EXPR$1"]),
    (lambda t: t.group_by(name).select(id_.sum.cast(DataTypes.INT()), id_.min), ["EXPR$0-INT", "EXPR$1"]),
    (lambda t: t.map(udf(lambda row: 1, result_type="INT")), ["f0"]),
]


@pytest.mark.parametrize(("method", "names"), PYFLINK_NAMES, ids=[", ".join(names) for _, names in PYFLINK_NAMES])
def test_columns_without_name_are_called_as_in_pyflink(
    people: Table, method: Callable[[Table], Table], names: list[str]
) -> None:
    assert method(people).get_schema().get_field_names() == names
