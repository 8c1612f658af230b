"""Types of aggregate calls, as Flink infers them, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from millrace.relational import types as t
from millrace.relational.functions.aggregates.registry import (
    accumulation,
    aggregate_call,
    aggregate_names,
    find_aggregate,
    infer_aggregate,
)
from millrace.relational.functions.registry import SignatureError
from millrace.relational.rex import Call, Literal, Ref
from millrace.relational.types import DataType

INT, BIGINT, DOUBLE, TEXT = t.IntType(), t.BigIntType(), t.DoubleType(), t.VarCharType(10)


def of(*types: DataType) -> list[Ref]:
    return [Ref(each, index) for index, each in enumerate(types)]


TYPED: list[tuple[str, list[DataType], str]] = [
    ("COUNT", [], "BIGINT NOT NULL"),
    ("COUNT", [TEXT], "BIGINT NOT NULL"),
    ("COUNT", [TEXT, INT], "BIGINT NOT NULL"),
    ("SUM", [t.TinyIntType()], "TINYINT"),
    ("SUM", [INT], "INT"),
    ("SUM", [t.IntType(False)], "INT NOT NULL"),
    ("SUM", [t.FloatType()], "FLOAT"),
    ("SUM", [t.DecimalType(10, 2)], "DECIMAL(38, 2)"),
    ("$SUM0", [INT], "INT NOT NULL"),
    ("AVG", [INT], "INT"),
    ("AVG", [DOUBLE], "DOUBLE"),
    ("AVG", [t.DecimalType(10, 2)], "DECIMAL(38, 6)"),
    ("AVG", [t.DecimalType(20, 8)], "DECIMAL(38, 8)"),
    ("MIN", [TEXT], "VARCHAR(10)"),
    ("MAX", [t.TimestampType(3)], "TIMESTAMP(3)"),
    ("VAR_POP", [DOUBLE], "DOUBLE"),
    ("VARIANCE", [t.DoubleType(False)], "DOUBLE"),
    ("STDDEV_SAMP", [INT], "INT"),
    ("FIRST_VALUE", [t.ArrayType(INT)], "ARRAY<INT>"),
    ("LAST_VALUE", [TEXT], "VARCHAR(10)"),
    ("COLLECT", [INT], "MULTISET<INT> NOT NULL"),
    ("ARRAY_AGG", [t.IntType(False)], "ARRAY<INT NOT NULL> NOT NULL"),
    ("LISTAGG", [TEXT], "STRING"),
    ("LISTAGG", [TEXT, TEXT], "STRING"),
    ("JSON_OBJECTAGG", [TEXT, INT], "VARCHAR(2000) NOT NULL"),
    ("JSON_ARRAYAGG", [DOUBLE], "VARCHAR(2000) NOT NULL"),
    ("PERCENTILE", [INT, DOUBLE], "DOUBLE"),
    ("PERCENTILE", [INT, t.ArrayType(t.DecimalType(2, 1)), INT], "ARRAY<DOUBLE>"),
    ("BITMAP_BUILD_AGG", [INT], "BITMAP"),
    ("BITMAP_BUILD_CARDINALITY_AGG", [INT], "BIGINT"),
    ("BITMAP_OR_AGG", [t.BitmapType()], "BITMAP"),
    ("BITMAP_AND_CARDINALITY_AGG", [t.BitmapType()], "BIGINT"),
]


@pytest.mark.parametrize(("name", "types", "expected"), TYPED)
def test_types(name: str, types: list[DataType], expected: str) -> None:
    assert str(infer_aggregate(name, of(*types)).result) == expected


REFUSED: list[tuple[str, list[DataType]]] = [
    ("SUM", [TEXT]),
    ("SUM", []),
    ("AVG", [t.BooleanType()]),
    ("MIN", [t.ArrayType(INT)]),
    ("LISTAGG", [INT]),
    ("PERCENTILE", [TEXT, DOUBLE]),
    ("PERCENTILE", [INT, TEXT]),
    ("PERCENTILE", [INT, DOUBLE, DOUBLE]),
    ("BITMAP_BUILD_AGG", [BIGINT]),
    ("BITMAP_OR_AGG", [INT]),
    ("JSON_ARRAYAGG", [t.MapType(INT, INT)]),
    ("JSON_OBJECTAGG", [TEXT, t.RawType()]),
]


@pytest.mark.parametrize(("name", "types"), REFUSED)
def test_refused(name: str, types: list[DataType]) -> None:
    with pytest.raises(SignatureError, match="takes"):
        infer_aggregate(name, of(*types))


def test_distinct_needs_an_argument() -> None:
    with pytest.raises(SignatureError, match="DISTINCT"):
        infer_aggregate("COUNT", [], distinct=True)


def test_unknown() -> None:
    assert find_aggregate("TOTAL") is None
    with pytest.raises(KeyError):
        aggregate_call("TOTAL", [])


def test_arguments_are_cast() -> None:
    call = aggregate_call("PERCENTILE", [Ref(INT, 0), Literal(t.DecimalType(2, 1, False), 1)])
    assert [arg.function for arg in call.args if isinstance(arg, Call)] == ["CAST", "CAST"]


def test_groups_that_may_be_empty() -> None:
    number = of(t.IntType(False))
    assert not aggregate_call("SUM", number).type.is_nullable
    assert aggregate_call("SUM", number, may_be_empty=True).type.is_nullable
    assert aggregate_call("SUM", number, filter=Literal(t.BooleanType(), True)).type.is_nullable
    assert not aggregate_call("COUNT", number, may_be_empty=True).type.is_nullable


def test_distinct_is_dropped_where_it_makes_no_difference() -> None:
    assert not aggregate_call("MAX", of(INT), distinct=True).distinct
    assert aggregate_call("SUM", of(INT), distinct=True).distinct


@pytest.mark.parametrize("retracts", [False, True])
def test_all_have_a_plan(retracts: bool) -> None:
    typed: dict[str, Any] = {}
    for name, types, _ in TYPED:
        typed.setdefault(name, types)
    for name in aggregate_names():
        described = find_aggregate(name)
        assert described is not None
        known = next((types for alias, types in typed.items() if find_aggregate(alias) is described), None)
        if known is not None:
            assert accumulation(aggregate_call(name, of(*known)), retracts) is not None
