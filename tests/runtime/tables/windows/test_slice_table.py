"""Windows in columns as a table of state: copies, and a table of single keys, follow by changes."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from millrace.relational.functions.aggregates.registry import choosing, counting
from millrace.runtime.state.window_tables import WindowTable
from millrace.runtime.tables.aggregates.partials import PartialColumns
from millrace.runtime.tables.windows import slice_table
from millrace.runtime.tables.windows.slice_table import SliceTable

SLOTS = (counting(), choosing(pa.int64(), "max"))
Model = dict[int, dict[tuple[str | None], tuple[int, int | None]]]


def table() -> SliceTable:
    return SliceTable(PartialColumns([pa.string()], SLOTS))


def batch(rows: list[tuple[str | None, int | None]]) -> pa.RecordBatch:
    keys, values = zip(*rows)
    return table().partials.batch(
        [pa.array(keys, pa.string())], [pa.array([1] * len(rows)), pa.array(values, pa.int64())], len(rows)
    )


@pytest.mark.parametrize("most", [1, 32])
def test_copies_follow_by_changes(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr(slice_table, "MOST_BATCHES", most)
    draw = random.Random(3)
    leader, copy, plain = table(), table(), WindowTable()
    model: Model = {}
    for _ in range(150):
        end = draw.randrange(4)
        if draw.random() < 0.15:
            leader.drop(end)
            model.pop(end, None)
        else:
            rows = [(draw.choice(["a", "b", None]), draw.choice([None, 1, 2, 3])) for _ in range(draw.randrange(1, 4))]
            leader.add(end, batch(rows))
            content = model.setdefault(end, {})
            for key, value in rows:
                count, largest = content.get((key,), (0, None))
                both = [each for each in (largest, value) if each is not None]
                content[key,] = (count + 1, max(both, default=None))
        if draw.random() < 0.3:
            changes = leader.delta()
            copy.apply(changes)
            plain.apply(changes)
            assert copy.entries() == plain.entries() == {end: (True, row) for end, row in model.items()}
            assert leader.delta() == {}
            if draw.random() < 0.3:
                copy = table()
                copy.apply(leader.entries())
