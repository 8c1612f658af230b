"""Rows by key that can be removed again, in columns: each row with marks, numbers that are overwritten in place.

It is the state of what takes changes back: the sides of a join have the number of a row's copies and partners, a
DISTINCT argument the number of its occurrences. Rows of a key are in the order of arrival.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from millrace.relational.rows import record_batch
from millrace.runtime.exchange.keys import Hashes
from millrace.runtime.rows.expiry import Expiry, expiry_of_copy
from millrace.runtime.rows.hashes import Flags
from millrace.runtime.state.column_deltas import SINCE, Changes, Form
from millrace.runtime.state.tables import ABSENT, MapTable, ValueTable
from millrace.runtime.tables.columns.batch_bytes import types_as_bytes, types_of
from millrace.runtime.tables.columns.key_hashes import key_hashes, row_hashes
from millrace.runtime.tables.columns.keys import Ids, Key, group_ids, key_tuples, rows_at, taken
from millrace.runtime.tables.columns.row_codec import Row, RowCodec, cell_values
from millrace.runtime.tables.expiring_rows import ExpiringRows
from millrace.runtime.tables.group_table import GroupTable
from millrace.runtime.tables.indexed_rows import AddedRows, at_positions, equal_rows
from millrace.runtime.tables.replaced_rows import MANY_DEAD

Entry = Any
"""what a savepoint has for a row at its key: its marks, or itself; with its time if it expires"""
_SHIFT = np.uint64(32)


class CountedRows(GroupTable):
    """A map from row to marks at each key.

    :param types: the types of a row's columns.
    :param key: indexes of the key columns.
    :param unique: indexes of the columns that identify a row of a key: a new row replaces the one with the same values.
        None: all columns do.
    :param marks: the number of a row's marks (BIGINT).
    :param expiry: when rows expire, each by itself; None: never.
    :param values: the types of values behind the marks that are overwritten in place, too, and may be NULL: for
        subclasses, which write them.

    In a savepoint a key has a dict: with ``unique`` (its values) -> (row, marks ...), or just the row if there are no
    marks; else row -> (marks ...), or just the mark if there is one. With a time to live a value is (time of the row's
    last write in ms, value).
    """

    kind = MapTable.kind

    def __init__(
        self,
        types: Sequence[pa.DataType],
        key: Sequence[int],
        unique: Sequence[int] | None,
        marks: int,
        expiry: Expiry | None = None,
        values: Sequence[pa.DataType] = (),
    ) -> None:
        identity = range(len(types)) if unique is None else sorted({*key, *unique})
        nullable = [False] * marks + [True] * len(values)
        super().__init__(types, [*[pa.int64()] * marks, *values], nullable, expiry, identity)
        self._key, self._unique, self._width = tuple(key), None if unique is None else tuple(unique), marks
        self._made_of = (types_as_bytes(types), self._key, self._unique, marks)
        self._codec = RowCodec(types)

    # -- rows are found -------------------------------------------------------------------------------------------

    def of_keys(self, hashes: Hashes, wanted: Callable[[Ids], Sequence[pa.Array]]) -> tuple[Ids, Ids]:
        """(index of a key, number of a row with that key), by index and then by arrival.

        :param hashes: the hashes of the keys.
        :param wanted: gives the key columns, for indexes into ``hashes``; NULL equals NULL.
        """
        return self._live(*self._of_keys_expired_too(hashes, wanted))

    def of_keys_to_write(self, hashes: Hashes, wanted: Callable[[Ids], Sequence[pa.Array]]) -> tuple[Ids, Ids]:
        """As ``of_keys``, for keys that the operator writes next: their expired rows are removed."""
        return self._to_write(*self._of_keys_expired_too(hashes, wanted))

    def _of_keys_expired_too(self, hashes: Hashes, wanted: Callable[[Ids], Sequence[pa.Array]]) -> tuple[Ids, Ids]:
        if self._disk is not None:
            self._disk.fetch(hashes)
        owners, numbers = self.find_hashes(hashes)
        if len(owners):
            same = equal_rows(wanted(owners), self.take(numbers, self._key), len(owners))
            owners, numbers = owners[same], numbers[same]
        if self._disk is not None:
            self._disk.used(numbers)
        return owners, numbers

    def numbers_of(self, keys: Sequence[pa.Array], length: int) -> Ids:
        """The number of each key's row, where a key has at most one; -1: it has none."""
        owners, numbers = self.of_keys(key_hashes(keys, length), at_positions(keys))
        return _Found(owners, numbers).places(length)

    @property
    def crowded(self) -> bool:
        """Whether changes should be emitted and ``settle`` called before the slice ends, because many rows were
        replaced."""
        return self._dead > MANY_DEAD

    def everything(self) -> Ids:
        """The numbers of all rows, by arrival: those on disk come into memory."""
        if self._disk is not None:
            self._disk.fetch_all()
        return self.shown_numbers()

    def find_hashes(self, hashes: Hashes) -> tuple[Ids, Ids]:
        return self._index.find_prefixes(hashes, _SHIFT, self._findable())

    def hashes(self, keys: Sequence[pa.Array], length: int) -> Hashes:
        """The hash of the key above that of the columns that identify a row."""
        of_key = key_hashes([keys[place] for place in self._key], length)
        found: Hashes = of_key << _SHIFT | row_hashes([keys[place] for place in self._found_by], length)
        return found

    def _of_disk(self, hashes: Hashes) -> Hashes:
        found: Hashes = hashes >> _SHIFT
        return found

    def hashes_of(self, numbers: Ids) -> Hashes:
        return key_hashes(self.take(numbers, self._key), len(numbers))

    @property
    def divided_by(self) -> Sequence[int]:
        return self._key

    # -- rows come and go -----------------------------------------------------------------------------------------

    def count(self, columns: Sequence[pa.Array], changes: Ids, marks: Sequence[Ids] = ()) -> None:
        """Add and remove copies of rows that are identified by all columns; the first mark is the number of copies. A
        removal of a row that does not exist has no effect.

        :param changes: the copies that each row adds (positive) or removes, in order.
        :param marks: the further marks of each row; those of the last one that adds copies count.
        """
        of_row, first = group_ids(columns, len(changes))
        found = self._looked_up(taken(columns, first, len(changes)), len(first))
        before, *old = self._marks_of(found, len(first))
        after, since = counted(of_row, before, changes)
        last = _last_where(of_row, len(first), changes > 0)
        further = [np.where(last < 0, known, new[last]) for known, new in zip(old, marks)]
        self._store_changes(found, columns, first, after > 0, since, [after, *further])

    def replace(self, columns: Sequence[pa.Array], adds: Flags, marks: Sequence[Ids] = ()) -> Replaced:
        """Replace and remove rows that are identified by ``unique``.

        :param adds: for each row whether it is added, or removed.
        :param marks: the marks of each row.
        :return: the identities among the rows. Rows that were removed can be read until ``settle``.
        """
        length = len(adds)
        identity = [columns[place] for place in self._found_by]
        of_row, first = group_ids(identity, length)
        last = _last_where(of_row, len(first), np.ones(length, bool))
        found = self._looked_up(taken(columns, first, length), len(first))
        content, _ = group_ids(columns, length)
        order = np.argsort(of_row, kind="stable")
        same = np.zeros(length, bool)
        """for each row whether it is what was there before it"""
        one, other = order[1:], order[:-1]
        again = (of_row[one] == of_row[other]) & adds[one] & adds[other]
        same[one] = again & (content[one] == content[other])
        if len(found.there):
            stored = self.take(found.numbers)
            given = rows_at(columns, first[found.there])
            same[first[found.there]] = adds[first[found.there]] & equal_rows(stored, given, len(stored[0]))
        since = _last_where(of_row, len(first), adds & ~same)
        before = found.places(len(first))
        self._store_changes(found, columns, last, adds[last], since, [each[last] for each in marks])
        return Replaced(of_row, first, last, before)

    def _looked_up(self, columns: Sequence[pa.Array], length: int) -> _Found:
        """The stored rows with these identities, which are distinct; expired ones are removed."""
        wanted = [columns[place] for place in self._found_by]
        return _Found(*self.find_to_write(self.hashes(columns, length), at_positions(wanted)))

    def _marks_of(self, found: _Found, count: int) -> list[Ids]:
        """The marks of the rows with ``count`` identities, 0 for one that is not stored.

        :param found: the stored ones.
        """
        marks = [np.zeros(count, np.int64) for _ in range(self._width)]
        for each, stored in zip(marks, self.slots(found.numbers)):
            each[found.there] = _numbers(stored)
        return marks

    def _store_changes(
        self,
        found: _Found,
        columns: Sequence[pa.Array],
        rows: Ids,
        stays: Flags,
        since: Ids,
        marks: Sequence[Ids],
    ) -> Ids:
        """Store the outcome of a batch.

        :param found: the stored rows among them.
        :param rows: for each identity the index of its row in ``columns``.
        :param stays: which of them exist now.
        :param since: for each identity the index of the row with which it came into being; -1: it is the stored one.
        :param marks: the marks for each identity.
        :return: the number of each identity's row; that of one that was removed means nothing.
        """
        number = found.places(len(rows))
        stored = number >= 0
        there = np.flatnonzero(stored & stays & (since < 0))
        if len(there):
            self.write(number[there], [pa.array(each[there]) for each in marks])
        ends = stored & ~(stays & (since < 0))
        replaced = np.flatnonzero(ends & stays & (self._unique is not None))
        if len(replaced):
            # A copy of the table drops a row when it gets another one with its unique columns.
            other = ~equal_rows(self.take(number[replaced]), rows_at(columns, rows[replaced]), len(replaced))
            self._drop(number[replaced[other]])
            ends[replaced[other]] = False
        self.remove(number[ends])
        fresh = np.flatnonzero(stays & ((since >= 0) | ~stored))
        if not len(fresh):
            return number
        fresh = fresh[np.argsort(since[fresh], kind="stable")]
        new = rows_at(columns, rows[fresh])
        first = self.length
        self._keep(record_batch(new, len(fresh)), self.hashes(new, len(fresh)))
        number[fresh] = np.arange(first, self.length)
        self.write(number[fresh], [pa.array(each[fresh]) for each in marks])
        return number

    def append_own(self, columns: Sequence[pa.Array], hashes: Hashes) -> None:
        super().append_own(columns, self.hashes(columns, len(hashes)))

    # -- as a table -----------------------------------------------------------------------------------------------

    def form(self) -> Form:
        return "counted rows", (*self._made_of, *self._lifetime)

    @classmethod
    def told(  # type: ignore[override]  # the arguments of another form
        cls, types: bytes, key: Sequence[int], unique: Sequence[int] | None, marks: int, ttl: int = 0
    ) -> CountedRows:
        return cls(types_of(types), key, unique, marks, expiry_of_copy(ttl))

    def apply(self, changes: Changes) -> None:
        if any(self._is_part(entry) for at, entry in changes.items() if at != SINCE):
            raise ValueError(
                "a checkpoint of an earlier version of Millrace has the rows of this state one by one: take a "
                "savepoint of that job instead"
            )
        super().apply(changes)

    def _is_part(self, entry: Entry) -> bool:
        """Whether this is a change of a key, and not all that it has."""
        return entry is ABSENT or not entry[0]

    def _replace(self, batch: pa.RecordBatch) -> None:
        width, length = len(self.types), batch.num_rows
        own, times = self._without_times(batch.columns)
        columns = own[:width]
        found = self._looked_up(columns, length)
        since = np.arange(length)
        if len(found.there):
            same = equal_rows(self.take(found.numbers), rows_at(columns, found.there), len(found.there))
            since[found.there[same]] = -1
        marks = [_numbers(each) for each in own[width:]]
        numbers = self._store_changes(found, columns, np.arange(length), np.ones(length, bool), since, marks)
        self._restore(numbers, times)

    def _forget(self, keys: Sequence[pa.Array], length: int) -> None:
        wanted = [keys[place] for place in self._found_by]
        self._drop(self._find_expired_too(self.hashes(keys, length), at_positions(wanted))[1])

    def batch_of(self, entries: Changes) -> pa.RecordBatch | None:
        rows, marks = list[Row](), list[Sequence[int]]()
        for _, stored, _ in entries.values():
            for name, entry in stored.items():
                value, stamps = self.unstamped(entry)
                row, numbers = self._apart(name, value)
                rows.append(row)
                marks.append((*numbers, *stamps))
        if not rows:
            return None
        columns = [pa.array(each, pa.int64()) for each in zip(*marks)]
        return record_batch([*self._codec.columns(rows), *columns], len(rows))

    def _apart(self, name: Row, value: Entry) -> tuple[Row, Sequence[int]]:
        """(row, marks) of an entry of a savepoint."""
        if self._unique is None:
            return name, value if self._width > 1 else (value,)
        return (value[0], value[1:]) if self._width else (value, ())

    def entries_of(self, batch: pa.RecordBatch) -> Changes:
        width, length = len(self.types), batch.num_rows
        columns = batch.columns[:width]
        rows = self._codec.rows(columns, length)
        marks = self._together(rows, batch.columns[width : width + self._width])
        names = rows if self._unique is None else self._names_of(columns, length)
        values = [row if mark == () else mark for row, mark in zip(rows, marks)]
        found: Changes = {}
        for key, name, value in zip(self._keys_of(columns, length), names, self.stamped(values, batch)):
            found.setdefault(key, (True, {}, []))[1][name] = value
        return found

    def _names_of(self, columns: Sequence[pa.Array], length: int) -> list[Row]:
        """The values of the unique columns, as in rows."""
        unique = [cell_values(columns[place]) for place in self._unique or ()]
        return list(zip(*unique)) if unique else [()] * length

    def _together(self, rows: Sequence[Row], marks: Sequence[pa.Array]) -> list[Entry]:
        """The value of each row's entry in a savepoint; () for the row itself."""
        numbers = [each.to_pylist() for each in marks]
        if self._unique is not None:
            return list(zip(rows, *numbers)) if numbers else [()] * len(rows)
        return numbers[0] if len(numbers) == 1 else list(zip(*numbers))

    def _keys_of(self, columns: Sequence[pa.Array], length: int) -> list[Key]:
        return key_tuples([columns[place] for place in self._key], length)

    def row(self, at: Key) -> Entry:
        entry = self._entry(at)
        return None if entry is None else entry[1]

    def content(self, at: Key) -> Entry:
        return ExpiringRows.content(self, at)

    def entry_pieces(self) -> Iterator[Changes]:
        return AddedRows.entry_pieces(self)

    def _entry(self, at: Key) -> Entry:
        keys = self._columns_of_key(at)
        numbers = self.of_keys(key_hashes(keys, 1), at_positions(keys))[1]
        return self.entries_of(record_batch(self.stored_columns(numbers), len(numbers))).get(at)


class PresentRows(CountedRows):
    """The present row of each key. In a savepoint it is the row at its key, with a time to live (time of its last write
    in ms, row).

    :param key: indexes of the key columns.
    """

    kind = ValueTable.kind

    def __init__(self, types: Sequence[pa.DataType], key: Sequence[int], expiry: Expiry | None = None) -> None:
        super().__init__(types, key, key, 0, expiry)
        self._made_of = (types_as_bytes(types), self._key)

    def form(self) -> Form:
        return "present rows", (*self._made_of, *self._lifetime)

    @classmethod
    def told(cls, types: bytes, key: Sequence[int], ttl: int = 0) -> PresentRows:  # type: ignore[override]
        return cls(types_of(types), key, expiry_of_copy(ttl))

    def batch_of(self, entries: Changes) -> pa.RecordBatch | None:
        found = list(map(self.unstamped, entries.values()))
        if not found:
            return None
        times = [pa.array(each, pa.int64()) for each in zip(*(stamps for _, stamps in found))]
        return record_batch([*self._codec.columns([row for row, _ in found]), *times], len(found))

    def entries_of(self, batch: pa.RecordBatch) -> Changes:
        columns, length = batch.columns[: len(self.types)], batch.num_rows
        return dict(zip(self._keys_of(columns, length), self.stamped(self._codec.rows(columns, length), batch)))

    def row(self, at: Key) -> Entry:
        return self._entry(at)

    def content(self, at: Key) -> Entry:
        row = self.row(at)
        return row and self.unstamped(row)[0]

    def _is_part(self, entry: Entry) -> bool:
        return entry is ABSENT


class Replaced(NamedTuple):
    """The identities among the rows of a batch."""

    of_row: Ids
    """for each row the index of its identity"""
    first: Ids
    """for each identity the index of its first row"""
    last: Ids
    """for each identity the index of its last row"""
    before: Ids
    """for each identity the number of the stored row before; -1: there was none"""


class _Found(NamedTuple):
    """The stored rows among some identities."""

    there: Ids
    """the indexes of those that are stored"""
    numbers: Ids

    def places(self, count: int) -> Ids:
        """The number of each identity's row; -1: there is none."""
        found = np.full(count, -1, np.int64)
        found[self.there] = self.numbers
        return found


def _numbers(column: pa.Array) -> Ids:
    found: Ids = column.to_numpy()
    return found


def _last_where(groups: Ids, count: int, flags: Flags) -> Ids:
    """For each group the last index with the flag; -1: there is none."""
    found = np.full(count, -1, np.int64)
    chosen = np.flatnonzero(flags)
    found[groups[chosen]] = chosen  # the last assignment of a group remains
    return found


def counted(groups: Ids, before: Ids, changes: Ids) -> tuple[Ids, Ids]:
    """(the count of each group after the changes, the index of the change with which it began to be above 0, or -1).

    :param before: the count of each group, which never falls below 0.
    :param changes: in order, with their groups.
    """
    order = np.argsort(groups, kind="stable")
    of, steps = groups[order], changes[order]
    begins = np.flatnonzero(np.diff(of, prepend=-1))
    summed = np.cumsum(steps)
    sums = before[of] + summed - np.repeat(summed[begins] - steps[begins], np.diff([*begins, len(of)]))
    # Each group lies below those before it, so the minimum begins again with it.
    span = 2 * (int(np.abs(sums).max(initial=0)) + 1)
    least = np.minimum.accumulate(sums - of * span) + of * span
    counts = sums - np.minimum(least, 0)
    previous = np.concatenate([counts[:1], counts[:-1]])
    previous[begins] = before[of[begins]]
    born = np.flatnonzero((previous <= 0) & (counts > 0))
    since = np.full(len(before), -1, np.int64)
    since[of[born]] = order[born]
    after = before.copy()
    after[of] = counts  # the last assignment of a group remains
    return after, since
