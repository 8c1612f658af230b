"""Batches of rows of a sensible size between two functions in Python, as Spark makes them between it and Python."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

MOST_ROWS = 10_000
"""of a batch; so many has one that comes from Spark (``tables/settings.py``)"""
_MOST_BYTES = 16 << 20
"""of batches that are put together; a single one may be larger"""


def gathered(batches: Iterable[pa.RecordBatch], rows: int, size: int) -> Iterator[list[pa.RecordBatch]]:
    """Batches one after the other until they have that many rows, or bytes. Those without rows are left out."""
    waiting: list[pa.RecordBatch] = []
    so_many = so_large = 0
    for batch in batches:
        if batch.num_rows:
            waiting.append(batch)
            so_many, so_large = so_many + batch.num_rows, so_large + batch.nbytes
        if so_many >= rows or so_large >= size:
            yield waiting
            waiting, so_many, so_large = [], 0, 0
    if waiting:
        yield waiting


def evened(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same rows: small batches are put together, large ones cut. A function that makes a thousand rows of each
    then has no more of them in memory than behind Spark, and one that is called for each batch is not called for each
    row."""
    for each in gathered(batches, MOST_ROWS // 2, _MOST_BYTES):
        whole = each[0] if len(each) == 1 else pa.concat_batches(each)
        pieces = -(-whole.num_rows // MOST_ROWS)
        step = -(-whole.num_rows // pieces)
        for start in range(0, whole.num_rows, step):
            yield whole.slice(start, step)
