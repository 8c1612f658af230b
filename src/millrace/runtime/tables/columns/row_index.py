"""Rows in columns that are only ever added, found by the hash of their key: no Python per row or key.

Both parts grow as sorted runs do in a log-structured store: a new batch is a run, and runs of like size become one. So
there are few of them, and each row is moved a few times.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from millrace.relational.rows import record_batch
from millrace.runtime.exchange.keys import Hashes
from millrace.runtime.tables.columns.keys import Ids
from millrace.runtime.tables.columns.matching import ranges

MOST_BYTES = 2**27
"""Batches are put together up to this size: texts of a column may not be longer than 2 GB together."""
TOGETHER = 4
"""So many batches of one order of size become one."""


class RowStore:
    """Rows by number, in the order of their arrival."""

    def __init__(self, types: Sequence[pa.DataType]) -> None:
        self._types = types
        self._batches: list[pa.RecordBatch] = []
        self._starts: list[int] = []
        """the number of the first row of each batch"""
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
        """How many of the last batches are of one order of size, or smaller than the last one."""
        most = TOGETHER ** (_order(self._batches[-1].num_rows) + 1)
        return next((n for n, each in enumerate(reversed(self._batches)) if each.num_rows >= most), len(self._batches))

    def keep(self, wanted: Any) -> None:
        """Forget all rows but these, which get new numbers."""
        batches, starts = self._batches, [*self._starts, self.length]
        self._batches, self._starts, self.length = [], [], 0
        for batch, first, end in zip(batches, starts, starts[1:]):
            kept = batch.filter(pa.array(wanted[first:end]))
            if kept.num_rows:
                self.add(kept)

    def batches(self) -> list[pa.RecordBatch]:
        """All rows."""
        return list(self._batches)

    def take(self, numbers: Ids, places: Sequence[int] | None = None) -> list[pa.Array]:
        """The columns of these rows, or those at these places."""
        chosen = range(len(self._types)) if places is None else places
        if not len(numbers):
            return [pa.array([], self._types[place]) for place in chosen]
        if len(self._batches) == 1:
            where = pa.array(numbers)
            return [self._batches[0].column(place).take(where) for place in chosen]
        # Numbers of 16 bits are sorted by their digits.
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
    """Sorted hashes, and the row that each is of."""

    hashes: Hashes
    numbers: Ids


class HashIndex:
    """From hashes to the numbers of rows. Different keys may have one hash."""

    def __init__(self) -> None:
        self._runs: list[Run] = []

    def add(self, hashes: Hashes, first: int, wanted: Any = None) -> None:
        """Rows from this number on have these hashes.

        :param wanted: which rows will still be looked for, numpy Booleans; None: all.
        """
        run = _sorted(hashes, np.arange(first, first + len(hashes)))
        while self._runs and len(self._runs[-1].hashes) <= 2 * len(run.hashes):
            last = self._runs.pop()
            if wanted is not None:
                last = _where(last, wanted[last.numbers])
            run = _sorted(np.concatenate([last.hashes, run.hashes]), np.concatenate([last.numbers, run.numbers]))
        self._runs.append(run)

    def keep(self, wanted: Any) -> None:
        """Forget all rows but these, which get new numbers."""
        renumbered = np.cumsum(wanted) - 1
        kept = [_where(run, wanted[run.numbers]) for run in self._runs]
        self._runs = [Run(run.hashes, renumbered[run.numbers]) for run in kept if len(run.hashes)]

    def find(self, hashes: Hashes, wanted: Any = None) -> tuple[Ids, Ids]:
        """(position in ``hashes``, number of a row that has it), by position and then by number.

        :param wanted: which rows are looked for, numpy Booleans; None: all.
        """
        # A search that goes through a long run from its beginning to its end finds most of what it reads in the cache:
        # in one of 8,000,000 rows a hash takes 0.3 us so, and 2.5 in any order.
        order = np.argsort(hashes)
        ascending = hashes[order]
        found = [(np.zeros(0, np.int64), np.zeros(0, np.int64))]
        for run in self._runs:
            if not len(run.hashes):
                continue
            owners, places = _found(run.hashes, ascending)
            numbers = run.numbers[places]
            if wanted is not None:
                chosen = wanted[numbers]
                owners, numbers = owners[chosen], numbers[chosen]
            found.append((order[owners], numbers))
        owners, numbers = (np.concatenate(parts) for parts in zip(*found))
        # Older runs have smaller numbers, and come first.
        by_owner = np.argsort(owners, kind="stable")
        return owners[by_owner], numbers[by_owner]


def _found(run: Hashes, ascending: Hashes) -> tuple[Ids, Ids]:
    """(position in the ascending hashes, place of an equal one in the run)."""
    first = np.searchsorted(run, ascending, "left")
    there = np.flatnonzero(run[np.minimum(first, len(run) - 1)] == ascending)
    first = first[there]
    owners, places = ranges(first, np.searchsorted(run, ascending[there], "right") - first)
    return there[owners], places


def _order(count: int) -> int:
    """The order of size: from one to the next a number is ``TOGETHER`` times as large."""
    return (max(count, 1).bit_length() - 1) // (TOGETHER.bit_length() - 1)


def _where(run: Run, chosen: Any) -> Run:
    return run if chosen.all() else Run(run.hashes[chosen], run.numbers[chosen])


def _sorted(hashes: Hashes, numbers: Ids) -> Run:
    order = np.argsort(hashes, kind="stable")
    return Run(hashes[order], numbers[order])
