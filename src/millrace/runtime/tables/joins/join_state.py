"""One side of a regular join: a multiset of rows by key, with the number of partners of each row where that matters.

Rows that can be retracted, or that need their number of partners, are entries of keyed state. Rows of an append-only
side are in columns.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.relational.rows import Rows
from millrace.runtime.exchange.keys import Hashes
from millrace.runtime.tables.columns.key_hashes import key_hashes
from millrace.runtime.tables.columns.keys import Ids, Key, key_tuples
from millrace.runtime.tables.columns.matching import take_or_null
from millrace.runtime.tables.columns.row_codec import Row, RowCodec
from millrace.runtime.tables.indexed_rows import IndexedRows
from millrace.runtime.tables.state import KeyedMap

Entry = tuple[Row, int, int]
"""(row, number of its copies, number of its partners)"""


@dataclass(frozen=True)
class BatchKeys:
    """The distinct keys of a batch."""

    ids: Ids
    """index of each row's key"""
    columns: Sequence[pa.Array]
    count: int
    nowhere: Any
    """for each key, whether it can have no partner because it contains a NULL that equals nothing (numpy Booleans)"""

    @cached_property
    def hashes(self) -> Hashes:
        return key_hashes(self.columns, self.count)

    def columns_at(self, positions: Ids) -> list[pa.Array]:
        where = pa.array(positions)
        return [column.take(where) for column in self.columns]

    @cached_property
    def tuples(self) -> list[Key]:
        return key_tuples(self.columns, self.count)


class HeldInColumns:
    """The rows of some keys, from a side stored in columns (``IndexedRows``)."""

    def __init__(self, rows: IndexedRows, keys: BatchKeys) -> None:
        owners, self._numbers = rows.find(keys.hashes, keys.columns_at)
        if keys.nowhere.any():
            meets = ~keys.nowhere[owners]
            owners, self._numbers = owners[meets], self._numbers[meets]
        self._rows = rows
        self.sizes = np.bincount(owners, minlength=keys.count)
        self.starts = np.cumsum(self.sizes) - self.sizes
        self.copies = np.ones(len(owners), np.int64)
        self.partners = np.zeros(len(owners), np.int64)

    def columns(self, needed: Collection[int]) -> list[pa.Array]:
        """The columns of the rows with these indexes; None in place of the other columns."""
        places = sorted(needed)
        found: list[pa.Array] = [None] * len(self._rows.types)
        for place, column in zip(places, self._rows.take(self._numbers, places)):
            found[place] = column
        return found

    def taken(self, positions: Ids) -> list[pa.Array]:
        """The columns of the rows at these positions, NULLs for negative ones."""
        missing = positions < 0
        if missing.any():
            return [take_or_null(column, positions) for column in self._rows.take(self._numbers)]
        return self._rows.take(self._numbers[positions])

    def set_partners(self, positions: Ids, partners: Ids) -> None:
        """Does nothing: rows in columns have no number of partners."""


class Held:
    """The rows of some keys, from a side stored as entries, read at once. The rows of an address are neighbours."""

    def __init__(self, side: JoinSide, addresses: Iterable[Key | None]) -> None:
        """:param addresses: the keys to read; None for one without rows."""
        self._side = side
        self.rows: list[Row] = []
        self.places: list[tuple[Key, Any]] = []
        """(address, key of the entry) of each row"""
        copies: list[int] = []
        partners: list[int] = []
        starts: list[int] = []
        for address in addresses:
            starts.append(len(self.rows))
            if address is None:
                continue
            for place, (row, count, known) in side.entries(address):
                self.rows.append(row)
                self.places.append((address, place))
                copies.append(count)
                partners.append(known)
        self.starts = np.array(starts, np.int64)
        self.sizes = np.diff(np.append(self.starts, len(self.rows)))
        self.copies = np.array(copies, np.int64)
        self.partners = np.array(partners, np.int64)

    @cached_property
    def _columns(self) -> list[pa.Array]:
        return self._side.codec.columns(self.rows)

    def columns(self, needed: Collection[int]) -> list[pa.Array]:
        """All columns of the rows, of which ``needed`` are used."""
        return self._columns

    def taken(self, positions: Ids) -> list[pa.Array]:
        """The columns of the rows at these positions, NULLs for negative ones."""
        return [take_or_null(column, positions) for column in self._columns]

    def set_partners(self, positions: Ids, partners: Ids) -> None:
        """Set the number of partners of the rows at these positions."""
        for position, count in zip(positions.tolist(), partners.tolist()):
            address, place = self.places[position]
            self._side.put(address, place, (self.rows[position], int(self.copies[position]), count))


class AddedSide:
    """One side of a join with insertions only."""

    def __init__(self, rows: IndexedRows) -> None:
        self._rows = rows

    def held(self, keys: BatchKeys) -> HeldInColumns:
        return HeldInColumns(self._rows, keys)

    def keep(self, keys: BatchKeys, rows: Rows, partners: Ids) -> None:
        """Store these rows, except those that can never have a partner.

        :raises ValueError: there are changes other than insertions.
        """
        if not rows.adds().all():
            raise ValueError("an input of the join was planned to have insertions only, but takes rows back")
        ids = keys.ids
        if keys.nowhere.any():
            kept = ~keys.nowhere[ids]
            rows, ids = rows.where(kept), ids[kept]
        self._rows.add(rows.batch, keys.hashes[ids])


class JoinSide:
    """One side of a join whose rows are state entries.

    :param counts_partners: whether the result depends on whether a row has partners.
    :param unique: columns that identify a row: a new row replaces the one with the same values.
    """

    def __init__(
        self, state: KeyedMap, codec: RowCodec, counts_partners: bool, unique: tuple[int, ...] | None = None
    ) -> None:
        self._state = state
        self.codec = codec
        self._counts = counts_partners
        self._unique = unique
        self._unpack: Callable[[Any, Any], Entry] = self._unpacking()

    def _unpacking(self) -> Callable[[Any, Any], Entry]:
        # Only what is needed is stored, since there may be millions of rows.
        if self._unique is not None:
            return (lambda _, value: (value[0], 1, value[1])) if self._counts else lambda _, value: (value, 1, 0)
        return (lambda row, value: (row, *value)) if self._counts else lambda row, value: (row, value, 0)

    def held(self, keys: BatchKeys) -> Held:
        """The stored rows of these keys."""
        if not keys.nowhere.any():
            return Held(self, keys.tuples)
        return Held(self, [None if none else key for key, none in zip(keys.tuples, keys.nowhere.tolist())])

    def keep(self, keys: BatchKeys, rows: Rows, partners: Ids) -> None:
        """Apply the changes, except for rows that can never have a partner.

        :param partners: number of partners of each row.
        """
        ids, tuples = keys.ids, keys.tuples
        if keys.nowhere.any():
            kept = ~keys.nowhere[ids]
            rows, ids, partners = rows.where(kept), ids[kept], partners[kept]
        content = self.codec.rows(rows.columns, len(rows))
        self.change([tuples[each] for each in ids.tolist()], content, rows.adds().tolist(), partners.tolist())

    def entries(self, address: Key) -> Iterable[tuple[Any, Entry]]:
        """(key of the entry, entry) of all rows with a key."""
        unpack, items = self._unpack, self._state.items(address)
        return [(place, unpack(place, value)) for place, value in items] if items else ()

    def put(self, address: Key, place: Any, entry: Entry) -> None:
        row, count, partners = entry
        first: Any = row if self._unique is not None else count
        self._state.put(address, place, (first, partners) if self._counts else first)

    def change(self, addresses: Sequence[Key], rows: Sequence[Row], adds: Sequence[bool], partners: list[int]) -> None:
        """Add and retract rows, in order. ``partners`` is the number of partners of each row."""
        if self._unique is not None:
            self._replace(addresses, rows, adds, partners)
        elif self._counts:
            self._count_with_partners(addresses, rows, adds, partners)
        else:
            self._count(addresses, rows, adds)

    def _replace(
        self, addresses: Sequence[Key], rows: Sequence[Row], adds: Sequence[bool], partners: list[int]
    ) -> None:
        put, remove, unique, counts = self._state.put, self._state.remove, self._unique or (), self._counts
        for address, row, add, known in zip(addresses, rows, adds, partners):
            place = tuple([row[column] for column in unique])
            if add:
                put(address, place, (row, known) if counts else row)
            else:
                remove(address, place)

    def _count_with_partners(
        self, addresses: Sequence[Key], rows: Sequence[Row], adds: Sequence[bool], partners: list[int]
    ) -> None:
        get, put, remove = self._state.get, self._state.put, self._state.remove
        for address, row, add, known in zip(addresses, rows, adds, partners):
            found = get(address, row)
            if add:
                put(address, row, (1 if found is None else found[0] + 1, known))
            elif found is not None:  # else it has expired
                if found[0] > 1:
                    put(address, row, (found[0] - 1, found[1]))
                else:
                    remove(address, row)

    def _count(self, addresses: Sequence[Key], rows: Sequence[Row], adds: Sequence[bool]) -> None:
        get, put, remove = self._state.get, self._state.put, self._state.remove
        for address, row, add in zip(addresses, rows, adds):
            found = get(address, row)
            if add:
                put(address, row, 1 if found is None else found + 1)
            elif found is not None:
                if found > 1:
                    put(address, row, found - 1)
                else:
                    remove(address, row)
