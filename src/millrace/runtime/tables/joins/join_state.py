"""One side of a regular join: a multiset of rows by key, with the number of partners of each row where that matters."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.relational.rows import Rows
from millrace.runtime.exchange.keys import Hashes
from millrace.runtime.tables.columns.key_hashes import key_hashes
from millrace.runtime.tables.columns.keys import Ids, at_indexes, rows_at
from millrace.runtime.tables.columns.matching import take_or_null
from millrace.runtime.tables.counted_rows import CountedRows
from millrace.runtime.tables.joins.inserted_rows import IndexedRows


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
        return rows_at(self.columns, positions)


class Held:
    """Stored rows of one side, and their places among the rows of some keys.

    :param keys: for each row the index of its key; the rows of a key are neighbours.
    :param numbers: the numbers of the rows in their table.
    :param count: the number of keys.
    """

    def __init__(self, side: AddedSide | ChangingSide, keys: Ids, numbers: Ids, count: int) -> None:
        self._side = side
        self._numbers = numbers
        self.sizes = np.bincount(keys, minlength=count)
        self.starts = np.cumsum(self.sizes) - self.sizes
        self.copies, self.partners = side.copies_and_partners(numbers)

    def columns(self, needed: Collection[int]) -> list[pa.Array]:
        """The columns of the rows with these indexes; None in place of the other columns."""
        places, rows = sorted(needed), self._side.rows
        return at_indexes(rows.take(self._numbers, places), places, len(rows.types))

    def taken(self, positions: Ids) -> list[pa.Array]:
        """The columns of the rows at these positions, NULLs for negative ones."""
        missing = positions < 0
        if missing.any():
            return [take_or_null(column, positions) for column in self._side.rows.take(self._numbers)]
        return self._side.rows.take(self._numbers[positions])

    def set_partners(self, positions: Ids, partners: Ids) -> None:
        """Set the number of partners of the rows at these positions, where the side has such numbers."""
        self._side.set_partners(self._numbers[positions], self.copies[positions], partners)


class AddedSide:
    """One side of a join with insertions only, whose rows have no number of partners."""

    def __init__(self, rows: IndexedRows) -> None:
        self.rows = rows

    def held(self, keys: BatchKeys) -> Held:
        """The stored rows of these keys."""
        return _held(self, keys, *self.rows.find(keys.hashes, keys.columns_at))

    def copies_and_partners(self, numbers: Ids) -> tuple[Ids, Ids]:
        """For each of these rows the number of its copies, and of its partners."""
        return np.ones(len(numbers), np.int64), np.zeros(len(numbers), np.int64)

    def set_partners(self, numbers: Ids, copies: Ids, partners: Ids) -> None:
        """Does nothing: the rows have no number of partners."""

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
        self.rows.add(rows.batch, keys.hashes[ids])

    def settle(self) -> None:
        """Expired rows may be dropped: no row numbers are used any more."""
        self.rows.settle()


class ChangingSide:
    """One side of a join whose rows can be removed again, or have a number of partners.

    :param rows: with the number of copies as a mark, unless ``unique`` is set, and that of partners if it is needed.
    :param counts_partners: whether the result depends on whether a row has partners.
    :param unique: whether a row replaces the one with the same unique columns.
    """

    def __init__(self, rows: CountedRows, counts_partners: bool, unique: bool) -> None:
        self.rows = rows
        self._counts = counts_partners
        self._unique = unique

    def held(self, keys: BatchKeys) -> Held:
        """The stored rows of these keys."""
        return _held(self, keys, *self.rows.of_keys(keys.hashes, keys.columns_at))

    def copies_and_partners(self, numbers: Ids) -> tuple[Ids, Ids]:
        """For each of these rows the number of its copies, and of its partners."""
        marks = [each.to_numpy() for each in self.rows.slots(numbers)]
        copies = np.ones(len(numbers), np.int64) if self._unique else marks[0]
        return copies, marks[-1] if self._counts else np.zeros(len(numbers), np.int64)

    def set_partners(self, numbers: Ids, copies: Ids, partners: Ids) -> None:
        """Set the number of partners of these rows, whose number of copies stays."""
        if self._counts:
            marks = [partners] if self._unique else [copies, partners]
            self.rows.write(numbers, [pa.array(each) for each in marks])

    def keep(self, keys: BatchKeys, rows: Rows, partners: Ids) -> None:
        """Apply the changes, except for rows that can never have a partner.

        :param partners: number of partners of each row.
        """
        if keys.nowhere.any():
            kept = ~keys.nowhere[keys.ids]
            rows, partners = rows.where(kept), partners[kept]
        if not len(rows):
            return
        columns, adds, marks = rows.columns[: len(self.rows.types)], rows.adds(), [partners] if self._counts else []
        if self._unique:
            self.rows.replace(columns, adds, marks)
        else:
            self.rows.count(columns, np.where(adds, 1, -1), marks)

    def settle(self) -> None:
        """Removed rows may be dropped, and rows may leave memory: no row numbers are used any more."""
        self.rows.settle()


def _held(side: AddedSide | ChangingSide, keys: BatchKeys, owners: Ids, numbers: Ids) -> Held:
    if keys.nowhere.any():
        meets = ~keys.nowhere[owners]
        owners, numbers = owners[meets], numbers[meets]
    return Held(side, owners, numbers, keys.count)
