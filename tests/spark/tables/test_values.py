"""Values of every type come through unchanged: as rows, as literals in SQL text, through Python and back."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from tests.spark.tables.conftest import Run
from tests.spark.tables.plans import INT, INTERVAL, STRING, fn, lit, project, rows_of, values

from millrace.common.types import Row
from millrace.relational import nodes as n
from millrace.relational import types as t
from millrace.relational.rex import Literal, Ref, Rex
from millrace.spark.tables.execute import batch_context, collect
from millrace.spark.tables.nodes.leaves import values as values_frame
from millrace.spark.tables.steps.computed import behind, columns_task, in_a_struct, types_of
from millrace.spark.tables.steps.context import Context
from millrace.spark.tables.steps.parts import Part, Picked, numbered
from millrace.spark.tables.steps.spark_types import as_internal

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

UTC = dt.timezone.utc
LTZ = t.LocalZonedTimestampType(6)
MONTHS = t.YearMonthIntervalType(t.YearMonthIntervalType.YearMonthResolution.MONTH)
ROW = t.RowType([t.RowField("x", INT), t.RowField("a b`c", t.ArrayType(t.TimeType(6)))])


def named(*fields: Any) -> Row:
    row = Row(*fields)
    row.set_field_names(ROW.names)
    return row


VALUES: list[tuple[t.DataType, Any]] = [
    (t.BooleanType(), True),
    (t.TinyIntType(), -128),
    (t.SmallIntType(), 32767),
    (t.IntType(), -(2**31)),
    (t.BigIntType(), -(2**63)),
    (t.FloatType(), 0.5),
    (t.DoubleType(), 1e300),
    (t.DoubleType(), -math.inf),
    (t.DecimalType(38, 0), Decimal(10**38 - 1)),
    (t.DecimalType(38, 38), Decimal("-0." + "9" * 38)),
    (t.CharType(3), "a'b"),
    (STRING, "\\n'\"\n\t\0${spark.x} 雪 \U0001f600 %"),
    (STRING, ""),
    (t.VarBinaryType(10), b"\x00\xff'"),
    (t.DateType(), dt.date(1, 1, 1)),
    (t.DateType(), dt.date(9999, 12, 31)),
    (t.DateType(), dt.date(1582, 10, 10)),
    (t.TimeType(6), dt.time(23, 59, 59, 999999)),
    (t.TimeType(0), dt.time(0, 0)),
    (t.TimestampType(6), dt.datetime(1, 1, 1)),
    (t.TimestampType(6), dt.datetime(9999, 12, 31, 23, 59, 59, 999999)),
    (t.TimestampType(6), dt.datetime(1969, 12, 31, 23, 59, 59, 999999)),
    (LTZ, dt.datetime(1969, 12, 31, 23, 59, 59, 999999, UTC)),
    (LTZ, dt.datetime(2021, 3, 28, 1, 30, tzinfo=UTC)),
    (MONTHS, -13),
    (INTERVAL, dt.timedelta(days=-3, microseconds=1)),
    (INTERVAL, dt.timedelta(microseconds=-1)),
    (INTERVAL, dt.timedelta(days=99, hours=23, minutes=59, seconds=59, microseconds=999999)),
    (t.ArrayType(INT), [1, None, -3]),
    (t.ArrayType(t.ArrayType(STRING)), [[], None, ["x"]]),
    (t.MapType(STRING, t.DecimalType(5, 2)), {"a": Decimal("1.50"), "b": None}),
    (t.MapType(INT, LTZ), {1: dt.datetime(2020, 7, 1, tzinfo=UTC)}),
    (t.MultisetType(t.DateType()), {dt.date(2020, 2, 29): 2}),
    (ROW, named(7, [dt.time(1, 2, 3), None])),
    (ROW, named(None, None)),
    (t.ArrayType(ROW), [named(1, []), None]),
    (t.RawType(), {"any": {"thing", 1}}),
    (t.VariantType(), '{"a": 1}'),
]
COLUMNS = {f"x{index}": kind for index, (kind, _) in enumerate(VALUES)}
TABLE = values(COLUMNS, tuple(value for _, value in VALUES), (None,) * len(VALUES))
PLAIN = [tuple(value for _, value in VALUES), (None,) * len(VALUES)]
ONE = values({"one": INT}, (1,))


def same(found: list[tuple[Any, ...]], expected: list[tuple[Any, ...]]) -> None:
    assert len(found) == len(expected)
    for row, wanted in zip(found, expected):
        for (kind, _), value, want in zip(VALUES, row, wanted):
            assert value == want, str(kind)


@pytest.fixture(scope="module", params=["UTC", "America/New_York"])
def zoned(request: pytest.FixtureRequest, spark: SparkSession) -> Context:
    return batch_context(spark, zone=request.param)


def rows(plan: n.Rel, context: Context) -> list[tuple[Any, ...]]:
    return rows_of(collect(plan, context), plan)


def test_rows_come_through(zoned: Context) -> None:
    same(rows(TABLE, zoned), PLAIN)


def test_literals_come_through(zoned: Context) -> None:
    literals = {name: Literal(kind, value) for (name, kind), (_, value) in zip(COLUMNS.items(), VALUES)}
    nulls = {name: Literal(kind, None) for name, kind in COLUMNS.items()}
    branches = (project(ONE, **literals), project(ONE, **nulls))
    same(rows(n.SetOp("UNION", True, branches, TABLE.columns), zoned), PLAIN)


@pytest.mark.parametrize("way", [in_a_struct, behind])
def test_python_sees_and_gives_every_type(zoned: Context, way: Any) -> None:
    references: list[Rex] = [Ref(kind, index) for index, kind in enumerate(COLUMNS.values())]
    part = Part.of_frame(values_frame(TABLE, [], zoned))
    if way is behind:
        part = part.in_python(Picked(tuple(range(len(COLUMNS)))), part.frame.schema, partial(zoned.ship, what="all"))
    made, names = way(part, *columns_task(references, types_of(TABLE.columns), zoned), zoned)
    found = made.select(numbered(names)).frame.toArrow()
    parts = [as_internal(part, kind) for part, kind in zip(found.columns, COLUMNS.values())]
    table = found.from_arrays(parts, names=list(COLUMNS))
    same(rows_of(table, TABLE), PLAIN)


def test_results_have_the_names_of_the_plan(context: Context) -> None:
    plan = n.Project(ONE, (Ref(INT, 0), Ref(INT, 0)), (n.Field("a b", INT), n.Field("a b", INT)))
    assert collect(plan, context).column_names == ["a b", "a b"]


def test_rows_without_columns_have_a_number(run: Run) -> None:
    assert run(n.Values((), ((), (), ()))) == [(), (), ()]
    assert run(project(n.Values((), ((),)), x=lit(1))) == [(1,)]


def test_local_time_is_that_of_the_session(zoned: Context) -> None:
    """Midnight in UTC is the evening before in New York."""
    plan = values({"ts": LTZ}, (dt.datetime(2020, 7, 1, tzinfo=UTC),))
    hour = 0 if zoned.surroundings.zone == "UTC" else 20
    computed = project(plan, a=fn("HOUR", Ref(LTZ, 0)), b=fn("DATE_FORMAT", Ref(LTZ, 0), lit("HH")))
    assert rows(computed, zoned) == [(hour, f"{hour:02d}")]


def test_the_users_session_is_left_alone(spark: SparkSession, context: Context) -> None:
    assert context.session.conf.get("spark.sql.ansi.enabled") == "false"
    assert spark.conf.get("spark.sql.ansi.enabled") == "true"
    assert spark.conf.get("spark.sql.caseSensitive") == "false"
