"""Columns of files in the types of a table; expected values by Python."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.connectors.file_system.table.table_format import conformed
from millrace.relational.type_table import arrow_type
from millrace.relational.values import to_python
from millrace.table import DataTypes as D

AT = dt.datetime(2024, 5, 6, 7, 8, 9, 123_456)
ROW = D.ROW([D.FIELD("b", D.BIGINT()), D.FIELD("c", D.STRING()), D.FIELD("a", D.INT())])
CASES: list[tuple[Any, Any, list[Any]]] = [
    (pa.array([1, None], pa.int16()), D.BIGINT(), [1, None]),
    (pa.array([1, None]), D.DOUBLE(), [1.0, None]),
    (pa.array(["x", None]).dictionary_encode(), D.STRING(), ["x", None]),
    (pa.array(["x"], pa.large_string()), D.VARCHAR(3), ["x"]),
    (pa.array([Decimal("1.5")], pa.decimal128(4, 1)), D.DECIMAL(10, 2), [Decimal("1.50")]),
    (pa.array([AT, None], pa.timestamp("ns")), D.TIMESTAMP(6), [AT, None]),
    (pa.array([AT, None], pa.timestamp("us")), D.TIMESTAMP(3), [AT.replace(microsecond=123_000), None]),
    (pa.array([dt.datetime(1969, 12, 31, 23, 59, 59, 999_999)]), D.TIMESTAMP(0),
     [dt.datetime(1969, 12, 31, 23, 59, 59)]),
    (pa.array([AT.replace(microsecond=0)], pa.timestamp("s")), D.TIMESTAMP(3), [AT.replace(microsecond=0)]),
    (pa.array([1_000], pa.int64()).cast(pa.timestamp("ms", "Europe/Berlin")), D.TIMESTAMP_LTZ(3),
     [dt.datetime(1970, 1, 1, 0, 0, 1, tzinfo=dt.timezone.utc)]),
    (pa.array([[1, None], None, []], pa.large_list(pa.int8())), D.ARRAY(D.INT()), [[1, None], None, []]),
    (pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int32())), D.MAP(D.STRING(), D.BIGINT()), [{"k": 1}, None]),
]  # fmt: skip


@pytest.mark.parametrize(("column", "kind", "expected"), CASES, ids=[f"{c.type} as {k}" for c, k, _ in CASES])
def test_types_that_differ(column: Any, kind: Any, expected: list[Any]) -> None:
    found = conformed(column, kind)
    assert found.type == arrow_type(kind)
    assert to_python(found, kind) == expected


def test_fields_of_rows_are_found_by_name() -> None:
    column = pa.array([{"a": 1, "b": 2}, None], pa.struct([("a", pa.int8()), ("b", pa.int8())]))
    found = conformed(column, ROW)
    assert found.type == arrow_type(ROW)
    assert found.to_pylist() == [{"b": 2, "c": None, "a": 1}, None]
    assert conformed(column.slice(1), ROW).to_pylist() == [None]


@pytest.mark.parametrize(
    ("column", "kind"),
    [(pa.array([300]), D.TINYINT()), (pa.array([1.5]), D.INT()), (pa.array([Decimal("1.25")]), D.DECIMAL(5, 1))],
    ids=str,
)
def test_nothing_is_lost_silently(column: Any, kind: Any) -> None:
    with pytest.raises(pa.ArrowException):
        conformed(column, kind)


@given(st.lists(st.none() | st.integers(-(2**50), 2**50), max_size=20), st.integers(0, 5))
def test_property_times_are_cut_towards_the_past(micros: list[int | None], precision: int) -> None:
    found = conformed(pa.array(micros, pa.int64()).view(pa.timestamp("us")), D.TIMESTAMP(precision))
    step = 10 ** (6 - precision)
    assert found.view(pa.int64()).to_pylist() == [None if each is None else each // step * step for each in micros]
