"""An append-only store of rows in columns, and an index by hash: no Python per row or key.

Both grow like the sorted runs of a log-structured store: a new batch is a run, and runs of similar size are merged. So
there are few runs, and each row is copied a few times.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from millrace.relational.rows import record_batch
from millrace.runtime.exchange.keys import Hashes
from millrace.runtime.tables.columns.keys import Ids
from millrace.runtime.tables.columns.ranges import ranges

MOST_BYTES = 2**27
"""The most bytes to which batches are merged, since the texts of a column must not exceed 2 GB."""
TOGETHER = 4
"""This many batches of one order of size are merged."""


class RowStore:
    """Rows by number, in the order of arrival."""

    def __init__(self, types: Sequence[pa.DataType]) -> None:
        self._types = types
        self._batches: list[pa.RecordBatch] = []
        self._starts: list[int] = []
        """number of the first row of each batch"""
        self.length = 0

    def add(self, batch: pa.RecordBatch) -> None:
        self._batches.append(batch)
        self._starts.append(self.length)
        self.length += batch.num_rows
        while (alike := self._alike()) >= TOGETHER:
            batches = self._batches[-alike:]
            if sum(each.nbytes for each in batches) > MOST_BYTES:
                return
            columns = [pa.concat_arrays(parts) for parts in zip(*(each.columns for each in batches))]
            self._batches[-alike:] = [record_batch(columns, sum(each.num_rows for each in batches))]
            del self._starts[1 - alike :]

    def _alike(self) -> int:
        """The number of last batches that are of one order of size with the last batch, or smaller."""
        most = TOGETHER ** (_order(self._batches[-1].num_rows) + 1)
        return next((n for n, each in enumerate(reversed(self._batches)) if each.num_rows >= most), len(self._batches))

    def keep(self, wanted: Any) -> None:
        """Remove all other rows; the remaining rows get new numbers."""
        batches, starts = self._batches, [*self._starts, self.length]
        self._batches, self._starts, self.length = [], [], 0
        for batch, first, end in zip(batches, starts, starts[1:]):
            kept = batch.filter(pa.array(wanted[first:end]))
            if kept.num_rows:
                self.add(kept)

    def batches(self) -> list[pa.RecordBatch]:
        """All rows, in batches."""
        return list(self._batches)

    @property
    def nbytes(self) -> int:
        """The size of all rows in bytes."""
        return sum(batch.nbytes for batch in self._batches)

    def take(self, numbers: Ids, places: Sequence[int] | None = None) -> list[pa.Array]:
        """The columns of these rows: all, or those with the indexes ``places``."""
        chosen = range(len(self._types)) if places is None else places
        if not len(numbers):
            return [pa.array([], self._types[place]) for place in chosen]
        if len(self._batches) == 1:
            where = pa.array(numbers)
            return [self._batches[0].column(place).take(where) for place in chosen]
        # Numbers of 16 bits are sorted by radix sort.
        owner = (np.searchsorted(self._starts, numbers, "right") - 1).astype(np.uint16)
        order = np.argsort(owner, kind="stable")
        bounds = np.searchsorted(owner[order], np.arange(len(self._batches) + 1))
        parts = []
        for batch, start, first, last in zip(self._batches, self._starts, bounds[:-1], bounds[1:]):
            if first < last:
                where = pa.array(numbers[order[first:last]] - start)
                parts.append([batch.column(place).take(where) for place in chosen])
        back = np.empty(len(order), np.int64)
        back[order] = np.arange(len(order))
        where = pa.array(back)
        return [pa.concat_arrays(pieces).take(where) for pieces in zip(*parts)]


class Run(NamedTuple):
    """Sorted hashes, each with the number of its row."""

    hashes: Hashes
    numbers: Ids


class HashIndex:
    """Maps hashes to row numbers. Different keys may have the same hash."""

    def __init__(self) -> None:
        self._runs: list[Run] = []

    def add(self, hashes: Hashes, first: int, wanted: Any = None) -> None:
        """Add the hashes of rows whose numbers begin with ``first``.

        :param wanted: for each row number, whether it must still be found (numpy Booleans); None: all.
        """
        run = _sorted(hashes, np.arange(first, first + len(hashes)))
        while self._runs and len(self._runs[-1].hashes) <= 2 * len(run.hashes):
            last = self._runs.pop()
            if wanted is not None:
                last = _where(last, wanted[last.numbers])
            run = _sorted(np.concatenate([last.hashes, run.hashes]), np.concatenate([last.numbers, run.numbers]))
        self._runs.append(run)

    def keep(self, wanted: Any) -> None:
        """Remove all other rows; the remaining rows get new numbers."""
        renumbered = np.cumsum(wanted) - 1
        kept = [_where(run, wanted[run.numbers]) for run in self._runs]
        self._runs = [Run(run.hashes, renumbered[run.numbers]) for run in kept if len(run.hashes)]

    def find(self, hashes: Hashes, wanted: Any = None) -> tuple[Ids, Ids]:
        """(index in ``hashes``, number of a row with this hash), by index and then by number.

        :param wanted: for each row number, whether it may be found (numpy Booleans); None: all.
        """
        return self._found(hashes, hashes, wanted)

    def find_prefixes(self, prefixes: Hashes, shift: np.uint64, wanted: Any = None) -> tuple[Ids, Ids]:
        """As ``find``, for rows whose hash, shifted to the right by this number of bits, is one of these."""
        first = prefixes << shift
        owners, numbers = self._found(first, first | (np.uint64(1) << shift) - np.uint64(1), wanted)
        order = np.lexsort((numbers, owners))
        return owners[order], numbers[order]

    def _found(self, least: Hashes, most: Hashes, wanted: Any) -> tuple[Ids, Ids]:
        """As ``find``, for ranges of hashes that do not overlap."""
        # Searching for ascending hashes reads a long run from beginning to end, mostly from the cache: in a run of
        # 8,000,000 rows a hash takes 0.3 us this way, and 2.5 us in random order.
        order = np.argsort(least)
        ascending, ends = least[order], None if most is least else most[order]
        found = [(np.zeros(0, np.int64), np.zeros(0, np.int64))]
        for run in self._runs:
            if not len(run.hashes):
                continue
            owners, places = _in_run(run.hashes, ascending, ends)
            numbers = run.numbers[places]
            if wanted is not None:
                chosen = wanted[numbers]
                owners, numbers = owners[chosen], numbers[chosen]
            found.append((order[owners], numbers))
        owners, numbers = (np.concatenate(parts) for parts in zip(*found))
        # Older runs have smaller numbers, so they come first.
        by_owner = np.argsort(owners, kind="stable")
        return owners[by_owner], numbers[by_owner]


def _in_run(run: Hashes, ascending: Hashes, ends: Hashes | None) -> tuple[Ids, Ids]:
    """(index in the ascending hashes, index in the run of a hash that is equal, or not above the one in ``ends``)."""
    first = np.searchsorted(run, ascending, "left")
    if ends is not None:
        return ranges(first, np.searchsorted(run, ends, "right") - first)
    there = np.flatnonzero(run[np.minimum(first, len(run) - 1)] == ascending)
    first = first[there]
    owners, places = ranges(first, np.searchsorted(run, ascending[there], "right") - first)
    return there[owners], places


def _order(count: int) -> int:
    """The order of size: each next order is ``TOGETHER`` times as large."""
    return (max(count, 1).bit_length() - 1) // (TOGETHER.bit_length() - 1)


def _where(run: Run, chosen: Any) -> Run:
    return run if chosen.all() else Run(run.hashes[chosen], run.numbers[chosen])


def _sorted(hashes: Hashes, numbers: Ids) -> Run:
    order = np.argsort(hashes, kind="stable")
    return Run(hashes[order], numbers[order])
