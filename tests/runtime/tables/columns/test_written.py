"""Columns that are written in place, against a list; accumulators that are merged, against merging value by value."""

from __future__ import annotations

import random
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from millrace.relational.functions.aggregates.registry import Slot, choosing, counting, summing
from millrace.runtime.tables.columns.merging import merged
from millrace.runtime.tables.columns.mutable_columns import FixedColumn, ObjectColumn, written_column

VALUES: dict[pa.DataType, list[Any]] = {
    pa.int8(): [1, -2, 0],
    pa.int64(): [1, 2**63 - 1, -(2**63)],
    pa.float32(): [0.5, -1.0, 2.0],
    pa.float64(): [0.5, -1.0, float("inf")],
    pa.date32(): [date(2024, 1, 1), date(1969, 1, 1)],
    pa.timestamp("us"): [datetime(2024, 1, 1), datetime(1950, 1, 1, 0, 0, 1)],
    pa.decimal128(38, 2): [Decimal("1.25"), Decimal("-99999999999999999999.99")],
    pa.decimal256(76, 0): [Decimal(10**40), Decimal(-1)],
    pa.bool_(): [True, False],
    pa.string(): ["a", "", "ä"],
    pa.list_(pa.int64()): [[1, None], []],
    pa.struct([("x", pa.int64())]): [{"x": 1}, {"x": None}],
}
WRITTEN_IN_PLACE = 8
"""the first of these"""


@pytest.mark.parametrize("kind", VALUES, ids=str)
def test_against_a_list(kind: pa.DataType) -> None:
    draw = random.Random(str(kind))
    column = written_column(kind, True)
    assert isinstance(column, FixedColumn if list(VALUES).index(kind) < WRITTEN_IN_PLACE else ObjectColumn)
    model: list[Any] = []
    for _ in range(40):
        values = [draw.choice([None, *VALUES[kind]]) for _ in range(draw.randrange(6))]
        old = draw.sample(range(len(model)), min(len(model), len(values) // 2))
        rows = [*old, *range(len(model), len(model) + len(values) - len(old))]
        model += [None] * (len(values) - len(old))
        for row, value in zip(rows, values):
            model[row] = value
        column.grow(len(model))
        # A slice: its values do not begin where its buffers do.
        column.write(np.array(rows, np.int64), pa.array([None, None, None, *values], kind).slice(3))
        wanted = [draw.randrange(len(model)) for _ in range(5)] if model else []
        found = column.take(np.array(wanted, np.int64))
        found.validate(full=True)
        assert found.type == kind and found.to_pylist() == [model[row] for row in wanted]
        if draw.random() < 0.1:
            kept = [row for row in range(len(model)) if draw.random() < 0.5]
            column.keep(np.array(kept, np.int64))
            model = [model[row] for row in kept]


CHOICES: dict[pa.DataType, list[Any]] = {
    **VALUES,
    pa.int64(): [1, -5, 7],
    pa.float64(): [0.5, -1.0, float("nan")],
    pa.decimal128(9, 2): [Decimal("1.25"), Decimal("-7.50")],
}
SLOTS: dict[str, Slot] = {
    "count": counting(),
    "sum of numbers": summing(pa.float64()),
    "sum of decimals": summing(pa.decimal128(10, 2)),
    "sum of long decimals": summing(pa.decimal128(38, 0)),
    **{
        f"{how} of {kind}": choosing(kind, how)
        for how in ("min", "max", "first", "last")
        for kind in (pa.int64(), pa.float64(), pa.string(), pa.timestamp("us"), pa.bool_(), pa.decimal128(9, 2))
    },
}


@pytest.mark.parametrize("name", SLOTS)
def test_merging(name: str) -> None:
    slot = SLOTS[name]
    choices = CHOICES[slot.type] if slot.zero is not None else [None, *CHOICES[slot.type]]
    old, new = (pa.array(each, slot.type) for each in zip(*((one, other) for one in choices for other in choices)))
    (found,) = merged([old], [new], [slot])
    assert found.type == slot.type
    wanted = [slot.merge(*pair) for pair in zip(old.to_pylist(), new.to_pylist())]
    assert list(map(repr, found.to_pylist())) == list(map(repr, wanted))
