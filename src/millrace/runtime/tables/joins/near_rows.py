"""The rows of one side of an interval join: found by key and time, removed when no partner can come any more.

A stretch of time is part of the hash by which rows are found, and as long as the interval. So a look-up touches the
rows of a key in two stretches, however many the key has, and a key with many rows comes from disk and leaves memory
stretch by stretch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.relational.rows import record_batch
from millrace.runtime.exchange.keys import Hashes
from millrace.runtime.rows.hashes import Flags, distinct
from millrace.runtime.state.column_deltas import Changes, Form
from millrace.runtime.state.tables import ABSENT, MapTable
from millrace.runtime.tables.changing_rows import ChangingRows
from millrace.runtime.tables.columns.batch_bytes import types_as_bytes, types_of
from millrace.runtime.tables.columns.growing import with_room
from millrace.runtime.tables.columns.key_hashes import key_hashes
from millrace.runtime.tables.columns.keys import Ids, Key, group_ids, key_tuples, places_within
from millrace.runtime.tables.columns.row_codec import RowCodec

_OF_TIME = 16
"""the bits of a hash that depend on the time; the others are of the key, so that the rows of a key are neighbours"""
_LOW = np.uint64(2**_OF_TIME - 1)
_MIX, _MULTIPLIER = np.uint64(0x9E3779B97F4A7C15), np.uint64(31)
_ALONE, _MET, _MET_SINCE = 0, 1, 2
"""whether a row has had a partner; the last one: which no delta has said yet of a row that deltas contain"""


class NearRows(ChangingRows):
    """Rows by key and time, and whether each has had a partner. In a savepoint a key has a dict from time (ms) to
    ((row, whether it has had a partner), ...).

    The columns are the key, the time, and what else the row has.

    :param types: the types of a row's columns.
    :param key: indexes of the key columns.
    :param span: the length of a stretch of time (ms).
    """

    kind = MapTable.kind
    bits_within_key = _OF_TIME

    def __init__(self, types: Sequence[pa.DataType], key: Sequence[int], span: int) -> None:
        others = [place for place in range(len(types)) if place not in key]
        super().__init__([*(types[at] for at in key), pa.int64(), *(types[at] for at in others)], len(key))
        self._made_of = (types_as_bytes(types), tuple(key), span)
        self._span = span
        self._from_row = (*key, *others)
        """for each column but the time its index in a row"""
        held = [*range(len(key)), *range(len(key) + 1, len(self.types))]
        where = dict(zip(self._from_row, held))
        self._of_row = tuple(where[place] for place in range(len(types)))
        """for each column of a row its index here"""
        self._codec = RowCodec(types)
        self._times = np.zeros(0, np.int64)
        """the time of each row (ms)"""
        self._met = np.zeros(0, np.int8)
        """for each row whether it has had a partner"""
        self._removed: list[pa.RecordBatch] = []
        """(key, time) of removed rows that earlier deltas contained: all rows with both leave together"""

    # -- rows are found -------------------------------------------------------------------------------------------

    def hashes_at(self, keys: Hashes, times: Ids) -> Hashes:
        """The hashes by which rows are found.

        :param keys: the hash of each row's key.
        :param times: of the rows (ms).
        """
        stretches = (times // self._span).view(np.uint64) * _MIX >> np.uint64(64 - _OF_TIME)
        found: Hashes = keys & ~_LOW | keys * _MULTIPLIER + stretches & _LOW
        return found

    def hashes_of(self, numbers: Ids) -> Hashes:
        return self.hashes_at(key_hashes(self.keys_of(numbers), len(numbers)), self._times[numbers])

    def _hashes(self, columns: Sequence[pa.Array], length: int) -> Hashes:
        """:param columns: the key and the time."""
        return self.hashes_at(key_hashes(columns[: self.width], length), columns[self.width].to_numpy())

    def near(self, keys: Hashes, first: Ids, last: Ids) -> Ids:
        """The numbers of rows among which are all with these keys and times, those of a key and a time by arrival.

        :param keys: hashes of keys.
        :param first, last: the range of times (ms) for each key, not longer than a stretch.
        """
        begin = self.hashes_at(keys, first)
        further = np.flatnonzero(first // self._span != last // self._span)
        return self._with(np.concatenate([begin, self.hashes_at(keys[further], last[further])]))

    def _with(self, hashes: Hashes) -> Ids:
        """The numbers of the rows with these hashes, those of a hash by arrival."""
        return self.of_hashes(distinct(hashes.astype(np.uint32)).astype(np.uint64))[1]

    def of_hashes(self, hashes: Hashes) -> tuple[Hashes, Ids]:
        """(hash, number) of the rows with these hashes, which are distinct; those of a hash by arrival."""
        if self._disk is not None:
            self._disk.fetch(hashes)
        owners, numbers = self.find_hashes(hashes)
        if self._disk is not None:
            self._disk.used(numbers)
            # What came from disk arrived before what was added since, whose numbers may be smaller.
            order = np.argsort(~self._disk.are_loaded(numbers), kind="stable")
            owners, numbers = owners[order], numbers[order]
        return hashes[owners], numbers

    def keys_of(self, numbers: Ids) -> list[pa.Array]:
        """The key columns of these rows."""
        return self.take(numbers, range(self.width))

    def times_of(self, numbers: Ids) -> Ids:
        """The times of these rows (ms)."""
        times: Ids = self._times[numbers]
        return times

    def rows_at(self, numbers: Ids) -> list[pa.Array]:
        """The columns of these rows as they came."""
        return self.take(numbers, self._of_row)

    def times_and_hashes(self) -> Iterator[tuple[Ids, Hashes]]:
        """The times (ms) and hashes of all rows, also of those that are not in memory, in parts."""
        parts = (batch.columns for batch in self.batches(self.numbers())) if self._disk is None else self._disk.parts()
        for columns in parts:
            yield columns[self.width].to_numpy(), self._hashes(columns, len(columns[self.width]))

    # -- rows come and go -----------------------------------------------------------------------------------------

    def add_rows(self, columns: Sequence[pa.Array], times: Ids, hashes: Hashes, met: Flags) -> None:
        """Add rows.

        :param hashes: from ``hashes_at``.
        :param met: whether each has had a partner.
        """
        self.add(record_batch(self._placed(columns, times), len(times)), hashes)
        self._met[self.length - len(times) : self.length] = met

    def _placed(self, columns: Sequence[pa.Array], times: Ids) -> list[pa.Array]:
        """The columns of this table, for columns of rows as they came."""
        own = [columns[place] for place in self._from_row]
        return [*own[: self.width], pa.array(times), *own[self.width :]]

    def have_met(self, numbers: Ids) -> Flags:
        """Whether these rows have had a partner, as numpy Booleans."""
        met: Flags = self._met[numbers] != _ALONE
        return met

    def mark(self, numbers: Ids) -> None:
        """These rows have a partner."""
        alone = numbers[self._met[numbers] == _ALONE]
        self._met[alone] = np.where(self._fresh[alone], _MET, _MET_SINCE)
        if self._disk is not None:
            self._disk.changed(alone)

    def remove(self, numbers: Ids) -> None:
        known = numbers[~self._fresh[numbers]]
        if len(known):
            self._removed.append(record_batch(self.take(known, range(self.width + 1)), len(known)))
        super().remove(numbers)

    def _append(self, batch: pa.RecordBatch, hashes: Hashes) -> None:
        first, end = self.length, self.length + batch.num_rows
        self._times, self._met = with_room(self._times, end), with_room(self._met, end)
        self._times[first:end], self._met[first:end] = batch.column(self.width).to_numpy(), _ALONE
        super()._append(batch, hashes)

    def retain(self, wanted: Flags) -> None:
        super().retain(wanted)
        self._times, self._met = self._times[: len(wanted)][wanted], self._met[: len(wanted)][wanted]

    def wipe(self) -> None:
        super().wipe()
        self._removed = []

    @property
    def bytes_in_memory(self) -> int:
        return super().bytes_in_memory + (self._times.itemsize + self._met.itemsize) * self.length

    @property
    def stored_types(self) -> Sequence[pa.DataType]:
        return [*self.types, pa.int8()]

    def stored_columns(self, numbers: Ids) -> list[pa.Array]:
        return [*self.take(numbers), pa.array(np.minimum(self._met[numbers], _MET))]

    def append_stored(self, columns: Sequence[pa.Array], hashes: Hashes) -> None:
        first = self.length
        super().append_stored(columns[:-1], hashes)
        self._met[first : self.length] = columns[-1].to_numpy()

    # -- as a table -----------------------------------------------------------------------------------------------

    def form(self) -> Form:
        return "near rows", self._made_of

    @classmethod
    def told(cls, types: bytes, key: Sequence[int], span: int) -> NearRows:
        return cls(types_of(types), key, span)

    def delta(self) -> Changes:
        untold = self._fresh[: self.length] | (self._met[: self.length] == _MET_SINCE)
        told = np.flatnonzero(untold & self._alive[: self.length])
        removed, self._removed = self._removed, []
        changes = {}
        if len(told) or removed:
            self._note_growth(self.length - self._dead, len(told))
            changes = self._changes(removed, self._changed(told))
        self._fresh[:] = False
        return changes

    def _changed(self, numbers: Ids) -> Iterator[pa.RecordBatch]:
        """These rows as a delta has them: one that is there already and has met a partner since says so."""
        start = 0
        for batch in self.batches(numbers):
            part = numbers[start : start + batch.num_rows]
            start += batch.num_rows
            yield record_batch([*batch.columns[:-1], pa.array(self._met[part])], batch.num_rows)
        self._met[numbers] = np.minimum(self._met[numbers], _MET)

    def _come(self, batch: pa.RecordBatch) -> None:
        known = batch.column(batch.num_columns - 1).to_numpy() == _MET_SINCE
        if known.any():
            self._meet(batch.filter(pa.array(known)))
            batch = batch.filter(pa.array(~known))
        if not batch.num_rows:
            return
        if self._disk is not None:
            self._disk.sync()
        first = self.length
        self.append_stored(batch.columns, self._hashes(batch.columns, batch.num_rows))
        if self._disk is not None:
            self._disk.appended(first)

    def _meet(self, batch: pa.RecordBatch) -> None:
        """Mark as many rows that equal these: which of equal ones have had a partner makes no difference."""
        names = batch.columns[: len(self.types)]
        numbers = self._with(self._hashes(names, batch.num_rows))
        numbers = numbers[self._met[numbers] == _ALONE]
        ids = self._alike(self.take(numbers), names)
        wanted = np.bincount(ids[len(numbers) :], minlength=int(ids.max()) + 1)
        order = np.argsort(ids[: len(numbers)], kind="stable")
        of = ids[order]
        chosen = numbers[order[places_within(of) < wanted[of]]]
        self._met[chosen] = _MET
        if self._disk is not None:
            self._disk.changed(chosen)

    def _forget(self, names: Sequence[pa.Array]) -> None:
        """:param names: keys, and times."""
        numbers = self._with(self._hashes(names, len(names[-1])))
        ids = self._alike(self.take(numbers, range(self.width + 1)), names)
        self._drop(numbers[np.isin(ids[: len(numbers)], ids[len(numbers) :])])

    @staticmethod
    def _alike(one: Sequence[pa.Array], other: Sequence[pa.Array]) -> Ids:
        """A number for each row of both, equal where rows are."""
        both = [pa.concat_arrays([own, name.cast(own.type)]) for own, name in zip(one, other)]
        return group_ids(both, len(both[0]))[0]

    def _apply_entries(self, entries: Changes) -> None:
        if any(entry is ABSENT or not entry[0] for entry in entries.values()):
            raise ValueError(
                "a checkpoint of an earlier version of Millrace has the rows of this state one by one: take a "
                "savepoint of that job instead"
            )
        stored = self.batch_of(entries)
        if stored is not None:
            self._come(stored)

    def batch_of(self, entries: Changes) -> pa.RecordBatch | None:
        found = [
            (time, row, int(met)) for _, stored, _ in entries.values() for time, of in stored.items() for row, met in of
        ]
        if not found:
            return None
        times, rows, met = zip(*found)
        columns = self._placed(self._codec.columns(rows), np.array(times, np.int64))
        return record_batch([*columns, pa.array(met, pa.int8())], len(rows))

    def entries_of(self, batch: pa.RecordBatch) -> Changes:
        keys = key_tuples(batch.columns[: self.width], batch.num_rows)
        rows = self._codec.rows([batch.column(place) for place in self._of_row], batch.num_rows)
        times, met = batch.column(self.width).to_pylist(), batch.column(batch.num_columns - 1).to_pylist()
        found: dict[Key, Any] = {}
        for key, time, row, has_met in zip(keys, times, rows, met):
            of_key = found.setdefault(key, (True, {}, []))[1]
            of_key[time] = (*of_key.get(time, ()), (row, bool(has_met)))
        return found

    def row(self, at: Any) -> Any:
        # The times of a key's rows are not known, so all rows are looked at.
        pieces = self.entry_pieces() if self._disk is None else self._disk.pieces()
        return next((piece[at][1] for piece in pieces if at in piece), None)
