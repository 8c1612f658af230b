"""Batches between two functions in Python: the same rows in the same order, in batches of a sensible size."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.spark.tables.steps import parts
from millrace.spark.tables.steps.parts import evened, gathered

SIZES = st.lists(st.integers(0, 25), max_size=12)
MOST = 8


def of_sizes(sizes: list[int]) -> list[pa.RecordBatch]:
    made, start = [], 0
    for size in sizes:
        made.append(pa.RecordBatch.from_arrays([pa.array(range(start, start + size), pa.int64())], ["c0"]))
        start += size
    return made


@given(SIZES)
def test_no_batch_is_too_large_and_none_but_the_last_too_small(sizes: list[int]) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(parts, "MOST_ROWS", MOST)
        found = list(evened(of_sizes(sizes)))
    assert [each for batch in found for each in batch.column(0).to_pylist()] == list(range(sum(sizes)))
    assert all(batch.num_rows <= MOST for batch in found)
    assert all(batch.num_rows >= MOST // 2 for batch in found[:-1])


@given(SIZES, st.integers(1, 30))
def test_batches_come_when_there_are_enough(sizes: list[int], rows: int) -> None:
    found = [[batch.num_rows for batch in each] for each in gathered(of_sizes(sizes), rows, 1 << 30)]
    assert [size for each in found for size in each] == [size for size in sizes if size]
    assert all(sum(each) >= rows and sum(each[:-1]) < rows for each in found[:-1])


def test_few_rows_of_many_bytes_do_not_wait_for_more() -> None:
    texts = [pa.RecordBatch.from_arrays([pa.array(["x" * 100])], ["c0"]) for _ in range(5)]
    assert [len(each) for each in gathered(texts, 1_000, 200)] == [2, 2, 1]


def test_a_source_without_end_is_read_no_further_than_needed() -> None:
    read = []

    def endless():  # type: ignore[no-untyped-def]
        while True:
            read.append(1)
            yield of_sizes([MOST])[0]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(parts, "MOST_ROWS", MOST)
        next(evened(endless()))
    assert len(read) == 1
