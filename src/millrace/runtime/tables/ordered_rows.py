"""State with the present rows of each key, in the order in which they arrived; each copy of a row is one of its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from millrace.relational.rows import record_batch
from millrace.relational.types import DataType
from millrace.runtime.rows.expiry import Expiry, expiry_of_copy
from millrace.runtime.rows.hashes import Flags
from millrace.runtime.state.column_deltas import Changes, Form
from millrace.runtime.tables.base import TableConfig
from millrace.runtime.tables.columns.batch_bytes import types_as_bytes, types_of
from millrace.runtime.tables.columns.key_hashes import key_hashes
from millrace.runtime.tables.columns.keys import Ids, group_ids, key_tuples, places_within, rows_at, taken
from millrace.runtime.tables.counted_rows import CountedRows, counted
from millrace.runtime.tables.indexed_rows import at_positions
from millrace.runtime.tables.stored_rows import PLACED, PLACED_BY_KEY, StoredRows

PLACES = "rows"
"""name of the state"""


def placed_rows(
    config: TableConfig, types: Iterable[DataType], unique: Sequence[int] | None, compared: Sequence[int] | None
) -> StoredRows:
    """The layout of the state of ``ArrivedRows`` with the rows of the only input.

    :param types: of the input's columns.
    """
    form, names = (PLACED, compared) if unique is None else (PLACED_BY_KEY, unique)
    return config.rows_in(PLACES, form, 0, types, names)


def oldest_removed(stored: Ids, changes: Ids, adds: Flags, count: int) -> tuple[Flags, Ids]:
    """The outcome of changes that are applied in order, of which each removal takes the oldest one of equal rows, and
    has no effect if there is none.

    :param stored: what equal rows share, a number below ``count``, for the stored rows in the order of their arrival.
    :param changes: the same for the changes; ``adds``: for each of them whether it adds a row, or removes one.
    :return: (whether each stored row is removed, the indexes of the changes whose rows are left)
    """
    sizes = np.bincount(stored, minlength=count)
    left, _ = counted(changes, sizes, np.where(adds, 1, -1))
    added = np.bincount(changes[adds], minlength=count)
    # Rows are removed in the order of their arrival, so those that arrived last are left.
    order = np.argsort(stored, kind="stable")
    gone = np.zeros(len(stored), bool)
    gone[order] = places_within(stored[order]) < (sizes - np.maximum(left - added, 0))[stored[order]]
    new = np.flatnonzero(adds)
    order = new[np.argsort(changes[new], kind="stable")]
    of = changes[order]
    return gone, np.sort(order[places_within(of) >= (added - np.minimum(added, left))[of]])


class Touched(NamedTuple):
    """The rows of all keys that have changed since ``settle``, by key and arrival."""

    owners: Ids
    """the key of each row; keys are numbered in the order of their first change"""
    numbers: Ids
    was: Flags
    """whether each row existed when ``settle`` was last called"""
    now: Flags
    """whether each row exists"""


class ArrivedRows(CountedRows):
    """Rows by key.

    :param types: the types of a row's columns.
    :param key: indexes of the key columns.
    :param unique: columns by which changes identify rows: a new row replaces the one before. None: changes contain the
        whole row, and equal rows may exist several times.
    :param compared: columns in which equal rows agree, if ``unique`` is None; None: all. Values that are computed again
        for a deletion, as RAND(), do not identify a row.
    :param expiry: when rows expire, each copy by itself; None: never.

    In a savepoint a key has a dict: the row, its unique or its compared columns -> (arrival numbers, row), with a time
    to live (time of the last arrival in ms, (arrival numbers, row)).
    """

    def __init__(
        self,
        types: Sequence[pa.DataType],
        key: Sequence[int],
        unique: Sequence[int] | None,
        compared: Sequence[int] | None,
        expiry: Expiry | None = None,
    ) -> None:
        super().__init__(types, key, compared if unique is None else unique, 0, expiry)
        self._names = self._unique
        self._replaces = unique is not None
        self._made_of = (types_as_bytes(types), self._key, unique, compared)
        self._begin()

    def _begin(self) -> None:
        self._changed: list[list[pa.Array]] = []
        """the keys of the changes since ``settle``"""
        self._ended: list[Ids] = []
        """the rows that existed then, and were removed since"""

    def change(self, columns: Sequence[pa.Array], adds: Flags) -> None:
        """Add and remove rows, in order. Of equal rows the oldest one is removed; a removal of a row that does not
        exist has no effect.

        :param adds: for each row whether it is added, or removed.
        """
        self._changed.append([columns[place] for place in self._key])
        if self._replaces:
            found = self.replace(columns, adds)
            before = found.before[found.before >= 0]
            self._end(before[~self._alive[before]])
            return
        of_row, first = group_ids([columns[place] for place in self._found_by], len(adds))
        owners, numbers = self._copies(taken(columns, first, len(adds)), len(first))
        ends, stays = oldest_removed(owners, of_row, adds, len(first))
        gone = numbers[ends]
        self.remove(gone)
        self._end(gone)
        self._add(columns, stays)

    def _copies(self, rows: Sequence[pa.Array], length: int) -> tuple[Ids, Ids]:
        """(index of a row, number of a stored row that equals it), by index and by arrival.

        :param rows: as columns, without duplicates.
        """
        wanted = [rows[place] for place in self._found_by]
        return self.find_to_write(self.hashes(rows, length), at_positions(wanted))

    def _end(self, numbers: Ids) -> None:
        self._ended.append(numbers[~self.are_new(numbers)])

    def _add(self, columns: Sequence[pa.Array], rows: Ids) -> Ids:
        """Add these rows of a batch; returns their numbers."""
        new, first = rows_at(columns, rows), self.length
        self._keep(record_batch(new, len(rows)), self.hashes(new, len(rows)))
        numbers = np.arange(first, self.length)
        self.write(numbers, [])
        return numbers

    def touched(self) -> Touched | None:
        """The rows of the keys that have changed since ``settle``; None: nothing has changed."""
        if not self._changed:
            return None
        changed = [pa.concat_arrays(parts) for parts in zip(*self._changed)]
        count = len(changed[0]) if changed else sum(map(len, self._ended)) + 1
        first = group_ids(changed, count)[1]
        keys = taken(changed, first, count)
        owners, numbers = self.of_keys(key_hashes(keys, len(first)), at_positions(keys))
        ended = np.concatenate([np.zeros(0, np.int64), *self._ended])
        if len(ended):
            both = [pa.concat_arrays(pair) for pair in zip(keys, self.take(ended, self._key))]
            of_ended = group_ids(both, len(first) + len(ended))[0][len(first) :]
            owners, numbers = np.concatenate([owners, of_ended]), np.concatenate([numbers, ended])
            order = np.lexsort((numbers, owners))
            owners, numbers = owners[order], numbers[order]
        return Touched(owners, numbers, ~self.are_new(numbers), self._alive[numbers])

    def settle(self) -> None:
        super().settle()
        self._begin()

    # -- as a table -----------------------------------------------------------------------------------------------

    def form(self) -> Form:
        return "arrived rows", (*self._made_of, *self._lifetime)

    @classmethod
    def told(  # type: ignore[override]
        cls,
        types: bytes,
        key: Sequence[int],
        unique: Sequence[int] | None,
        compared: Sequence[int] | None,
        ttl: int = 0,
    ) -> ArrivedRows:
        return cls(types_of(types), key, unique, compared, expiry_of_copy(ttl))

    def _replace(self, batch: pa.RecordBatch) -> None:
        if self._replaces:
            super()._replace(batch)
            return
        own, times = self._without_times(batch.columns)
        if self._disk is not None:  # older rows of the keys stand before these
            self._disk.fetch(key_hashes([batch.column(place) for place in self._key], batch.num_rows))
        self._restore(self._add(own, np.arange(batch.num_rows)), times)

    def remove(self, numbers: Ids) -> None:
        if len(numbers):
            self._gone.append(record_batch(self.stored_columns(numbers), len(numbers)))
            self._drop(numbers)

    def _forget(self, keys: Sequence[pa.Array], length: int) -> None:
        of_row, first = group_ids([keys[place] for place in self._found_by], length)
        distinct = taken(keys, first, length)
        wanted = [distinct[place] for place in self._found_by]
        owners, numbers = self._find_expired_too(self.hashes(distinct, len(first)), at_positions(wanted))
        gone = np.bincount(of_row)[owners]
        if self._expiry is not None and not self._replaces:
            # Older copies than the last one that is removed have been removed, too, or have expired.
            times = keys[-1].to_numpy()
            last = np.full(len(first), np.iinfo(np.int64).min)
            np.maximum.at(last, of_row, times)
            at_last = np.bincount(of_row[times == last[of_row]], minlength=len(first))
            written = self._expiry.times(numbers).to_numpy()
            older = np.bincount(owners[written < last[owners]], minlength=len(first))
            gone = (older + at_last)[owners]
        self._drop(numbers[places_within(owners) < gone])

    def batch_of(self, entries: Changes) -> pa.RecordBatch | None:
        placed = [
            (place, row, stamps)
            for _, stored, _ in entries.values()
            for (places, row), stamps in map(self.unstamped, stored.values())
            for place in places
        ]
        if not placed:
            return None
        placed.sort(key=lambda each: each[0])
        stamps = [pa.array(each, pa.int64()) for each in zip(*(stamp for _, _, stamp in placed))]
        return record_batch([*self._codec.columns([row for _, row, _ in placed]), *stamps], len(placed))

    def entries_of(self, batch: pa.RecordBatch) -> Changes:
        columns, length = batch.columns[: len(self.types)], batch.num_rows
        rows = self._codec.rows(columns, length)
        names = rows if self._names is None else key_tuples([columns[place] for place in self._names], length)
        places: dict[Any, int] = {}
        found: Changes = {}
        stamped = self.stamped(rows, batch)
        for key, name, entry in zip(self._keys_of(columns, length), names, stamped):
            row, stamps = self.unstamped(entry)
            place = places[key] = places.get(key, 0) + 1
            stored = found.setdefault(key, (True, {}, []))[1]
            before = self.unstamped(stored[name])[0][0] if name in stored else ()
            stored[name] = (*stamps, ((*before, place), row)) if stamps else ((*before, place), row)
        return found
