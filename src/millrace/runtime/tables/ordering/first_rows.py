"""The first-ranked rows of each partition, in columns, for an input with insertions only.

A batch is reduced to the rows that could be among the first, and these are ranked together with the stored rows of
their partitions. The changes of a slice are found by ranking the changed partitions twice: with their old and their new
rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from millrace.relational.rows import DELETE, INSERT, Kinds, Rows, record_batch
from millrace.runtime.rows.expiry import Expiry, expiry_of_copy
from millrace.runtime.rows.hashes import Flags
from millrace.runtime.state.column_deltas import Changes, Form
from millrace.runtime.tables.columns.batch_bytes import types_as_bytes, types_of
from millrace.runtime.tables.columns.changes import placed_changes
from millrace.runtime.tables.columns.key_hashes import key_hashes
from millrace.runtime.tables.columns.keys import Ids, at_indexes, group_ids, key_tuples, places_within, taken
from millrace.runtime.tables.columns.row_codec import RowCodec
from millrace.runtime.tables.indexed_rows import at_positions
from millrace.runtime.tables.replaced_rows import ReplacedRows

Ranking = Callable[[Ids, Sequence[pa.Array]], tuple[Ids, Ids]]
"""(group of each row, columns) -> (row numbers by group and order, the rank of each)"""


class FirstOfKey(ReplacedRows):
    """The first rows of each key. In a savepoint they are ((row, rank), ...) at the key, in their order.

    :param rank: computes ranks.
    :param needed: the columns that the order reads.
    """

    def __init__(
        self,
        types: Sequence[pa.DataType],
        found_by: Sequence[int],
        rank: Ranking,
        needed: Sequence[int],
        expiry: Expiry | None = None,
    ) -> None:
        super().__init__(types, found_by, expiry)
        self.needed = needed
        self._codec = RowCodec(types)
        self._rank = rank

    def beside(self, new: Ids) -> Ids:
        return np.sort(self.of_same_keys(new, self.find)[1])

    def of_same_keys(self, rows: Ids, find: Callable[..., tuple[Ids, Ids]]) -> tuple[Ids, Ids]:
        """(number of the key, row number) for all rows with the same keys as ``rows``, by key and by arrival.

        :param find: the method that finds the rows to include.
        """
        keys = self.take(rows, self._found_by)
        first = group_ids(keys, len(rows))[1]
        keys = taken(keys, first, len(rows))
        return find(key_hashes(keys, len(first)), at_positions(keys))

    def form(self) -> Form:
        return "first rows", (types_as_bytes(self.types), self._found_by, *self._lifetime)

    @classmethod
    def told(cls, types: bytes, found_by: Sequence[int], ttl: int = 0) -> FirstOfKey:
        """A table that does not know the order: its ranks are those of arrival, and are computed again where the rows
        are used."""
        return cls(types_of(types), found_by, _by_arrival, (), expiry_of_copy(ttl))

    def rows_in(self, entry: Any) -> int:
        return len(entry)

    def own_batch(self, entries: Changes) -> pa.RecordBatch | None:
        rows = [row for top in entries.values() for row, _ in top]
        return record_batch(self._codec.columns(rows), len(rows)) if rows else None

    def own_entries(self, batch: pa.RecordBatch) -> Changes:
        by = [batch.column(place) for place in self._found_by]
        owners, first = group_ids(by, batch.num_rows)
        order, ranks = self._rank(owners, batch.columns)
        keys = key_tuples(taken(by, first, batch.num_rows), len(first))
        rows = self._codec.rows(batch.columns, batch.num_rows)
        found: dict[Any, list[Any]] = {key: [] for key in keys}
        for owner, row, rank in zip(owners[order].tolist(), order.tolist(), ranks.tolist()):
            found[keys[owner]].append((rows[row], rank))
        return {key: tuple(top) for key, top in found.items()}

    def ranked(self, numbers: Ids, owners: Ids) -> tuple[Ids, Ids]:
        """(row numbers by group and order, the rank of each); rows are given by their indexes in ``numbers``."""
        return self._rank(owners, self.wide(self.take(numbers, self.needed)))

    def wide(self, columns: Sequence[pa.Array]) -> list[pa.Array]:
        """The columns that the order reads at their indexes, None at the others."""
        return at_indexes(columns, self.needed, len(self.types))


def _by_arrival(owners: Ids, columns: Sequence[pa.Array]) -> tuple[Ids, Ids]:
    order = np.argsort(owners, kind="stable")
    return order, places_within(owners[order]) + 1


class _Places(NamedTuple):
    """Rows of the result."""

    owners: Ids
    """the partition of each row"""
    ranks: Ids
    rows: Ids


class RankedTable(Protocol):
    """A table with rows that were added and removed since ``settle``."""

    def differing(self, one: Ids, other: Ids) -> Flags:
        """For each pair of rows, whether they differ."""

    def rows_of(self, numbers: Ids, kinds: Kinds) -> Iterator[Rows]:
        """These rows in batches, with the given kinds."""


class RankChanges:
    """The changes of a slice: the difference between the ranks of the rows before it and after it.

    :param ranked: (row numbers, the partition of each) -> (indexes by partition and order, the rank of each).
    :param wanted: the first and the last rank of the result.
    :param number: whether the rank is a column of the result.
    :param by_place: whether each rank belongs to one row only.
    """

    def __init__(
        self,
        rows: RankedTable,
        ranked: Callable[[Ids, Ids], tuple[Ids, Ids]],
        wanted: tuple[int, int],
        number: bool,
        by_place: bool,
    ) -> None:
        self._stored = rows
        self._ranked = ranked
        self._first, self._last = wanted
        self._number = number
        self._by_place = by_place

    def between(self, owners: Ids, numbers: Ids, was: Flags, now: Flags, before: bool) -> Iterator[Rows]:
        """The changes of some partitions.

        :param owners: the partition of each of their rows ``numbers``, by partition and arrival.
        :param was: whether a row existed before the slice; ``now``: whether it does now.
        :param before: whether an update includes the old row (-U).
        """
        old, new = (self._result(owners[chosen], numbers[chosen]) for chosen in (was, now))
        if self._by_place and self._number:
            yield from self._rows(*self._of_places(old, new, before))
        else:
            yield from self._rows(*self._of_rows(old, new))

    def _result(self, owners: Ids, numbers: Ids) -> _Places:
        """The result for these rows."""
        order, ranks = self._ranked(numbers, owners)
        wanted = (ranks >= self._first) & (ranks <= self._last)
        order = order[wanted]
        return _Places(owners[order], ranks[wanted], numbers[order])

    def _of_places(self, was: _Places, now: _Places, before: bool) -> tuple[Ids, Ids, Kinds]:
        """The changes where each rank belongs to one row, which may have been replaced."""
        stride = self._last + 1
        mine, theirs = (each.owners * stride + each.ranks for each in (was, now))
        places = np.union1d(mine, theirs)
        old, new = np.full(len(places), -1, np.int64), np.full(len(places), -1, np.int64)
        old[np.searchsorted(places, mine)] = was.rows
        new[np.searchsorted(places, theirs)] = now.rows
        had, has = old >= 0, new >= 0
        updated = had & has & (old != new)
        updated[updated] = self._stored.differing(old[updated], new[updated])
        count = np.arange(len(places))
        chosen, kinds = placed_changes(count, count + len(places), had, has, updated, before)
        return np.concatenate([old, new])[chosen], np.tile(places % stride, 2)[chosen], kinds

    def _of_rows(self, was: _Places, now: _Places) -> tuple[Ids, Ids, Kinds]:
        """The changes as rows that are removed and added, for ranks that are a column."""
        stride = self._last + 1
        mine, theirs = ((each.rows * stride + each.ranks if self._number else each.rows) for each in (was, now))
        gone, come = ~np.isin(mine, theirs), ~np.isin(theirs, mine)
        rows = np.concatenate([was.rows[gone], now.rows[come]])
        ranks = np.concatenate([was.ranks[gone], now.ranks[come]])
        kinds = np.repeat(np.array([DELETE, INSERT], np.uint8), [np.count_nonzero(gone), np.count_nonzero(come)])
        return rows, ranks, kinds

    def _rows(self, numbers: Ids, ranks: Ids, kinds: Kinds) -> Iterator[Rows]:
        start = 0
        for rows in self._stored.rows_of(numbers, kinds):
            if self._number:
                rank = pa.array(ranks[start : start + len(rows)])
                start += len(rows)
                rows = rows.with_columns([*rows.columns, rank])
            yield rows


class FirstRows:
    """The implementation of ``Rank`` for insertions only.

    :param last: the last rank of the result.
    """

    def __init__(
        self, table: FirstOfKey, partition: Sequence[int], rank: Ranking, last: int, changes: RankChanges
    ) -> None:
        self.table = table
        self._partition = partition
        self._rank = rank
        self._last = last
        self._changes = changes
        self._looked = False
        """whether stored rows were looked for since the last changes"""

    def update(self, rows: Rows) -> None:
        """Add the rows of a batch, of which none ranks too low within the batch."""
        self._looked = True
        table, columns = self.table, rows.columns
        ids, first = group_ids([columns[place] for place in self._partition], len(rows))
        keys = taken([columns[place] for place in self._partition], first, len(rows))
        hashes = key_hashes(keys, len(first))
        owners, numbers = table.find_to_write(hashes, at_positions(keys))
        batch = rows.batch
        if len(numbers):
            # Stored rows come first: of equal rows the earlier one ranks higher.
            known = table.take(numbers, table.needed)
            both = [pa.concat_arrays([one, columns[place]]) for one, place in zip(known, table.needed)]
            order, ranks = self._rank(np.concatenate([owners, ids]), table.wide(both))
            wins = np.zeros(len(order), bool)
            wins[order[ranks <= self._last]] = True
            stays, chosen = wins[: len(numbers)], wins[len(numbers) :]
            table.remove(numbers[~stays])
            batch, ids = batch.filter(pa.array(chosen)), ids[chosen]
            if table.expires:  # a partition is written as a whole
                table.renew(numbers[stays & np.isin(owners, ids)])
        table.add(batch, hashes[ids])

    def changes(self, before: bool) -> Iterator[Rows]:
        """The changes since the last call.

        :param before: whether an update includes the old row (-U).
        """
        if not self._looked:
            return
        self._looked = False
        table = self.table
        new = table.new()
        if len(new):
            owners, numbers = table.of_same_keys(new, table.find_readable)
            yield from self._changes.between(owners, numbers, ~table.are_new(numbers), table.alive(numbers), before)
        table.settle()
