"""Common types and implicit casts."""

from __future__ import annotations

import pytest

from millrace.relational import types as t
from millrace.relational.functions.cast_values import explicit_cast
from millrace.relational.functions.registry import cast_to, common_type
from millrace.relational.rex import Call, Literal, Ref

TINY, INT, BIG, FLOAT, DOUBLE = t.TinyIntType(), t.IntType(), t.BigIntType(), t.FloatType(), t.DoubleType()
DATE, STRING = t.DateType(), t.string()


def dec(precision: int, scale: int) -> t.DecimalType:
    return t.DecimalType(precision, scale)


# As Calcite's least restrictive types with Flink's type system.
COMMON = [
    ([INT, BIG], BIG),
    ([TINY, TINY], TINY),
    ([INT, FLOAT], FLOAT),
    ([FLOAT, DOUBLE], FLOAT),
    ([DOUBLE, FLOAT], DOUBLE),
    ([dec(10, 2), FLOAT], DOUBLE),
    ([dec(10, 2), INT], dec(12, 2)),
    ([dec(10, 2), dec(5, 4)], dec(12, 4)),
    ([dec(38, 0), dec(38, 38)], dec(38, 0)),
    ([t.CharType(2), t.CharType(2)], t.CharType(2)),
    ([t.CharType(1), t.CharType(3)], t.VarCharType(3)),
    ([t.CharType(5), t.VarCharType(3)], t.VarCharType(5)),
    ([t.BinaryType(1), t.BinaryType(3)], t.VarBinaryType(3)),
    ([DATE, t.TimestampType(3)], t.TimestampType(3)),
    ([t.TimestampType(6), t.LocalZonedTimestampType(3)], t.LocalZonedTimestampType(6)),
    ([t.TimeType(0), t.TimeType(3)], t.TimeType(3)),
    ([t.NullType(), INT], INT),
    ([t.ArrayType(INT), t.ArrayType(BIG)], t.ArrayType(BIG)),
    ([t.MapType(INT, INT), t.MapType(BIG, FLOAT)], t.MapType(BIG, FLOAT)),
    (
        [t.RowType([t.RowField("a", INT)]), t.RowType([t.RowField("b", BIG)])],
        t.RowType([t.RowField("a", BIG)]),
    ),
    ([INT, STRING], None),
    ([t.BooleanType(), INT], None),
    ([t.ArrayType(INT), t.ArrayType(STRING)], None),
    ([t.RowType([t.RowField("a", INT)]), t.RowType([])], None),
]


@pytest.mark.parametrize("case", COMMON, ids=str)
def test_common_types(case: tuple[list[t.DataType], t.DataType | None]) -> None:
    types, wanted = case
    assert common_type(types) == wanted


def test_a_common_type_is_nullable_if_one_of_the_types_is() -> None:
    assert common_type([INT.not_null(), BIG.not_null()]) == BIG.not_null()
    assert common_type([INT.not_null(), BIG]) == BIG


def test_an_expression_is_cast_only_to_another_type() -> None:
    column = Ref(INT.not_null(), 0)
    assert cast_to(column, INT) is column
    assert cast_to(column, BIG) == Call(BIG.not_null(), "CAST", (column,))
    assert cast_to(Literal(t.NullType(), None), BIG) == Literal(BIG, None)


@pytest.mark.parametrize(("value", "nullable"), [(9, False), (10, True)])
def test_a_number_that_a_decimal_does_not_hold_is_null(value: int, nullable: bool) -> None:
    constant = Literal(INT.with_nullable(False), value)
    assert explicit_cast(constant, dec(3, 2)).type == dec(3, 2).with_nullable(nullable)
    assert explicit_cast(Ref(INT.with_nullable(False), 0), dec(3, 2)).type.is_nullable
    assert explicit_cast(constant, dec(3, 2), attempt=True).type.is_nullable


@pytest.mark.parametrize("value", ["1.5", "no number", "10"])
def test_a_text_that_a_decimal_does_not_hold_fails(value: str) -> None:
    """So it is never NULL; with TRY_CAST it is."""
    constant = Literal(STRING.with_nullable(False), value)
    for given in (constant, Ref(STRING.with_nullable(False), 0)):
        assert explicit_cast(given, dec(3, 2)).type == dec(3, 2).with_nullable(False)
        assert explicit_cast(given, dec(3, 2), attempt=True).type.is_nullable
