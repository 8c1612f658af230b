"""The temporal join in event time: a left row waits for the watermark, and is then joined with the version of its time.

A version is valid from its time until the next version of its key. Versions that no row can need any more are removed
whenever their key is touched: all except the last one before the watermark.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.relational.rows import UPDATE_BEFORE, Rows, record_batch
from millrace.runtime.rows.expiry import Expiry, expiry_of_copy
from millrace.runtime.rows.hashes import Flags
from millrace.runtime.state.column_deltas import Changes, Form
from millrace.runtime.tables.base import KeyedTableOperator
from millrace.runtime.tables.columns.batch_bytes import types_as_bytes, types_of
from millrace.runtime.tables.columns.key_hashes import key_hashes
from millrace.runtime.tables.columns.keys import Ids, Key, group_ids, taken
from millrace.runtime.tables.columns.matching import has_null
from millrace.runtime.tables.columns.row_codec import Row, RowCodec
from millrace.runtime.tables.counted_rows import CountedRows, PresentRows
from millrace.runtime.tables.event_time import millis, row_buffer, take_due
from millrace.runtime.tables.indexed_rows import at_positions
from millrace.runtime.tables.joins.temporal_config import LEFT, RIGHT, TemporalJoin, emit_versions

DELETED: Row = ()
"""stands for a row in a savepoint: from this time on the key has no version"""


class Versions(CountedRows):
    """The versions of each key: the row, its time (ms), and as a mark whether the key has no row from then on. In a
    savepoint a key has a dict from time to row.

    :param types: the types of a row's columns.
    :param key: indexes of the key columns.
    :param expiry: when versions expire, each by itself; None: never.
    """

    def __init__(self, types: Sequence[pa.DataType], key: Sequence[int], expiry: Expiry | None = None) -> None:
        super().__init__([*types, pa.int64()], key, (len(types),), 1, expiry)
        self._made_of = (types_as_bytes(types), self._key)
        self._rows_codec = RowCodec(types)
        self._keys_codec = RowCodec([types[place] for place in key])

    def form(self) -> Form:
        return "versions", (*self._made_of, *self._lifetime)

    @classmethod
    def told(cls, types: bytes, key: Sequence[int], ttl: int = 0) -> Versions:  # type: ignore[override]
        return cls(types_of(types), key, expiry_of_copy(ttl))

    def batch_of(self, entries: Changes) -> pa.RecordBatch | None:
        found = [
            (*self._row_of(at, row), time, int(row == DELETED), *stamps)
            for at, (_, stored, _) in entries.items()
            for time, (row, stamps) in ((time, self.unstamped(entry)) for time, entry in stored.items())
        ]
        if not found:
            return None
        width = len(self.types) - 1
        columns = self._rows_codec.columns([each[:width] for each in found])
        numbers = [pa.array(each, pa.int64()) for each in zip(*(each[width:] for each in found))]
        return record_batch([*columns, *numbers], len(found))

    def _row_of(self, at: Key, row: Row) -> Row:
        """The row, that of a deletion with its key."""
        if row != DELETED:
            return row
        found: list[Any] = [None] * (len(self.types) - 1)
        (key,) = self._keys_codec.rows(self._columns_of_key(at), 1)
        for place, value in zip(self._key, key):
            found[place] = value
        return tuple(found)

    def entries_of(self, batch: pa.RecordBatch) -> Changes:
        width, length = len(self.types) - 1, batch.num_rows
        rows = self._rows_codec.rows(batch.columns[:width], length)
        times, deleted = (batch.column(place).to_pylist() for place in (width, width + 1))
        values = self.stamped([DELETED if gone else row for row, gone in zip(rows, deleted)], batch)
        found: Changes = {}
        for key, time, value in zip(self._keys_of(batch.columns, length), times, values):
            found.setdefault(key, (True, {}, []))[1][time] = value
        return found


class TemporalJoinOperator(KeyedTableOperator[TemporalJoin]):
    """A left row that is late waits for the next watermark, as in Flink."""

    def setup(self, context: Any, output: Any) -> None:
        super().setup(context, output)
        config = self.config
        self._waiting = row_buffer(self.backend, LEFT, config.left_types, config.equal.left)
        self._versions = self.backend.use(RIGHT, Versions(config.right_types, config.equal.right, self.expiry()))

    def receive(self, rows: Rows, input: int) -> None:
        config = self.config
        if input == 0:
            self._waiting.add(rows, millis(rows.batch.column(config.left_time)))
            return
        # The new row of an update is a version; the old row is stored as one already.
        rows = rows.where(rows.kind_values() != UPDATE_BEFORE)
        if not len(rows):
            return
        self._versions.settle()
        assert config.right_time is not None
        columns = rows.columns[: len(config.right_types)]
        times = pa.array(millis(columns[config.right_time]))
        deleted = (~rows.adds()).astype(np.int64)
        self._versions.replace([*columns, times], np.ones(len(rows), bool), [deleted])
        keys = [columns[place] for place in config.equal.right]
        first = group_ids(keys, len(rows))[1]
        self._remove_old(*self._of_keys(taken(keys, first, len(rows)), len(first)))

    def _of_keys(self, keys: Sequence[pa.Array], length: int) -> tuple[Ids, Ids, Ids]:
        """(index of the key, number, time in ms) of all versions of these keys, by key and time."""
        owners, numbers = self._versions.of_keys(key_hashes(keys, length), at_positions(keys))
        (column,) = self._versions.take(numbers, (len(self.config.right_types),))
        times: Ids = column.to_numpy()
        order = np.lexsort((times, owners))
        return owners[order], numbers[order], times[order]

    def _deleted(self, numbers: Ids) -> Flags:
        deleted: Flags = self._versions.slots(numbers)[0].to_numpy() > 0
        return deleted

    def _remove_old(self, owners: Ids, numbers: Ids, times: Ids) -> None:
        """Remove the versions that no row can need any more, of keys whose versions these are."""
        passed = times <= self.watermark
        last = np.ones(len(owners), bool)
        """whether the next version of the key has not passed"""
        last[:-1] = (owners[1:] != owners[:-1]) | ~passed[1:]
        self._versions.remove(numbers[passed & (~last | self._deleted(numbers))])

    def advance(self, watermark: int) -> None:
        # Versions before the former watermark are needed only by late rows, but such rows may be waiting.
        due = take_due(self._waiting, watermark)
        if due is None:
            return
        rows, times = due
        columns = [rows.batch.column(index) for index in self.config.equal.left]
        nowhere = has_null(columns, len(rows), self.config.equal.null_safe)
        self._join(rows, times, columns, nowhere)

    def _join(self, rows: Rows, times: Ids, columns: Sequence[pa.Array], nowhere: Flags) -> None:
        self._versions.settle()
        ids, first = group_ids(columns, len(rows))
        owners, numbers, valid_from = self._of_keys(taken(columns, first, len(rows)), len(first))
        meets = ~nowhere[first][owners]
        owners, numbers, valid_from = owners[meets], numbers[meets], valid_from[meets]
        if self.config.state_ttl:  # what is used lives on
            self._versions.renew(numbers)
        found = _last_before(owners, valid_from, ids, times)
        deleted = np.append(self._deleted(numbers), True)
        found = np.where(deleted[found], -1, found)
        content = self._versions.take(numbers, range(len(self.config.right_types)))
        self._remove_old(owners, numbers, valid_from)
        emit_versions(self, rows, content, found)


def _last_before(owners: Ids, valid_from: Ids, ids: Ids, times: Ids) -> Ids:
    """For each (id, time) the position of the owner's last version that is not later; -1: there is none. The versions
    are ordered by owner and time."""
    instants, ranks = np.unique(np.concatenate([valid_from, times]), return_inverse=True)
    versions = owners * len(instants) + ranks[: len(owners)]
    found = np.searchsorted(versions, ids * len(instants) + ranks[len(owners) :], "right") - 1
    known = np.append(owners, -1)[found] == ids
    return np.where(known, found, -1)


class NewestJoinOperator(KeyedTableOperator[TemporalJoin]):
    """The join in processing time: a left row is joined with the newest version at its arrival. State: key -> its
    newest row."""

    def setup(self, context: Any, output: Any) -> None:
        super().setup(context, output)
        config = self.config
        self._newest = self.backend.use(RIGHT, PresentRows(config.right_types, config.equal.right, self.expiry()))

    def receive(self, rows: Rows, input: int) -> None:
        self._newest.settle()
        if input:
            # Only the last change of each key in the batch is visible to left rows.
            self._newest.replace(rows.columns[: len(self.config.right_types)], rows.adds())
            return
        columns = [rows.batch.column(index) for index in self.config.equal.left]
        ids, first = group_ids(columns, len(rows))
        nowhere = has_null(columns, len(rows), self.config.equal.null_safe)
        found = self._newest.numbers_of(taken(columns, first, len(rows)), len(first))
        found[nowhere[first]] = -1
        there = np.flatnonzero(found >= 0)
        if self.config.state_ttl:
            self._newest.renew(found[there])  # what is used lives on
        places = np.full(len(first), -1, np.int64)
        places[there] = np.arange(len(there))
        emit_versions(self, rows, self._newest.take(found[there]), places[ids])
