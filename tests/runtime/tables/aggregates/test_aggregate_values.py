"""What aggregates compute: against DuckDB, the values of Flink's documentation, and plain Python."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
from pyroaring import BitMap
from tests.runtime.tables.table_runs import changes_of, check_table, element, harness, rows_of, run

from millrace.relational import types as t
from millrace.relational.functions.aggregates.registry import aggregate_call
from millrace.relational.nodes import WindowSpec
from millrace.relational.rex import AggCall, Literal, Ref
from millrace.relational.rows import DELETE
from millrace.relational.types import DataType
from millrace.runtime.failure import OperatorError
from millrace.runtime.tables.aggregates.group_aggregate import GroupAggregate
from millrace.runtime.tables.windows.window_config import WindowAggregate
from millrace.table.udf import AggregateFunction, udaf
from millrace.testing import EndInput

DOUBLE = t.DoubleType()


def value_of(call: AggCall, types: Sequence[DataType], rows: Sequence[tuple[Any, ...]], retracts: bool = False) -> Any:
    """The value of a call over all rows."""
    config = GroupAggregate(keys=(), key_types=(), calls=(call,), retracts=retracts)
    with harness(config) as operator:
        operator.process_element(rows_of([(0, row) for row in rows], types))
        operator.end_epoch()
        ((_, (found,)),) = changes_of(operator.values)
    return found


def aggregated(name: str, data_type: DataType, values: Sequence[Any], **settings: Any) -> Any:
    return value_of(aggregate_call(name, (Ref(data_type, 0),), **settings), [data_type], [(each,) for each in values])


NUMBERS = [3.5, -1.25, None, 10.0, 7.75, 3.5]
DUCKDB = {
    "SUM": "sum", "AVG": "avg", "MIN": "min", "MAX": "max", "VAR_POP": "var_pop", "VAR_SAMP": "var_samp",
    "STDDEV_POP": "stddev_pop", "STDDEV_SAMP": "stddev_samp", "COUNT": "count",
}  # fmt: skip


def by_duckdb(query: str) -> tuple[Any, ...]:
    """The only row of a query, on a connection of its own: a result of others may be open on the common one."""
    with duckdb.connect() as connection:
        [row] = connection.sql(query).fetchall()
    return tuple(row)


@pytest.mark.parametrize("name", DUCKDB)
@pytest.mark.parametrize("distinct", [False, True])
def test_numbers_as_duckdb(name: str, distinct: bool) -> None:
    rows = ", ".join(f"({'NULL' if each is None else each}::DOUBLE)" for each in NUMBERS)
    query = f"SELECT {DUCKDB[name]}({'DISTINCT' if distinct else ''} x) FROM (VALUES {rows}) AS t(x)"
    (expected,) = by_duckdb(query)
    assert aggregated(name, DOUBLE, NUMBERS, distinct=distinct) == pytest.approx(expected)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.5, 0.99, 1.0])
def test_percentile_as_duckdb(share: float) -> None:
    rows = ", ".join(f"({'NULL' if each is None else each}::DOUBLE)" for each in NUMBERS)
    (expected,) = by_duckdb(f"SELECT quantile_cont(x, {share}) FROM (VALUES {rows}) AS t(x)")
    call = aggregate_call("PERCENTILE", (Ref(DOUBLE, 0), Literal(t.DoubleType(False), share)))
    assert value_of(call, [DOUBLE], [(each,) for each in NUMBERS]) == pytest.approx(expected)


def test_percentiles_with_frequencies() -> None:
    shares = Literal(t.ArrayType(t.DoubleType(False), False), [0.25, 0.75])
    call = aggregate_call("PERCENTILE", (Ref(DOUBLE, 0), shares, Ref(t.IntType(), 1)))
    rows = [(0.0, 1), (10.0, 2), (20.0, None), (30.0, 0)]
    assert value_of(call, [DOUBLE, t.IntType()], rows) == tuple(np.percentile([0, 10, 10], [25, 75]))


# (name, type, values, expected)
VALUES: list[tuple[str, DataType, list[Any], Any]] = [
    ("AVG", t.IntType(), [1, 2, 2], 1),
    ("AVG", t.IntType(), [-1, -2, -2], -1),
    ("AVG", t.BigIntType(), [2**62, 2**62, 2**62], -1537228672809129301),  # the sum has wrapped around to -(2**62)
    ("AVG", t.DecimalType(4, 2), [Decimal("0.01"), Decimal("0.02"), Decimal("0.02")], Decimal("0.016667")),
    ("SUM", t.TinyIntType(), [100, 100], -56),
    ("SUM", t.DecimalType(38, 2), [Decimal("1.10")] * 3, Decimal("3.30")),
    ("SUM", t.IntType(), [None, None], None),
    ("$SUM0", t.IntType(), [None, None], 0),
    ("COUNT", t.IntType(), [None, None], 0),
    ("VAR_SAMP", DOUBLE, [1.0], None),
    ("STDDEV_POP", t.DecimalType(4, 1), [Decimal(2), Decimal(4)], Decimal("1.000000")),
    ("MIN", t.BooleanType(), [True, False], False),
    ("MAX", t.TimestampType(3), [datetime(2024, 1, 1), datetime(2025, 1, 1)], datetime(2025, 1, 1)),
    ("MAX", DOUBLE, [1.0, math.inf], math.inf),
    ("MIN", t.VarBinaryType(9), [b"b", b"a", None], b"a"),
    ("FIRST_VALUE", t.ArrayType(t.IntType()), [None, [1, None], [2]], (1, None)),
    ("LAST_VALUE", t.ArrayType(t.IntType()), [[1, None], [2], None], (2,)),
    ("COLLECT", t.ArrayType(t.IntType()), [[1], [1], None, [2]], (((1,), 2), ((2,), 1))),
    ("LISTAGG", t.VarCharType(5), [None, "a", "b", "a"], "a,b,a"),
    ("ARRAY_AGG", t.IntType(), [1, None, 1], (1, None, 1)),
]  # fmt: skip


@pytest.mark.parametrize("retracts", [False, True])
@pytest.mark.parametrize(("name", "data_type", "values", "expected"), VALUES)
def test_values(retracts: bool, name: str, data_type: DataType, values: list[Any], expected: Any) -> None:
    call = aggregate_call(name, (Ref(data_type, 0),))
    assert value_of(call, [data_type], [(each,) for each in values], retracts) == expected


@pytest.mark.parametrize("retracts", [False, True])
def test_nan_is_the_largest_number(retracts: bool) -> None:
    rows = [(1.0,), (math.nan,), (2.0,)]
    number = (Ref(DOUBLE, 0),)
    assert value_of(aggregate_call("MIN", number), [DOUBLE], rows, retracts) == 1.0
    assert math.isnan(value_of(aggregate_call("MAX", number), [DOUBLE], rows, retracts))


def test_separator() -> None:
    text = t.VarCharType(3)
    call = aggregate_call("LISTAGG", (Ref(text, 0), Literal(t.CharType(2, False), "; ")))
    assert value_of(call, [text], [("a",), ("b",)]) == "a; b"


JSON_TYPES: list[DataType] = [
    t.VarCharType(3),
    t.RowType([t.RowField("n", t.IntType()), t.RowField("d", t.DecimalType(3, 1))]),
]
JSON_ROWS = [("b", {"n": 1, "d": Decimal("1.5")}), ("a", None), ("b", {"n": None, "d": Decimal(2)})]
JSON: list[tuple[str, list[int], dict[str, Any], Any]] = [
    ("JSON_OBJECTAGG", [0, 1], {}, {"b": {"n": None, "d": 2}, "a": None}),
    ("JSON_OBJECTAGG", [0, 1], {"on_null": "ABSENT"}, {"b": {"n": None, "d": 2}}),
    ("JSON_ARRAYAGG", [1], {}, [{"n": 1, "d": 1.5}, {"n": None, "d": 2}]),
    ("JSON_ARRAYAGG", [1], {"on_null": "NULL"}, [{"n": 1, "d": 1.5}, None, {"n": None, "d": 2}]),
    ("JSON_ARRAYAGG", [0], {}, ["b", "a", "b"]),
]


@pytest.mark.parametrize(("name", "columns", "options", "expected"), JSON)
def test_json(name: str, columns: list[int], options: dict[str, Any], expected: Any) -> None:
    call = aggregate_call(name, [Ref(JSON_TYPES[index], index) for index in columns], options)
    assert json.loads(value_of(call, JSON_TYPES, JSON_ROWS)) == expected


JSON_TEXTS: list[tuple[DataType, Any, str]] = [
    (DOUBLE, 1e20, "1.0E+20"),
    (DOUBLE, math.nan, '"NaN"'),
    (t.DecimalType(38, 2), Decimal("12345678901234567890.10"), "12345678901234567890.10"),
    (t.VarBinaryType(9), b"ab", '"YWI="'),
    (t.TimestampType(6), datetime(2020, 1, 2, 3, 4, 5, 600000), '"2020-01-02T03:04:05.6"'),
    (t.ArrayType(t.BooleanType()), [True, None], "[true,null]"),
]


@pytest.mark.parametrize(("data_type", "value", "expected"), JSON_TEXTS)
def test_json_is_written_as_json_string_writes_it(data_type: DataType, value: Any, expected: str) -> None:
    """What Flink writes (tests/flink)."""
    call = aggregate_call("JSON_ARRAYAGG", [Ref(data_type, 0)])
    assert value_of(call, [data_type], [(value,)]) == f"[{expected}]"


def test_json_keys_are_in_order() -> None:
    call = aggregate_call("JSON_OBJECTAGG", [Ref(JSON_TYPES[0], 0), Ref(JSON_TYPES[0], 0)])
    assert value_of(call, JSON_TYPES[:1], [("b",), ("a",)]) == '{"a":"a","b":"b"}'


def test_json_keys_are_not_null() -> None:
    call = aggregate_call("JSON_OBJECTAGG", [Ref(JSON_TYPES[0], 0), Ref(JSON_TYPES[0], 0)])
    with pytest.raises(OperatorError, match="key is NULL"):
        value_of(call, JSON_TYPES[:1], [(None,)])


def bitmap(*numbers: int) -> bytes:
    found: bytes = BitMap(numbers).serialize()
    return found


BITMAPS = [(bitmap(1, 2, 3),), (bitmap(2, 3, 4),), (None,), (bitmap(3, 9),)]


@pytest.mark.parametrize(
    ("name", "expected"), [("AND", {3}), ("OR", {1, 2, 3, 4, 9}), ("XOR", {1, 3, 4, 9})], ids=["and", "or", "xor"]
)
def test_bitmaps(name: str, expected: set[int]) -> None:
    column = (Ref(t.BitmapType(), 0),)
    found = value_of(aggregate_call(f"BITMAP_{name}_AGG", column), [t.BitmapType()], BITMAPS)
    assert set(BitMap.deserialize(found)) == expected
    counted = aggregate_call(f"BITMAP_{name}_CARDINALITY_AGG", column)
    assert value_of(counted, [t.BitmapType()], BITMAPS) == len(expected)


def test_bitmap_of_numbers() -> None:
    call = aggregate_call("BITMAP_BUILD_AGG", (Ref(t.IntType(), 0),))
    found = value_of(call, [t.IntType()], [(1,), (-1,), (None,), (1,)])
    assert set(BitMap.deserialize(found)) == {1, 2**32 - 1}


# -- functions of the user ------------------------------------------------------------------------------------------


class WeightedAverage(AggregateFunction[Any, Any]):
    def open(self, function_context: Any) -> None:
        self.bonus = int(function_context.get_job_parameter("bonus", "0"))

    def create_accumulator(self) -> list[int]:
        return [0, 0]

    def accumulate(self, accumulator: list[int], *args: Any) -> None:
        value, weight = args
        accumulator[0] += value * weight
        accumulator[1] += weight

    def retract(self, accumulator: list[int], *args: Any) -> None:
        value, weight = args
        accumulator[0] -= value * weight
        accumulator[1] -= weight

    def merge(self, accumulator: list[int], accumulators: Any) -> None:
        for other in accumulators:
            accumulator[0] += other[0]
            accumulator[1] += other[1]

    def get_value(self, accumulator: list[int]) -> int | None:
        return self.bonus + accumulator[0] // accumulator[1] if accumulator[1] else None


UDF_TYPES = (t.VarCharType(1), t.BigIntType(), t.BigIntType(), t.TimestampType(3))


def user_call(function: Any) -> AggCall:
    return AggCall(function.name, (Ref(UDF_TYPES[1], 1), Ref(UDF_TYPES[2], 2)), t.BigIntType(), udf=function)


def weighted() -> AggCall:
    return user_call(udaf(WeightedAverage(), result_type="BIGINT", accumulator_type="ARRAY<BIGINT>"))


def vectorised() -> AggCall:
    def average(values: pd.Series, weights: pd.Series) -> Any:
        return (values * weights).sum() // weights.sum()

    return user_call(udaf(average, result_type="BIGINT", func_type="pandas"))


USER = pytest.mark.parametrize("make", [weighted, vectorised])


@USER
def test_functions_of_the_user(make: Any) -> None:
    rows = [("a", 10, 1, None), ("a", 20, 3, None), ("b", 1, 1, None), ("a", 50, 1, None)]
    script = [*(element(row, UDF_TYPES) for row in rows), element(rows[3], UDF_TYPES, DELETE), EndInput()]
    config = GroupAggregate(keys=(0,), key_types=UDF_TYPES[:1], calls=(make(),), retracts=True)
    check_table(config, script, [("a", 17), ("b", 1)], disk=True)


@USER
def test_functions_of_the_user_in_sessions(make: Any) -> None:
    """Sessions that grow together merge accumulators."""
    rows = [("a", 10, 1, 0), ("a", 20, 3, 8), ("a", 30, 2, 4)]
    script = [*(element((*row[:3], datetime(2024, 1, 1, 0, 0, row[3])), UDF_TYPES) for row in rows), EndInput()]
    config = WindowAggregate(
        window=WindowSpec("SESSION", 5000), time=3, zoned=False, keys=(0,), key_types=UDF_TYPES[:1], calls=(make(),)
    )
    check_table(config, script, [("a", (10 + 60 + 60) // 6)])


def test_they_are_opened() -> None:
    config = GroupAggregate(keys=(0,), key_types=UDF_TYPES[:1], calls=(weighted(),))
    with harness(config, job_parameters={"bonus": "1000"}) as operator:
        operator.process_element(rows_of([(0, ("a", 1, 1, None))], UDF_TYPES))
        operator.end_epoch()
        assert changes_of(operator.values) == [(0, ("a", 1001))]


def test_without_retract() -> None:
    class OnlyForward(WeightedAverage):
        retract = AggregateFunction.retract

    call = user_call(udaf(OnlyForward(), result_type="BIGINT", accumulator_type="ARRAY<BIGINT>"))
    config = GroupAggregate(keys=(0,), key_types=UDF_TYPES[:1], calls=(call,), retracts=True)
    row = ("a", 1, 1, None)
    with pytest.raises(OperatorError, match="retract"):
        run(config, [element(row, UDF_TYPES), element(row, UDF_TYPES, DELETE), EndInput()])
