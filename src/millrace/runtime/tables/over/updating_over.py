"""OVER windows whose results change: in any order, over changing tables, with frames that reach ahead.

A later row may belong anywhere among the others. So all rows of a partition are stored with their results, and a slice
emits the rows whose results have changed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from millrace.relational.nodes import ROWTIME, Schema
from millrace.relational.rex import AggCall, Frame, Rex, SortKey, refs, remap
from millrace.relational.rows import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE, Rows, record_batch
from millrace.relational.type_table import arrow_type
from millrace.runtime.tables.base import KeyedTableOperator, TableConfig
from millrace.runtime.tables.columns.keys import Ids, Key, key_tuples
from millrace.runtime.tables.columns.row_codec import Row, RowCodec
from millrace.runtime.tables.over.over_partitions import WholeLine, touched, whole_line
from millrace.runtime.tables.over.ranking_calls import whole_call
from millrace.runtime.tables.stored_calls import StoredCalls
from millrace.runtime.tables.stored_rows import WITH_RESULTS

ROWS = "rows"
"""name of the state"""
Kept = tuple[Row, Row]
"""(row, its results)"""
Change = tuple[bool, Row]
"""(whether it adds, row)"""


class _Rows(NamedTuple):
    """The rows of some partitions, including removed ones, as lists of equal length: by partition, then by arrival
    number."""

    owners: list[int]
    places: list[int]
    rows: list[Row]
    old: list[Row | None]
    """the old results of each row; None for a new row"""
    gone: list[bool]


@dataclass(frozen=True, kw_only=True)
class UpdatingOver(TableConfig):
    """The description of an ``Over`` node. Changes of the input contain whole rows; of equal rows the earliest is
    retracted."""

    input: Schema
    partition: tuple[int, ...]
    order: tuple[SortKey, ...]
    """sort keys; rows that are equal in them are in the order of arrival"""
    calls: tuple[tuple[AggCall, Frame], ...]
    before: bool = True
    """whether the consumer needs the old row of an update (-U)"""

    def operator(self) -> UpdatingOverOperator:
        return UpdatingOverOperator(self)

    def stored(self) -> tuple[StoredCalls, tuple[Any, ...]] | None:
        found = self.only_rows(self.rows_in(ROWS, WITH_RESULTS, 0, [each.type for each in self.input]))
        if found is None:
            return None
        (rows,), results = found[0].rows, tuple(str(call.type.nullable()) for call, _ in self.calls)
        columns, types = (*rows.columns, *self.call_texts), (*rows.types, *results)
        groups = tuple(part for part in found[0].groups if not part.startswith(self.call_texts))
        whole = replace(rows, columns=columns, types=types, results=len(results))
        return replace(found[0], groups=groups, rows=(whole,)), ()


class UpdatingOverOperator(KeyedTableOperator[UpdatingOver]):
    gathers_changes = True

    def setup(self, context: Any, output: Any) -> None:
        super().setup(context, output)
        config = self.config
        self.flushes_before_watermarks = any(column.time == ROWTIME for column in config.input)
        types = [arrow_type(column.type) for column in config.input]
        # Only the columns that the order and the calls read are made again.
        read = [key.expression for key in config.order]
        read += [each for call, _ in config.calls for each in call.inputs()]
        self._needed = sorted(set().union(*map(refs, read)))
        places = {column: place for place, column in enumerate(self._needed)}
        self._order = tuple(replace(key, expression=remap(key.expression, places)) for key in config.order)
        calls = [(call.map(lambda each: remap(each, places)), frame) for call, frame in config.calls]
        self._calls = [whole_call(call, frame, self.functions) for call, frame in calls]
        self._codec = RowCodec(types)
        self._narrow = RowCodec([types[column] for column in self._needed])
        self._result = RowCodec([call.result_type for call in self._calls])
        self._whole = RowCodec([*types, *self._result.types])
        self._state = self.keyed_map(ROWS)
        """key -> arrival number -> (row, its results)"""
        self._new: dict[Key, list[Change]] = {}
        """the changes of this slice"""
        reaches = [each.reach for each in self._calls]
        self._reach = None if None in reaches else tuple(map(max, zip(*(each for each in reaches if each))))

    def receive(self, rows: Rows, input: int) -> None:
        keys = key_tuples([rows.batch.column(index) for index in self.config.partition], len(rows))
        for key, adds, row in zip(keys, rows.adds().tolist(), self._codec.rows(rows.columns, len(rows))):
            self._new.setdefault(key, []).append((adds, row))

    def flush(self) -> None:
        if not self._new:
            return
        changed, self._new = self._new, {}
        keys = list(changed)
        rows = _Rows([], [], [], [], [])
        for owner, (key, changes) in enumerate(changed.items()):
            _add(rows, owner, dict(sorted(self._state.items(key))), changes)
        found = self._results(rows)
        kinds: list[int] = []
        emitted: list[Row] = []
        # Removed rows first, so that a key is free for its new row.
        for owner, place, row, old, gone in zip(*rows):
            if gone and old is not None:
                self._state.remove(keys[owner], place)
                kinds.append(DELETE)
                emitted.append((*row, *old))
        for at, results in found:
            row, old = rows.rows[at], rows.old[at]
            if results == old:
                continue
            self._state.put(keys[rows.owners[at]], rows.places[at], (row, results))
            if old is not None and self.config.before:
                kinds.append(UPDATE_BEFORE)
                emitted.append((*row, *old))
            kinds.append(INSERT if old is None else UPDATE_AFTER)
            emitted.append((*row, *results))
        self.emit_rows(Rows(record_batch(self._whole.columns(emitted), len(emitted)), np.array(kinds, np.uint8)))

    def _results(self, rows: _Rows) -> list[tuple[int, Row]]:
        """(index of a row, its results) for all rows whose results may have changed."""
        chosen = np.flatnonzero(~np.array(rows.gone, bool))
        if self._reach is not None:
            chosen, wanted = self._near(rows)
        if not len(chosen):
            return []
        line, columns, chosen = self._line(rows, chosen)
        results = [call.compute(line, [columns(each) for each in call.inputs]) for call in self._calls]
        found = zip(chosen.tolist(), self._result.rows(results, len(chosen)))
        return list(found) if self._reach is None else [each for each in found if wanted[each[0]]]

    def _near(self, rows: _Rows) -> tuple[Ids, Any]:
        """(the needed rows, whether the results of each row may have changed)."""
        assert self._reach is not None
        line, _, order = self._line(rows, np.arange(len(rows.rows)))
        gone = np.array(rows.gone, bool)[order]
        fresh = np.array([each is None for each in rows.old], bool)[order]
        needed, affected = touched(line, fresh & ~gone, gone, *self._reach)
        wanted = np.zeros(len(order), bool)
        wanted[order[affected]] = True
        return np.sort(order[needed]), wanted

    def _line(self, rows: _Rows, chosen: Ids) -> tuple[WholeLine, Callable[[Rex], pa.Array], Ids]:
        """(a line of these rows, a function for the values of an expression in it, the indexes of its rows)."""
        places = chosen.tolist()
        narrow = [tuple([rows.rows[at][column] for column in self._needed]) for at in places]
        evaluator = self.evaluator(self._narrow.columns(narrow), len(narrow))
        order, line = whole_line(np.array(rows.owners, np.int64)[chosen], self._order, evaluator)
        where = pa.array(order)
        return line, lambda expression: evaluator.column(expression).take(where), chosen[order]


def _add(rows: _Rows, owner: int, partition: dict[int, Kept], changes: Sequence[Change]) -> None:
    """Append a partition with its changes. A row that was added and removed within the slice is left out."""
    following = max(partition, default=0) + 1
    new: dict[int, Row] = {}
    gone: set[int] = set()
    places: dict[Row, list[int]] = {}
    if not all(adds for adds, _ in changes):
        for place, (row, _) in partition.items():
            places.setdefault(row, []).append(place)
    for adds, row in changes:
        if adds:
            new[following] = row
            places.setdefault(row, []).append(following)
            following += 1
        elif places.get(row):
            place = places[row].pop(0)
            if new.pop(place, None) is None:
                gone.add(place)
    for place, (row, results) in partition.items():
        _append(rows, owner, place, row, results, place in gone)
    for place, row in new.items():
        _append(rows, owner, place, row, None, False)


def _append(rows: _Rows, owner: int, place: int, row: Row, old: Row | None, gone: bool) -> None:
    rows.owners.append(owner)
    rows.places.append(place)
    rows.rows.append(row)
    rows.old.append(old)
    rows.gone.append(gone)
