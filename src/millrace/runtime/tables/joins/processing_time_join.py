"""The temporal join in processing time: a left row is joined with the newest version at its arrival."""

from __future__ import annotations

from typing import Any

import numpy as np

from millrace.relational.rows import Rows
from millrace.runtime.tables.base import KeyedTableOperator
from millrace.runtime.tables.columns.keys import group
from millrace.runtime.tables.columns.matching import has_null
from millrace.runtime.tables.columns.row_codec import Row, RowCodec
from millrace.runtime.tables.joins.temporal_config import RIGHT, TemporalJoin, emit_versions


class NewestJoinOperator(KeyedTableOperator[TemporalJoin]):
    def setup(self, context: Any, output: Any) -> None:
        super().setup(context, output)
        self._newest = self.keyed_value(RIGHT)
        """key -> its newest row"""
        self._codec = RowCodec(self.config.right_types)

    def receive(self, rows: Rows, input: int) -> None:
        equal = self.config.equal
        columns = [rows.batch.column(index) for index in (equal.right if input else equal.left)]
        grouped = group(columns, len(rows))
        keys, ids = grouped.keys, grouped.ids
        if input:
            # Only the last change of each key in the batch is visible to left rows.
            last = np.zeros(len(keys), np.int64)
            last[ids] = np.arange(len(ids))
            changes = rows.take(last)
            for key, row, add in zip(keys, self._codec.rows(changes.columns, len(changes)), changes.adds().tolist()):
                if add:
                    self._newest.put(key, row)
                else:
                    self._newest.remove(key)
            return
        places = np.full(len(keys), -1, np.int64)
        content: list[Row] = []
        nowhere = has_null(columns, len(rows), equal.null_safe)
        for number, (key, none) in enumerate(zip(keys, nowhere[grouped.first].tolist())):
            newest = None if none else self._newest.get(key)
            if newest is not None:
                places[number] = len(content)
                content.append(newest)
                if self.config.state_ttl:
                    self._newest.put(key, newest)  # what is used lives on
        emit_versions(self, rows, self._codec.columns(content), places[ids])
