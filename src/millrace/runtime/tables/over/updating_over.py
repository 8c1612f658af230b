"""OVER windows whose results change: in any order, over changing tables, with frames that reach ahead.

A later row may belong anywhere among the others. So all rows of a partition are stored with their results, in columns,
and a slice emits the rows whose results have changed. It reads the partitions that have changes, and no others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from millrace.relational.nodes import ROWTIME, Schema
from millrace.relational.rex import AggCall, Frame, Rex, SortKey, refs, remap
from millrace.relational.rows import DELETE, Rows, concat, record_batch
from millrace.relational.type_table import arrow_type
from millrace.runtime.rows.expiry import Expiry, expiry_of_copy
from millrace.runtime.rows.hashes import Flags
from millrace.runtime.state.column_deltas import Changes, Form
from millrace.runtime.tables.base import KeyedTableOperator, TableConfig
from millrace.runtime.tables.columns.batch_bytes import types_as_bytes, types_of
from millrace.runtime.tables.columns.changes import differing, placed_changes
from millrace.runtime.tables.columns.keys import Ids, group_ids, places_within, rows_at
from millrace.runtime.tables.columns.pieces import pieces
from millrace.runtime.tables.columns.row_codec import RowCodec
from millrace.runtime.tables.counted_rows import CountedRows
from millrace.runtime.tables.indexed_rows import at_positions
from millrace.runtime.tables.ordered_rows import oldest_removed
from millrace.runtime.tables.over.over_partitions import WholeLine, touched, whole_line
from millrace.runtime.tables.over.ranking_calls import whole_call
from millrace.runtime.tables.over.retained_rows import Partitions
from millrace.runtime.tables.stored_calls import StoredCalls
from millrace.runtime.tables.stored_rows import WITH_RESULTS

ROWS = "rows"
"""name of the state"""


class _Partitions(NamedTuple):
    """All rows of some partitions, including those that are removed now, by partition and arrival."""

    owners: Ids
    """the partition of each row"""
    numbers: Ids
    """the number of each row in the table"""
    fresh: Flags
    """whether each row is new"""
    gone: Flags
    """whether each row is removed"""


class RowsWithResults(CountedRows):
    """Rows that are identified by their partition and their place in it, a number that ascends with each arrival. The
    results are overwritten in place.

    :param types: the types of a row's columns.
    :param key: indexes of the columns of the partition.
    :param results: the types of the results, which may be NULL.
    :param expiry: when rows expire, each by itself, by the last time that its results changed; None: never.

    In a savepoint a key has a dict: place -> (row, results), with a time to live (time of the last write in ms, (row,
    results)).
    """

    def __init__(
        self,
        types: Sequence[pa.DataType],
        key: Sequence[int],
        results: Sequence[pa.DataType],
        expiry: Expiry | None = None,
    ) -> None:
        self.width = len(types)
        super().__init__([*types, pa.int64()], key, (self.width,), 0, expiry, results)
        self._made_of = (types_as_bytes(types), self._key, types_as_bytes(results))
        self._rows, self._results = RowCodec(types), RowCodec(results)

    def of_partitions(self, keys: Partitions) -> tuple[Ids, Ids, Ids]:
        """(partition, number, place in the partition) of all rows of partitions that are written next, by partition and
        place."""
        owners, numbers = self.of_keys_to_write(keys.hashes, at_positions(keys.columns))
        places = self.take(numbers, (self.width,))[0].to_numpy()
        order = np.lexsort((places, owners))
        return owners[order], numbers[order], places[order]

    def add(self, columns: Sequence[pa.Array], places: Ids) -> Ids:
        """Add rows, whose results must be written next. Returns their numbers."""
        new, first = [*columns, pa.array(places)], self.length
        self._keep(record_batch(new, len(places)), self.hashes(new, len(places)))
        return np.arange(first, self.length)

    # -- as a table -----------------------------------------------------------------------------------------------

    def form(self) -> Form:
        return "rows with results", (*self._made_of, *self._lifetime)

    @classmethod
    def told(  # type: ignore[override]
        cls, types: bytes, key: Sequence[int], results: bytes, ttl: int = 0
    ) -> RowsWithResults:
        return cls(types_of(types), key, types_of(results), expiry_of_copy(ttl))

    def _replace(self, batch: pa.RecordBatch) -> None:
        own, times = self._without_times(batch.columns)
        columns, results = own[: self.width + 1], own[self.width + 1 :]
        # Another row may have got the place.
        self._drop(self._looked_up(columns, batch.num_rows).numbers)
        numbers = self.add(columns[:-1], columns[-1].to_numpy())
        self.write(numbers, results)
        self._restore(numbers, times)

    def batch_of(self, entries: Changes) -> pa.RecordBatch | None:
        found = [
            (place, *self.unstamped(entry)) for _, stored, _ in entries.values() for place, entry in stored.items()
        ]
        if not found:
            return None
        places, values, stamps = zip(*found)
        rows, results = zip(*values)
        times = [pa.array(each, pa.int64()) for each in zip(*stamps)]
        columns = [*self._rows.columns(rows), pa.array(places, pa.int64()), *self._results.columns(results), *times]
        return record_batch(columns, len(found))

    def entries_of(self, batch: pa.RecordBatch) -> Changes:
        length, (own, _) = batch.num_rows, self._without_times(batch.columns)
        rows = self._rows.rows(own[: self.width], length)
        both = list(zip(rows, self._results.rows(own[self.width + 1 :], length)))
        found: Changes = {}
        for key, place, entry in zip(
            self._keys_of(own, length), own[self.width].to_pylist(), self.stamped(both, batch)
        ):
            found.setdefault(key, (True, {}, []))[1][place] = entry
        return found


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
        results = [call.result_type for call in self._calls]
        self._table = self.backend.use(ROWS, RowsWithResults(types, config.partition, results, self.expiry()))
        self._waiting: list[Rows] = []
        """the changes of this slice"""
        reaches = [each.reach for each in self._calls]
        self._reach = None if None in reaches else tuple(map(max, zip(*(each for each in reaches if each))))

    def receive(self, rows: Rows, input: int) -> None:
        self._waiting.append(rows)

    def flush(self) -> None:
        if not self._waiting:
            return
        changes, self._waiting = concat(self._waiting), []
        rows = self._applied(changes)
        chosen, results = self._results(rows)
        fresh = rows.fresh[chosen]
        changed = fresh.copy()
        there = np.flatnonzero(~fresh)
        old = self._table.slots(rows.numbers[chosen[there]])
        if len(there):
            changed[there] = differing(old, rows_at(results, there))
        stays = changed[there]
        self._emit(
            rows.numbers[rows.gone],
            rows.numbers[chosen[changed]],
            fresh[changed],
            rows_at(old, np.flatnonzero(stays)),
            rows_at(results, np.flatnonzero(changed)),
        )
        self._table.write(rows.numbers[chosen[changed]], rows_at(results, np.flatnonzero(changed)))
        self._table.remove(rows.numbers[rows.gone])
        self._table.settle()

    def _applied(self, changes: Rows) -> _Partitions:
        """The partitions of these changes. New rows are in the table; one that was added and removed within the slice
        never was."""
        columns, table = changes.columns, self._table
        keys = Partitions.of([columns[index] for index in self.config.partition], len(changes))
        owners, numbers, places = table.of_partitions(keys)
        gone, stays = self._outcome(changes, numbers)
        stays = stays[np.argsort(keys.ids[stays], kind="stable")]
        of_new = keys.ids[stays]
        following = np.ones(keys.count, np.int64)
        following[owners] = places + 1  # what is assigned last stays
        new_places = following[of_new] + places_within(of_new)
        new = table.add(rows_at(columns, stays), new_places)
        owners = np.concatenate([owners, of_new])
        order = np.lexsort((np.concatenate([places, new_places]), owners))
        fresh = np.repeat([False, True], [len(numbers), len(new)])
        gone = np.concatenate([gone, np.zeros(len(new), bool)])
        return _Partitions(owners[order], np.concatenate([numbers, new])[order], fresh[order], gone[order])

    def _outcome(self, changes: Rows, numbers: Ids) -> tuple[Flags, Ids]:
        """(whether each stored row is removed, the indexes of the changes whose rows are left).

        :param numbers: the stored rows of the changes' partitions, by arrival within each.
        """
        adds = changes.adds()
        if adds.all():
            return np.zeros(len(numbers), bool), np.arange(len(changes))
        stored = self._table.take(numbers, range(self._table.width))
        both = [pa.concat_arrays(pair) for pair in zip(stored, changes.columns)]
        ids, first = group_ids(both, len(numbers) + len(changes))
        return oldest_removed(ids[: len(numbers)], ids[len(numbers) :], adds, len(first))

    def _emit(self, gone: Ids, changed: Ids, fresh: Flags, old: Sequence[pa.Array], new: Sequence[pa.Array]) -> None:
        """Emit the removed rows, then the changed ones. Removed rows come first, so that a key is free for its new row.

        :param gone: the numbers of removed rows; ``changed``: those of rows with other results than before.
        :param fresh: whether each changed row is new.
        :param old: the former results of changed rows that are not new; ``new``: the results of all changed rows.
        """
        table, had = self._table, ~fresh
        results = [pa.concat_arrays(parts) for parts in zip(table.slots(gone), old, new)]
        numbers = np.concatenate([gone, changed[had], changed])
        before, after = np.zeros(len(changed), np.int64), len(gone) + len(old[0]) + np.arange(len(changed))
        before[had] = len(gone) + np.arange(len(old[0]))
        placed, of_changed = placed_changes(before, after, had, np.ones(len(had), bool), had, self.config.before)
        chosen = np.concatenate([np.arange(len(gone)), placed])
        kinds = np.concatenate([np.full(len(gone), DELETE, np.uint8), of_changed])
        start = 0
        for part in pieces(chosen):
            own = table.take(numbers[part], range(table.width))
            of_part = kinds[start : start + len(part)]
            start += len(part)
            self.emit_columns([*own, *rows_at(results, part)], len(part), of_part if of_part.any() else None)

    def _results(self, rows: _Partitions) -> tuple[Ids, list[pa.Array]]:
        """(indexes of all rows whose results may have changed, their results)."""
        chosen = np.flatnonzero(~rows.gone)
        wanted = None
        if self._reach is not None:
            chosen, wanted = self._near(rows)
        if not len(chosen):
            return chosen, [pa.array([], call.result_type) for call in self._calls]
        line, columns, chosen = self._line(rows, chosen)
        found = [call.compute(line, [columns(each) for each in call.inputs]) for call in self._calls]
        results = [_typed(each, call.result_type) for each, call in zip(found, self._calls)]
        if wanted is None:
            return chosen, results
        changed = np.flatnonzero(wanted[chosen])
        return chosen[changed], rows_at(results, changed)

    def _near(self, rows: _Partitions) -> tuple[Ids, Flags]:
        """(the needed rows, whether the results of each row may have changed)."""
        assert self._reach is not None
        line, _, order = self._line(rows, np.arange(len(rows.numbers)))
        gone, fresh = rows.gone[order], rows.fresh[order]
        needed, affected = touched(line, fresh, gone, *self._reach)
        wanted = np.zeros(len(order), bool)
        wanted[order[affected]] = True
        return np.sort(order[needed]), wanted

    def _line(self, rows: _Partitions, chosen: Ids) -> tuple[WholeLine, Callable[[Rex], pa.Array], Ids]:
        """(a line of these rows, a function for the values of an expression in it, the indexes of its rows)."""
        evaluator = self.evaluator(self._table.take(rows.numbers[chosen], self._needed), len(chosen))
        order, line = whole_line(rows.owners[chosen], self._order, evaluator)
        where = pa.array(order)
        return line, lambda expression: evaluator.column(expression).take(where), chosen[order]


def _typed(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """The column with the type of its call, in which it is stored."""
    return column if column.type == kind else column.cast(kind)
