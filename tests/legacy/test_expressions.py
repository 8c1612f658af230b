"""Expressions as text mean the same as today's."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from millrace.table import DataTypes, Table, TableEnvironment
from millrace.table.expressions import and_, call, col, concat, if_then_else, lit, not_, null_of, or_, row_interval
from millrace.util.exceptions import TableException

a, b = col("a"), col("b")
SAME: dict[str, Any] = {
    "a": a,
    "*": col("*"),
    "`a`": a,
    "a as c": a.alias("c"),
    "a.as(c)": a.alias("c"),
    "'x'": lit("x"),
    "'it''s'": lit("it's"),
    '"x"': lit("x"),
    "1.5e1": lit(15.0),
    "7L": lit(7, DataTypes.BIGINT()),
    "-7": lit(-7),
    "-a": -a,
    "true": lit(True),
    "a + b * 2 - 1": a + b * 2 - 1,
    "(a + b) * 2": (a + b) * 2,
    "a % 2 === 0": a % 2 == 0,
    "a = 1 || b <> 2 && a >= 3": or_(a == 1, and_(b != 2, a >= 3)),
    "!(a !== 1)": not_(a != 1),
    "a > 1 ? 'big' : 'small'": (a > 1).then("big", "small"),
    "(a > 1).?('big', 'small')": (a > 1).then("big", "small"),
    "if(a > 1, 'big', 'small')": if_then_else(a > 1, "big", "small"),
    "a.sum": a.sum,
    "a.sum()": a.sum,
    "a.count.distinct": a.count.distinct,
    "a.cast(LONG)": a.cast(DataTypes.BIGINT()),
    "cast(a, DECIMAL(10, 2))": a.cast(DataTypes.DECIMAL(10, 2)),
    "a.cast(OBJECT_ARRAY(STRING))": a.cast(DataTypes.ARRAY(DataTypes.STRING())),
    "nullOf(INT)": null_of(DataTypes.INT()),
    "10.minutes": lit(10).minutes,
    "1.day + 3.hours": lit(1).days + lit(3).hours,
    "5.rows": row_interval(5),
    "a.isNull": a.is_null,
    "a.in(1, 2)": a.in_(1, 2),
    "a.upperCase().like('A%')": a.upper_case.like("A%"),
    "charLength(a)": a.char_length,
    "concat(a, b)": concat(a, b),
    "count(1)": call("count", 1),
    "add(a, b)": call("add", a, b),
    "a.add(b)": call("add", a, b),
    "w.start": col("w").start,
    "a.name": a.get("name"),
    "a.sum over w": a.sum.over(col("w")),
    "a.sum.over(w)": a.sum.over(col("w")),
    "a.desc": a.desc,
    "'a + 1": a + 1,
}


@pytest.fixture
def read(told: list[warnings.WarningMessage]) -> Any:
    from millrace.legacy.text_expressions import read_expressions

    return read_expressions


@pytest.mark.parametrize("text", SAME)
def test_a_text_is_an_expression(read: Any, text: str) -> None:
    (found,) = read(text)
    assert found._node == SAME[text]._node


def test_commas_separate(read: Any) -> None:
    found = read("a, count(1) as c,b.max")
    assert [str(each) for each in found] == [str(a), str(call("count", 1).alias("c")), str(b.max)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a +", "at character 4 is its end, not a column, a constant or a function"),
        ("a b", "at character 3 is 'b', not the end, or a comma"),
        ("f(a", "at character 4 is its end, not ')'"),
        ("a # b", "cannot be read at character 3"),
        ("a as 1", "at character 6 is '1', not a name"),
    ],
)
def test_what_cannot_be_read_is_shown(read: Any, text: str, message: str) -> None:
    with pytest.raises(TableException) as caught:
        read(text)
    assert message in str(caught.value)


def test_windows_of_texts(told: list[warnings.WarningMessage]) -> None:
    from pyflink.table.window import Over, Tumble  # type: ignore[import-not-found]

    from millrace.table import EnvironmentSettings

    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.execute_sql(
        "CREATE TABLE clicks (`user` STRING, n INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) "
        "WITH ('connector' = 'datagen')"
    )
    clicks: Any = t_env.from_path("clicks")
    tumbled = clicks.window(Tumble.over("10.minutes").on("ts").alias("w"))
    grouped = tumbled.group_by("w, user").select("user, w.start, w.end as e, n.sum as s")
    today = clicks.window(Tumble.over(lit(10).minutes).on(col("ts")).alias("w")).group_by(col("w"), col("user"))
    expected = today.select(col("user"), col("w").start, col("w").end.alias("e"), col("n").sum.alias("s"))
    assert _plan(grouped) == _plan(expected)
    over = Over.partition_by("user").order_by("ts").preceding("2.rows").alias("w")
    found = clicks.over_window(over).select("user, n.sum over w as s")
    over = Over.partition_by(col("user")).order_by(col("ts")).preceding(row_interval(2)).alias("w")
    assert _plan(found) == _plan(clicks.over_window(over).select(col("user"), col("n").sum.over(col("w")).alias("s")))


def _plan(table: Table) -> Any:
    return table._plan
