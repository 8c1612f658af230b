"""Rows found by the hash of their key, against a dict of lists."""

from __future__ import annotations

import random
from collections import defaultdict

import numpy as np
import pyarrow as pa
import pytest

from millrace.relational.rows import record_batch
from millrace.runtime.tables.columns import row_index
from millrace.runtime.tables.columns.row_index import HashIndex, RowStore


@pytest.mark.parametrize("most_bytes", [0, 200, 2**28])
def test_rows_by_number(most_bytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_index, "MOST_BYTES", most_bytes)
    draw = random.Random(most_bytes)
    store = RowStore([pa.int64(), pa.string()])
    model: list[tuple[int, str]] = []
    for size in (1, 1, 5, 1, 2, 9, 1, 1):
        rows = [(draw.randrange(100), "x" * draw.randrange(5)) for _ in range(size)]
        numbers, texts = zip(*rows)
        store.add(record_batch([pa.array(numbers, pa.int64()), pa.array(texts)], size))
        model += rows
        asked = [draw.randrange(len(model)) for _ in range(7)]
        columns = store.take(np.array(asked, np.int64))
        assert list(zip(*(column.to_pylist() for column in columns))) == [model[number] for number in asked]
    assert store.length == len(model) == sum(batch.num_rows for batch in store.batches())
    (texts_only,) = store.take(np.array([3, 0]), (1,))
    assert texts_only.to_pylist() == [model[3][1], model[0][1]]
    assert [column.type for column in store.take(np.zeros(0, np.int64))] == [pa.int64(), pa.string()]


def test_numbers_by_hash() -> None:
    draw = random.Random(4)
    index, model = HashIndex(), defaultdict(list)
    assert [part.tolist() for part in index.find(np.array([1], np.uint64))] == [[], []]
    count = 0
    for size in (1, 3, 1, 1, 8, 2, 40, 1):
        hashes = [draw.randrange(12) for _ in range(size)]
        index.add(np.array(hashes, np.uint64), count)
        for place, each in enumerate(hashes, count):
            model[each].append(place)
        count += size
        asked = [draw.randrange(14) for _ in range(6)]
        owners, numbers = index.find(np.array(asked, np.uint64))
        expected = [(owner, number) for owner, each in enumerate(asked) for number in model.get(each, ())]
        assert list(zip(owners.tolist(), numbers.tolist())) == expected
