"""The values of aggregates whose input takes rows back, in columns: each value of a group with its counts.

A count may be negative: the value was retracted before it was added.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millrace.relational.functions.aggregates.registry import Extremum, Folding, Slot
from millrace.relational.rex import Rex
from millrace.relational.rows import record_batch
from millrace.runtime.rows.expiry import Expiry, expiry_of_copy
from millrace.runtime.state.column_deltas import Changes, Form
from millrace.runtime.tables.aggregates.batch import Batch
from millrace.runtime.tables.aggregates.distinct import Changed, DistinctInColumns, at_groups, crossings
from millrace.runtime.tables.columns.batch_bytes import types_as_bytes, types_of
from millrace.runtime.tables.columns.key_hashes import key_hashes
from millrace.runtime.tables.columns.keys import (
    Ids,
    Key,
    group_ids,
    hashable_values,
    key_columns,
    key_tuples,
    rows_at,
)
from millrace.runtime.tables.columns.merging import merged
from millrace.runtime.tables.columns.reduction import reduce_columns
from millrace.runtime.tables.counted_rows import CountedRows, Entry
from millrace.runtime.tables.indexed_rows import at_positions


class ValueRows(CountedRows):
    """Key, value and counts.

    :param keys: the types of the key columns.
    :param values: the types of the value's columns.
    :param counts: the number of counts.
    :param bare: whether a savepoint has a single count by itself, and not in a tuple.
    :param expiry: when values expire, each by itself; None: never.

    In a savepoint a key has a dict from value to counts, with a time to live to (time of the last write in ms, counts).
    """

    def __init__(
        self,
        keys: Sequence[pa.DataType],
        values: Sequence[pa.DataType],
        counts: int,
        bare: bool,
        expiry: Expiry | None = None,
    ) -> None:
        super().__init__([*keys, *values], range(len(keys)), None, counts, expiry)
        self._values = values
        self._bare = bare
        self._made_of = (types_as_bytes(keys), types_as_bytes(values), counts, bare)

    def change(self, columns: Sequence[pa.Array], by: Sequence[Ids]) -> tuple[list[Ids], list[Ids]]:
        """Add to the counts of rows; a row whose counts are all 0 is removed.

        :param columns: key and value columns, without duplicates.
        :param by: for each count what is added to it.
        :return: (the counts before, the counts afterwards).
        """
        length = len(by[0])
        found = self._looked_up(columns, length)
        before = self._marks_of(found, length)
        after = [old + more for old, more in zip(before, by)]
        stays = np.zeros(length, bool)
        for each in after:
            stays |= each != 0
        rows = np.arange(length)
        since = rows.copy()
        since[found.there] = -1
        self._store_changes(found, columns, rows, stays, since, after)
        return before, after

    def clear(self, keys: Sequence[pa.Array], length: int) -> None:
        """Remove all values of these keys."""
        self.remove(self.of_keys(key_hashes(keys, length), at_positions(keys))[1])

    # -- as a table -----------------------------------------------------------------------------------------------

    def form(self) -> Form:
        return "counted values", (*self._made_of, *self._lifetime)

    @classmethod
    def told(  # type: ignore[override]
        cls, keys: bytes, values: bytes, counts: int, bare: bool, ttl: int = 0
    ) -> ValueRows:
        return cls(types_of(keys), types_of(values), counts, bare, expiry_of_copy(ttl))

    def batch_of(self, entries: Changes) -> pa.RecordBatch | None:
        rows = [(at, value, counts) for at, (_, stored, _) in entries.items() for value, counts in stored.items()]
        if not rows:
            return None
        keys = key_columns([at for at, _, _ in rows], self.types[: len(self._key)])
        values = key_columns([value for _, value, _ in rows], self._values)
        counts = [pa.array(each, pa.int64()) for each in zip(*(self._numbers(each) for _, _, each in rows))]
        return record_batch([*keys, *values, *counts], len(rows))

    def _numbers(self, stored: Entry) -> Sequence[int]:
        """The counts of an entry of a savepoint, and the time of its last write if values expire."""
        counts, stamps = self.unstamped(stored)
        return (counts, *stamps) if self._bare else (*counts, *stamps)

    def entries_of(self, batch: pa.RecordBatch) -> Changes:
        keys, width, length = len(self._key), len(self.types), batch.num_rows
        names = key_tuples(batch.columns[keys:width], length)
        counts: list[Entry] = [each.to_pylist() for each in batch.columns[width : width + self._width]]
        values = counts[0] if self._bare else list(zip(*counts))
        found: Changes = {}
        for key, name, value in zip(self._keys_of(batch.columns, length), names, self.stamped(values, batch)):
            found.setdefault(key, (True, {}, []))[1][name] = value
        return found


Value = Any
"""a value of an aggregate, in the form of Arrow"""
MakeRows = Callable[[Sequence[pa.DataType], int, bool], ValueRows]
"""(types of a value's columns, number of counts, whether one count is stored by itself) -> the table of a state"""


class ChangingValues(DistinctInColumns):
    """The distinct values of some arguments, which may be taken back.

    :param make: makes the table, when the number of filters is known.
    """

    def __init__(
        self, args: tuple[Rex, ...], types: Sequence[pa.DataType], keys: Sequence[pa.DataType], make: MakeRows
    ) -> None:
        super().__init__(args, keys)
        self._types = types
        self._make = make

    def begin(self) -> None:
        self._rows = self._make(self._types, len(self.filters), False)

    def seen(self, batch: Batch, groups: Sequence[pa.Array], count: int) -> Changed:
        args = [batch.column(arg) for arg in self.args]
        nets = [batch.signs_where(condition).to_numpy() for condition in self.filters]
        ids, columns, nets = _netted(batch.ids, args, nets, groups)
        before, after = self._rows.change(columns, nets)
        signs = [(new > 0).astype(np.int64) - (old > 0) for old, new in zip(before, after)]
        chosen = np.flatnonzero(np.any([each != 0 for each in signs], axis=0))
        values = rows_at(columns[len(groups) :], chosen)
        return Changed(ids[chosen], values, [pa.array(each[chosen]) for each in signs])

    def each(self, batch: Batch, groups: Sequence[pa.Array], count: int) -> list[pa.Array]:
        args = [batch.column(arg) for arg in self.args]
        signs = [batch.signs_where(condition).to_numpy() for condition in self.filters]
        of_row, first = group_ids([pa.array(batch.ids), *args], len(batch.ids))
        columns = at_groups(groups, batch.ids, args, first)
        before, _ = self._rows.change(columns, [_sums(of_row, len(first), each) for each in signs])
        return [crossings(of_row, known, each) for known, each in zip(before, signs)]

    def clear_groups(self, groups: Sequence[pa.Array], count: int) -> None:
        self._rows.clear(groups, count)

    def settle(self) -> None:
        self._rows.settle()


class ColumnExtremum:
    """MIN or MAX of rows that may be retracted: the slot of an accumulator is the smallest or largest value.

    :param folding: the same call for rows that are only added.
    :param types: the types of its argument; ``keys``: those of the key columns, the address of an accumulator.
    :param make: makes the table of its values.
    """

    def __init__(
        self, folding: Folding, types: Sequence[pa.DataType], keys: Sequence[pa.DataType], make: MakeRows
    ) -> None:
        self._keys = keys
        self._folding = folding
        self._rows = make(types, 1, True)
        (self.slot,) = folding.slots
        self.zero = None
        self._gone: tuple[Ids, pa.Array] = (np.zeros(0, np.int64), pa.array([], types[0]))
        """(accumulator, value) of the values that the last batch has taken back"""

    @property
    def slots(self) -> tuple[Slot, ...]:
        return self._folding.slots

    def column_result(self, slots: Sequence[pa.Array], result_type: pa.DataType) -> pa.Array:
        """The values of many accumulators."""
        return self._folding.column_result(slots, result_type)

    def update(
        self, ids: Ids, args: Sequence[pa.Array], signs: pa.Array, ats: Sequence[Key], slots: list[Value]
    ) -> None:
        """Add and retract rows.

        :param ats: the address of each accumulator, its key. :param slots: the slots, changed in place.
        """
        groups = key_columns(ats, self._keys)
        changed = self.contributed(ids, args, signs, groups)
        old = pa.array(slots, self.slot.type)
        added = reduce_columns(changed.ids, len(slots), [(changed.args[0], self.slot.reduce)])
        (now,) = merged([old], added, self.slots)
        slots[:] = self.corrected(now, old, np.arange(len(slots)), groups).to_pylist()

    def results(self, ats: Sequence[Key], slots: Sequence[Value]) -> list[Value]:
        """The value of each accumulator, in a form that Arrow accepts."""
        return list(slots)

    def clear(self, at: Key) -> None:
        """Delete the values at an address."""
        self.clear_groups(key_columns([at], self._keys), 1)

    def contributed(self, ids: Ids, args: Sequence[pa.Array], signs: pa.Array, groups: Sequence[pa.Array]) -> Changed:
        """Count values; those that exist now and have changed contribute to the slots.

        :param groups: the key columns of the accumulators.
        """
        counts = np.flatnonzero(args[0].is_valid().to_numpy(zero_copy_only=False))
        if len(counts) < len(ids):
            ids, (*args, signs) = ids[counts], rows_at([*args, signs], counts)
        ids, columns, (net,) = _netted(ids, args, [signs.to_numpy()], groups)
        (before,), (after,) = self._rows.change(columns, [net])
        value = columns[len(groups)]
        gone = np.flatnonzero((after <= 0) & (before > 0))
        self._gone = ids[gone], value.take(pa.array(gone))
        there = np.flatnonzero(after > 0)
        ones = pa.array(np.ones(len(there), np.int64))
        return Changed(ids[there], [value.take(pa.array(there))], [ones])

    def corrected(self, now: pa.Array, old: pa.Array, known: Ids, groups: Sequence[pa.Array]) -> pa.Array:
        """The slots, where the best value may have been taken back.

        :param now: the slots with what the last batch has added; ``old``: those before, both of the accumulators
            ``known``.
        :param groups: the key columns of all accumulators of the batch.
        """
        ids, values = self._gone
        place = np.full(max(int(known.max(initial=0)), int(ids.max(initial=0))) + 1, -1, np.int64)
        place[known] = np.arange(len(known))
        at = place[ids]
        values, at = values.filter(pa.array(at >= 0)), at[at >= 0]
        best = old.take(pa.array(at))
        worse = (pc.less if self.slot.reduce == "max" else pc.greater)(values, best)
        lost = np.unique(at[~pc.fill_null(worse, False).to_numpy(zero_copy_only=False)])
        if not len(lost):
            return now
        keys = rows_at(groups, known[lost])
        owners, numbers = self._rows.of_keys(key_hashes(keys, len(lost)), at_positions(keys))
        there = self._rows.slots(numbers)[0].to_numpy() > 0
        (value,) = self._rows.take(numbers[there], (len(groups),))
        (found,) = reduce_columns(owners[there], len(lost), [(value, self.slot.reduce)])
        where = np.arange(len(now))
        where[lost] = len(now) + np.arange(len(lost))
        return pa.concat_arrays([now, found]).take(pa.array(where))

    def each(
        self, ids: Ids, args: Sequence[pa.Array], signs: pa.Array, groups: Sequence[pa.Array], best: list[Value]
    ) -> list[Value]:
        """The slot of its accumulator after each row.

        :param best: the slots before.
        """
        better, extremum = self.slot.merge, Extremum(self.slot.reduce == "max")
        lost = np.unique(ids[signs.to_numpy() < 0])
        # Only where values are taken back all of them have to be known.
        known = self._known(lost, groups)
        values = args[0].to_pylist()
        keys = hashable_values(args[0])
        found = []
        for id, value, key, sign in zip(ids.tolist(), values, keys, signs.to_pylist()):
            if sign and value is not None:
                counts = known.get(id)
                if counts is None:
                    best[id] = better(best[id], value)
                else:
                    entry = counts.setdefault(key, [0, value])
                    entry[0] += sign
                    if sign > 0 and entry[0] > 0:
                        best[id] = better(best[id], value)
                    elif entry[0] <= 0 < entry[0] - sign and not extremum.is_better(best[id], value):
                        present = [each for count, each in counts.values() if count > 0]
                        best[id] = reduce(better, present) if present else None
            found.append(best[id])
        self.contributed(ids, args, signs, groups)
        return found

    def _known(self, ids: Ids, groups: Sequence[pa.Array]) -> dict[int, dict[Value, list[Value]]]:
        """Accumulator -> value as in a key -> [count, value]."""
        keys = rows_at(groups, ids)
        owners, numbers = self._rows.of_keys(key_hashes(keys, len(ids)), at_positions(keys))
        (value,) = self._rows.take(numbers, (len(groups),))
        counts = self._rows.slots(numbers)[0].to_pylist()
        found: dict[int, dict[Value, list[Value]]] = {id: {} for id in ids.tolist()}
        for id, key, each, count in zip(ids[owners].tolist(), hashable_values(value), value.to_pylist(), counts):
            found[id][key] = [count, each]
        return found

    def clear_groups(self, groups: Sequence[pa.Array], count: int) -> None:
        """Delete the values of these accumulators."""
        self._rows.clear(groups, count)

    def settle(self) -> None:
        """The changes of the slice were emitted: rows of the state may leave memory."""
        self._rows.settle()


def _netted(
    ids: Ids, args: Sequence[pa.Array], signs: Sequence[Ids], groups: Sequence[pa.Array]
) -> tuple[Ids, list[pa.Array], list[Ids]]:
    """The distinct pairs of accumulator and arguments that are added or taken back in all: (accumulators, the columns
    of key and arguments, for each of ``signs`` how often each pair is added).
    """
    of_row, first = group_ids([pa.array(ids), *args], len(ids))
    nets = [_sums(of_row, len(first), each) for each in signs]
    chosen = np.flatnonzero(np.any([each != 0 for each in nets], axis=0))
    first = first[chosen]
    return ids[first], at_groups(groups, ids, args, first), [each[chosen] for each in nets]


def _sums(groups: Ids, count: int, values: Ids) -> Ids:
    """The sum of the values of each group."""
    found = np.zeros(count, np.int64)
    np.add.at(found, groups, values)
    return found
