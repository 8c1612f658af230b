"""The temporal join in event time: a left row waits for the watermark, and is then joined with the version of its time.

A version is valid from its time until the next version of its key. Versions that no row can need any more are removed
whenever their key is touched: all except the last one before the watermark.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from millrace.relational.rows import UPDATE_BEFORE, Rows
from millrace.runtime.tables.base import KeyedTableOperator
from millrace.runtime.tables.columns.keys import Grouped, Ids, Key, group
from millrace.runtime.tables.columns.matching import has_null
from millrace.runtime.tables.columns.row_codec import Row, RowCodec
from millrace.runtime.tables.event_time import millis, row_buffer, take_due
from millrace.runtime.tables.joins.temporal_config import LEFT, RIGHT, TemporalJoin, emit_versions

DELETED: Row = ()
"""stands for a row: from this time on the key has no version"""


class TemporalJoinOperator(KeyedTableOperator[TemporalJoin]):
    """A left row that is late waits for the next watermark, as in Flink."""

    def setup(self, context: Any, output: Any) -> None:
        super().setup(context, output)
        config = self.config
        self._waiting = row_buffer(self.backend, LEFT, config.left_types, config.equal.left)
        self._versions = self.keyed_map(RIGHT)
        """key -> time (ms) -> row"""
        self._codec = RowCodec(config.right_types)

    def receive(self, rows: Rows, input: int) -> None:
        config = self.config
        if input == 0:
            self._waiting.add(rows, millis(rows.batch.column(config.left_time)))
            return
        # The new row of an update is a version; the old row is stored as one already.
        rows = rows.where(rows.kind_values() != UPDATE_BEFORE)
        assert config.right_time is not None
        times = millis(rows.batch.column(config.right_time)).tolist()
        grouped = group([rows.batch.column(index) for index in config.equal.right], len(rows))
        content = self._codec.rows(rows.columns, len(rows))
        put, keys = self._versions.put, grouped.keys
        for id, time, row, add in zip(grouped.ids.tolist(), times, content, rows.adds().tolist()):
            put(keys[id], time, row if add else DELETED)
        for key in keys:
            self._needed(key)

    def _needed(self, key: Key) -> list[tuple[int, Row]]:
        """The versions of a key in the order of time. Versions that no row can need any more are removed."""
        versions = sorted(self._versions.items(key), key=lambda version: version[0])
        passed = sum(1 for time, _ in versions if time <= self.watermark)
        old, needed = versions[: max(0, passed - 1)], versions[max(0, passed - 1) :]
        if passed and needed[0][1] == DELETED:
            old.append(needed.pop(0))
        for time, _ in old:
            self._versions.remove(key, time)
        return needed

    def advance(self, watermark: int) -> None:
        # Versions before the former watermark are needed only by late rows, but such rows may be waiting.
        due = take_due(self._waiting, watermark)
        if due is None:
            return
        rows, times = due
        columns = [rows.batch.column(index) for index in self.config.equal.left]
        grouped = group(columns, len(rows))
        nowhere = has_null(columns, len(rows), self.config.equal.null_safe)
        self._join(rows, times, grouped, nowhere)

    def _join(self, rows: Rows, times: Ids, grouped: Grouped, nowhere: Any) -> None:
        owners: list[int] = []
        valid_from: list[int] = []
        content: list[Row] = []
        for number, (key, none) in enumerate(zip(grouped.keys, nowhere[grouped.first].tolist())):
            if none:
                continue
            for time, row in sorted(self._versions.items(key), key=lambda version: version[0]):
                owners.append(number)
                valid_from.append(time)
                content.append(row)
                if self.config.state_ttl:
                    self._versions.put(key, time, row)  # what is used lives on
        found = _last_before(np.array(owners, np.int64), np.array(valid_from, np.int64), grouped.ids, times)
        exists = np.array([row != DELETED for row in content] + [False])
        places = np.append(np.cumsum(exists[:-1]) - 1, -1)
        found = np.where(exists[found], places[found], -1)
        for key in grouped.keys:
            self._needed(key)
        emit_versions(self, rows, self._codec.columns([row for row in content if row != DELETED]), found)


def _last_before(owners: Ids, valid_from: Ids, ids: Ids, times: Ids) -> Ids:
    """For each (id, time) the position of the owner's last version that is not later; -1: there is none. The versions
    are ordered by owner and time."""
    instants, ranks = np.unique(np.concatenate([valid_from, times]), return_inverse=True)
    versions = owners * len(instants) + ranks[: len(owners)]
    found = np.searchsorted(versions, ids * len(instants) + ranks[len(owners) :], "right") - 1
    known = np.append(owners, -1)[found] == ids
    return np.where(known, found, -1)
