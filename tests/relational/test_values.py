"""Values between their Python form and Arrow."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest

from millrace.common.types import Row
from millrace.relational import types as t
from millrace.relational.type_table import arrow_type
from millrace.relational.values import to_arrow, to_arrow_scalar, to_python

INT, STRING = t.IntType(), t.string()
PAIR = t.RowType([t.RowField("a", INT), t.RowField("b", STRING)])
SPAN = t.DayTimeIntervalType(t.DayTimeIntervalType.DayTimeResolution.DAY_TO_SECOND)
MONTHS = t.YearMonthIntervalType(t.YearMonthIntervalType.YearMonthResolution.YEAR_TO_MONTH)


class Point(t.UserDefinedType):
    @classmethod
    def sql_type(cls) -> t.DataType:
        return t.ArrayType(t.DoubleType())

    def serialize(self, obj: Any) -> Any:
        return list(obj)

    def deserialize(self, datum: Any) -> Any:
        return tuple(datum)


SAME = [
    (t.BooleanType(), True),
    (t.TinyIntType(), -128),
    (t.BigIntType(), 2**63 - 1),
    (t.DoubleType(), 0.1),
    (t.DecimalType(5, 2), Decimal("1.25")),
    (STRING, "é😀"),
    (t.VarBinaryType(), b"\x00\xff"),
    (t.DateType(), dt.date(1, 1, 1)),
    (t.TimeType(3), dt.time(23, 59, 59, 999000)),
    (t.TimestampType(6), dt.datetime(9999, 12, 31, 23, 59, 59, 999999)),
    (t.LocalZonedTimestampType(3), dt.datetime(2020, 1, 2, tzinfo=dt.timezone.utc)),
    (MONTHS, -14),
    (SPAN, dt.timedelta(days=-1, microseconds=5)),
    (t.ArrayType(INT), [1, None]),
    (t.MapType(STRING, t.ArrayType(INT)), {"a": [1], "b": None}),
    (t.MultisetType(STRING), {"a": 2}),
    (PAIR, Row(a=1, b=None)),
    (t.ArrayType(PAIR), [Row(a=1, b="x"), None]),
    (t.RawType(), {"any": ("thing", 1)}),
    (Point(), (1.0, 2.0)),
]


@pytest.mark.parametrize("case", SAME, ids=str)
def test_a_value_comes_back_as_it_was(case: tuple[t.DataType, Any]) -> None:
    data_type, value = case
    column = to_arrow([value, None], data_type)
    assert column.type == arrow_type(data_type)
    assert to_python(column, data_type) == [value, None]
    assert to_arrow_scalar(None, data_type).as_py() is None


@dataclass
class Pair:
    a: int
    b: str


@pytest.mark.parametrize("value", [Row(1, "x"), Row(b="x", a=1), (1, "x"), [1, "x"], {"b": "x", "a": 1}, Pair(1, "x")])
def test_what_a_row_may_be_made_of(value: Any) -> None:
    assert to_python(to_arrow([value], PAIR), PAIR) == [Row(a=1, b="x")]


def test_a_row_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match=r"a row of 2 fields \(a, b\) cannot be made of \(1,\)"):
        to_arrow([(1,)], PAIR)


def test_decimals_are_rounded_to_their_type_and_null_beyond_it() -> None:
    numbers = [Decimal("1.255"), Decimal(7), 3, Decimal("1E+5")]
    found = to_python(to_arrow(numbers, t.DecimalType(5, 2)), t.DecimalType(5, 2))
    assert found == [Decimal("1.26"), Decimal("7.00"), Decimal("3.00"), None]
