"""Groups of equal rows against a dict, and the key groups that keys go to."""

from __future__ import annotations

import math
import pickle
from datetime import datetime, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.runtime.exchange.keys import stable_hash
from millrace.runtime.tables.columns.keys import group, group_ids, key_columns

STRINGS = pa.list_(pa.string())
COLUMNS: list[tuple[pa.DataType, list[Any]]] = [
    (pa.string(), ["a", "b", "", None]),
    (pa.int64(), [1, 2, -(2**62), None]),
    (pa.float64(), [1.0, 0.0, -0.0, math.nan, None]),
    (pa.bool_(), [True, False, None]),
    (pa.binary(), [b"", b"a", None]),
    (pa.decimal128(10, 2), [Decimal("1.50"), Decimal("0.00"), None]),
    (pa.timestamp("us", "UTC"), [datetime(2024, 1, 1, tzinfo=timezone.utc), None]),
    (pa.list_(pa.float32()), [[1.0], [1.0, None], [math.nan], [], None]),
    (pa.struct([("x", pa.int32()), ("y", STRINGS)]), [{"x": 1, "y": ["a"]}, {"x": None, "y": None}, None]),
    (pa.map_(pa.string(), pa.int32()), [[("a", 1)], [("a", 2), ("b", 1)], [("b", 1), ("a", 2)], None]),
]


def same(value: Any) -> Any:
    """What is equal has one form: NaN, both zeros, maps in any order."""
    if isinstance(value, float):
        return "nan" if math.isnan(value) else value + 0.0
    if isinstance(value, list):
        found = [same(each) for each in value]
        return tuple(sorted(found, key=repr)) if value and isinstance(value[0], tuple) else tuple(found)
    if isinstance(value, dict):
        return tuple((key, same(each)) for key, each in value.items())
    return value


@given(st.data())
def test_group(data: st.DataObject) -> None:
    chosen = data.draw(st.lists(st.sampled_from(COLUMNS), max_size=4))
    count = data.draw(st.integers(0, 12))
    values = [data.draw(st.lists(st.sampled_from(each), min_size=count, max_size=count)) for _, each in chosen]
    columns = [pa.array(each, kind) for each, (kind, _) in zip(values, chosen)]
    known: dict[Any, int] = {}
    rows = [tuple(same(column[row]) for column in values) for row in range(count)]
    expected = [known.setdefault(row, len(known)) for row in rows]
    found = group(columns, count)
    assert found.ids.tolist() == expected
    assert found.first.tolist() == [rows.index(row) for row in known]
    assert len(set(found.keys)) == len(found.keys) == len(known)
    assert list(map(stable_hash, found.keys)) == [stable_hash(pickle.loads(pickle.dumps(key))) for key in found.keys]
    back = key_columns(found.keys, [kind for kind, _ in chosen])
    for column, original in zip(back, columns):
        pairs = zip(column.to_pylist(), original.take(pa.array(found.first)).to_pylist())
        assert all(same(one) == same(other) for one, other in pairs)


def test_many_columns() -> None:
    """More combinations than fit into 64 bits."""
    columns = [pa.array(range(300)) for _ in range(9)]
    ids, first = group_ids(columns, 300)
    assert ids.tolist() == first.tolist() == list(range(300))


@pytest.mark.parametrize(("kind", "values"), COLUMNS[:2])
def test_keys_are_those_of_a_stream(kind: pa.DataType, values: list[Any]) -> None:
    """As ``key_by`` with a tuple of the values."""
    keys = group([pa.array(values, kind)], len(values)).keys
    assert list(map(stable_hash, keys)) == [stable_hash((value,)) for value in values]
