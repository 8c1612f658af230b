"""Groups whose accumulators are columns of state: no Python per row or key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.relational.rows import Rows, record_batch
from millrace.runtime.tables.aggregates.accumulators import Accumulator, Accumulators
from millrace.runtime.tables.aggregates.batch import Batch, signs_of
from millrace.runtime.tables.aggregates.each_change import columns_of, each_change, rows_of_changes
from millrace.runtime.tables.aggregates.groups import Grouping, Groups
from millrace.runtime.tables.aggregates.partials import PartialColumns, filled
from millrace.runtime.tables.columns.changes import differing, placed_changes
from millrace.runtime.tables.columns.growing import with_room
from millrace.runtime.tables.columns.keys import Ids, group_ids, taken
from millrace.runtime.tables.columns.merging import merged
from millrace.runtime.tables.columns.pieces import pieces
from millrace.runtime.tables.group_table import GroupTable


class GroupColumns(Groups):
    """Groups in columns, with accumulators that consist of slots.

    :param alive: whether an unchanged group emits an update all the same.
    """

    def __init__(self, table: GroupTable, accumulators: Accumulators, grouping: Grouping, alive: bool = False) -> None:
        self._table = table
        self._accumulators = accumulators
        self._partials = PartialColumns(table.types, accumulators.slots)
        self._keys, self._partial, self._before, self._evaluator = grouping
        self._alive = alive
        self._marks = np.zeros(0, bool)
        """for each row of the table, whether it has changed since ``changes``"""
        self._touched: list[Ids] = []
        """numbers of the changed rows, in the order of their first change"""
        self._old: list[list[pa.Array]] = []
        """accumulators of the changed rows before their first change, for rows that existed then"""

    def update(self, rows: Rows) -> None:
        columns, slots = rows.columns, self._partials.slots
        keys = self._partials.key_columns([columns[place] for place in self._keys])
        ids, first = group_ids(keys, len(rows))
        where = pa.array(first)
        keys = [key.take(where) for key in keys]
        if self._partial:
            found = self._partials.reduced([*columns], ids, first).columns[len(keys) :]
        else:
            batch = Batch(self._evaluator(columns, len(rows)), ids, signs_of(rows))
            found = self._accumulators.partials(batch, len(first), keys)
        self._merge(keys, [filled(column, slot) for column, slot in zip(found, slots)], len(first))

    def _merge(self, keys: Sequence[pa.Array], added: Sequence[pa.Array], length: int) -> None:
        table = self._table
        numbers, known = table.place(keys, length)
        before = numbers[known]
        old = table.slots(before)
        self._note(numbers, before, old)
        if not known.all():
            new = pa.array(np.flatnonzero(~known))
            table.write(numbers[~known], [column.take(new) for column in added])
            again = pa.array(np.flatnonzero(known))
            added = [column.take(again) for column in added]
        if len(before):
            now = merged(old, added, self._partials.slots)
            table.write(before, self._accumulators.corrected(now, old, np.flatnonzero(known), keys))

    def _note(self, numbers: Ids, known: Ids, slots: Sequence[pa.Array]) -> None:
        """Remember groups before their accumulators change: the old accumulators of those whose result was sent
        before, and which groups have changed since ``changes`` was called last. Each group counts once.

        :param numbers: the rows of the groups in the table, new ones included.
        :param known: those that were in the table before, whose accumulators are ``slots``.
        """
        self._marks = with_room(self._marks, self._table.length)
        old = np.flatnonzero(~self._marks[known] & (~self._table.are_new(known)))
        if len(old):
            self._old.append([column.take(pa.array(old)) for column in slots])
        fresh = numbers[~self._marks[numbers]]
        self._marks[fresh] = True
        self._touched.append(fresh)

    def each(self, rows: Rows) -> Rows:
        columns, table = rows.columns, self._table
        keys = self._partials.key_columns([columns[place] for place in self._keys])
        ids, first = group_ids(keys, len(rows))
        groups = taken(keys, first, len(rows))
        numbers, known = table.place(groups, len(first))
        stored: list[Accumulator | None] = [None] * len(first)
        slots = [column.to_pylist() for column in table.slots(numbers[known])]
        for place, accumulator in zip(np.flatnonzero(known).tolist(), zip(*slots)):
            stored[place] = accumulator
        batch = Batch(self._evaluator(columns, len(rows)), ids, signs_of(rows))
        found = each_change(self._accumulators, batch, groups, stored)
        changed = rows_of_changes(self._accumulators, keys, found, (self._before, self._alive))
        table.write(numbers, columns_of(self._accumulators, [each or self._accumulators.zero for each in found.last]))
        self._end(numbers[[each is None for each in found.last]])
        return changed

    def changes(self) -> Iterator[Rows]:
        if not self._touched:
            return
        touched, old = np.concatenate(self._touched), [pa.chunked_array(parts) for parts in zip(*self._old)]
        self._touched, self._old = [], []
        self._marks[touched] = False
        start, gone = 0, list[Ids]()
        for numbers in pieces(touched):
            had = ~self._table.are_new(numbers)
            count = int(np.count_nonzero(had))
            before = [column.slice(start, count).combine_chunks() for column in old]
            start += count
            now = self._table.slots(numbers)
            has = now[0].to_numpy() > 0
            gone.append(numbers[~has])
            keys = self._table.take(numbers)
            new = self._accumulators.column_results(now)
            if not count:
                yield _inserted([*keys, *new], has)
            else:
                yield self._changed(keys, before, new, had, has)
        self._end(np.concatenate(gone))

    def _end(self, numbers: Ids) -> None:
        """The changes of the slice are made: remove these groups."""
        if len(numbers):
            self._accumulators.clear_groups(self._table.take(numbers), len(numbers))
            self._table.remove(numbers)
        self._table.settle()
        self._accumulators.settle()

    def _changed(
        self, keys: Sequence[pa.Array], before: Sequence[pa.Array], new: Sequence[pa.Array], had: Any, has: Any
    ) -> Rows:
        """:param before: the old accumulators of the groups that had a row."""
        values = self._accumulators.column_results(before)
        count, known = len(had), np.flatnonzero(had)
        updated = had & has
        still = has[known]
        chosen, there = pa.array(np.flatnonzero(still)), pa.array(known[still])
        if not self._alive:
            pairs = [each.take(chosen) for each in values], [each.take(there) for each in new]
            updated[updated] = differing(*pairs) if values else False
        places = np.cumsum(had) - 1 + count  # of old values, which stand behind the new ones
        rows, kinds = placed_changes(places, np.arange(count), had, has, updated, self._before)
        where = pa.array(rows)
        own = pa.array(np.concatenate([np.arange(count), known])[rows])
        columns = [pa.concat_arrays([each, old]).take(where) for each, old in zip(new, values)]
        batch = record_batch([*(key.take(own) for key in keys), *columns], len(rows))
        return Rows(batch, kinds if kinds.any() else None)


def _inserted(columns: Sequence[pa.Array], has: Any) -> Rows:
    batch = record_batch(columns, len(has))
    return Rows(batch if has.all() else batch.filter(pa.array(has)))
