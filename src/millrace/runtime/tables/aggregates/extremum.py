"""MIN and MAX of rows that may be taken back: all values are stored, and of large groups the best ones are at hand."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millrace.relational.functions.aggregates.registry import Extremum, Folding, Slot
from millrace.runtime.rows.hashes import are_among
from millrace.runtime.tables.aggregates.distinct import Changed
from millrace.runtime.tables.aggregates.value_rows import MakeRows, ValueRows, netted
from millrace.runtime.tables.columns.key_hashes import key_hashes
from millrace.runtime.tables.columns.keys import Ids, Key, hashable_values, key_columns, key_tuples, rows_at
from millrace.runtime.tables.columns.merging import merged
from millrace.runtime.tables.columns.reduction import reduce_columns
from millrace.runtime.tables.indexed_rows import at_positions

Value = Any
"""a value of an aggregate, in the form of Arrow"""
LARGE = 1_024
"""The number of values of a group from which on its best ones are remembered."""
BEST = 512
"""How many of them: so often the best one may be taken back until all values are read again."""
FIRST = 16
"""This many are looked at first."""


class _Best(NamedTuple):
    """The best values of a key."""

    values: pa.Array
    """the best one first; some may not exist any more"""
    bound: pa.Scalar
    """all values that exist and are better than this one are there"""


class BestValues:
    """The best values of large groups, derived from the table: who has read all values of a group lets them be learned.

    :param largest: whether a larger value is better.
    """

    def __init__(self, rows: ValueRows, largest: bool) -> None:
        self._rows = rows
        self._order = "descending" if largest else "ascending"
        self._is_better = pc.greater if largest else pc.less
        self._known: dict[Key, _Best] = {}
        self._hashes = np.zeros(0, np.uint32)
        """the hashes of the known keys in ascending order, and of some that are not known any more"""
        self._began = rows.began

    @staticmethod
    def fits(types: Sequence[pa.DataType]) -> bool:
        """Whether values of these types have one order: NaN has none."""
        return len(types) == 1 and not pa.types.is_floating(types[0])

    def _keys_in(self, keys: Sequence[pa.Array], length: int) -> tuple[Ids, list[Key]]:
        """(the indexes of those of these keys that may be known, these keys)."""
        if self._began != self._rows.began:
            self._known, self._hashes, self._began = {}, np.zeros(0, np.uint32), self._rows.began
        if not self._known:
            return np.zeros(0, np.int64), []
        at = np.flatnonzero(are_among(key_hashes(keys, length).astype(np.uint32), self._hashes))
        return at, key_tuples(rows_at(keys, at), len(at))

    def add(self, columns: Sequence[pa.Array], length: int) -> None:
        """These values, which did not exist before, exist now.

        :param columns: key and value columns.
        """
        at, names = self._keys_in(columns[:-1], length)
        of_key: dict[Key, list[int]] = {}
        for place, name in zip(at.tolist(), names):
            if name in self._known:
                of_key.setdefault(name, []).append(place)
        for name, places in of_key.items():
            values, bound = self._known[name]
            came = columns[-1].take(pa.array(places))
            came = came.filter(self._is_better(came, bound))
            if len(came):
                self._known[name] = self._sorted(pa.concat_arrays([values, came]), bound)

    def _sorted(self, values: pa.Array, bound: pa.Scalar) -> _Best:
        """These values in order, without those that are too many."""
        order = pc.array_sort_indices(values, order=self._order)
        if len(values) <= 2 * BEST:
            return _Best(values.take(order), bound)
        values = values.take(order[:BEST])
        return _Best(values, values[-1])

    def find(self, keys: Sequence[pa.Array], length: int) -> tuple[Ids, pa.Array]:
        """(the indexes of the keys of which it is not known, the best values of the others)."""
        known = np.zeros(length, bool)
        found = []
        for place, name in zip(*self._keys_in(keys, length)):
            best = self._first(rows_at(keys, np.array([place])), name) if name in self._known else None
            if best is not None:
                known[place] = True
                found.append(best)
        values = pa.concat_arrays(found) if found else pa.array([], self._rows.types[-1])
        return np.flatnonzero(~known), values

    def _first(self, key: Sequence[pa.Array], name: Key) -> pa.Array | None:
        """The best value of a known key that exists; None: all that are known are gone."""
        values, bound = self._known[name]
        for some in (values[:FIRST], values[FIRST:]):
            if not len(some):
                continue
            columns = [*rows_at(key, np.zeros(len(some), np.int64)), some]
            there = np.flatnonzero(self._rows.exist(columns, len(some)))
            if len(there):
                self._known[name] = _Best(values[values.index(some[there[0]]).as_py() :], bound)
                return some[int(there[0]) : int(there[0]) + 1]
        del self._known[name]
        return None

    def learn(self, keys: Sequence[pa.Array], owners: Ids, values: pa.Array) -> None:
        """Remember the best values of those keys that have many.

        :param owners: for each of all values that exist the index of its key.
        """
        sizes = np.bincount(owners, minlength=1)
        large = np.flatnonzero(sizes >= LARGE)
        if not len(large):
            return
        order = np.argsort(owners, kind="stable")
        starts = np.cumsum(sizes) - sizes
        chosen = rows_at(keys, large)
        for place, name in zip(large.tolist(), key_tuples(chosen, len(large))):
            own = values.take(pa.array(order[starts[place] : starts[place] + sizes[place]]))
            best = own.take(pc.select_k_unstable(own, BEST, [("", self._order)]))  # in order
            self._known[name] = _Best(best, best[-1])
        hashes = key_hashes(chosen, len(large)).astype(np.uint32)
        self._hashes = np.unique(np.concatenate([self._hashes, hashes]))

    def forget(self, keys: Sequence[pa.Array], length: int) -> None:
        """These keys have no values any more."""
        for name in self._keys_in(keys, length)[1]:
            self._known.pop(name, None)


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
        self._best = BestValues(self._rows, self.slot.reduce == "max") if BestValues.fits(types) else None
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
        ids, columns, (net,) = netted(ids, args, [signs.to_numpy()], groups)
        (before,), (after,) = self._rows.change(columns, [net])
        value = columns[len(groups)]
        gone = np.flatnonzero((after <= 0) & (before > 0))
        self._gone = ids[gone], value.take(pa.array(gone))
        if self._best is not None:
            came = np.flatnonzero((after > 0) & (before <= 0))
            self._best.add(rows_at(columns, came), len(came))
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
        unknown, found = np.arange(len(lost)), pa.array([], self._gone[1].type)
        if self._best is not None:
            unknown, found = self._best.find(keys, len(lost))
        where = np.arange(len(now))
        where[np.delete(lost, unknown)] = len(now) + np.arange(len(found))
        where[lost[unknown]] = len(now) + len(found) + np.arange(len(unknown))
        slots = [now, found]
        if len(unknown):
            slots.append(self._of_all(rows_at(keys, unknown), len(unknown)))
        return pa.concat_arrays(slots).take(pa.array(where))

    def _of_all(self, keys: Sequence[pa.Array], length: int) -> pa.Array:
        """The best value of each of these keys, found among all of its values."""
        owners, numbers = self._rows.of_keys(key_hashes(keys, length), at_positions(keys))
        there = self._rows.slots(numbers)[0].to_numpy() > 0
        owners = owners[there]
        (value,) = self._rows.take(numbers[there], (len(keys),))
        if self._best is not None:
            self._best.learn(keys, owners, value)
        (found,) = reduce_columns(owners, length, [(value, self.slot.reduce)])
        return found

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
        if self._best is not None:
            self._best.forget(groups, count)

    def settle(self) -> None:
        """The changes of the slice were emitted: rows of the state may leave memory."""
        self._rows.settle()
