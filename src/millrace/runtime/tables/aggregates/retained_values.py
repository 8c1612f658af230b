"""Aggregates that store values: one state entry for each distinct value of a group."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.relational.functions.aggregates.registry import Entry, Extremum, Keeping
from millrace.runtime.tables.columns.keys import Ids, group_ids, key_columns, key_tuples
from millrace.runtime.tables.state import KeyedMap

Values = tuple[Any, ...]
"""the arguments of a row, in the form that they have in keys"""


class Pairs:
    """The distinct (accumulator, arguments) pairs of a batch, in the order of their first rows."""

    def __init__(self, ids: Ids, args: Sequence[pa.Array]) -> None:
        self.of_row, self.first = group_ids([pa.array(ids), *args], len(ids))
        self.ids: list[int] = ids[self.first].tolist()
        self.values: list[Values] = key_tuples([arg.take(pa.array(self.first)) for arg in args], len(self.first))

    def net(self, signs: Any) -> Any:
        """How often each pair is added in all; negative if it is retracted."""
        total = np.zeros(len(self.ids), np.int64)
        np.add.at(total, self.of_row, signs)
        return total


class KeptValues(ABC):
    """The base of these aggregates. The slot of an accumulator contains what can be known without reading the
    entries.
    """

    zero: Any

    def __init__(self, entries: KeyedMap, types: Sequence[pa.DataType], skips_nulls: bool) -> None:
        self._entries = entries
        self._types = types
        self._skips_nulls = skips_nulls

    def update(self, ids: Ids, args: Sequence[pa.Array], signs: pa.Array, ats: Sequence[Any], slots: list[Any]) -> None:
        """Add and retract rows.

        :param ats: the address of each accumulator. :param slots: the slot of each accumulator; changed in place.
        """
        wanted = signs.to_numpy() != 0
        if self._skips_nulls and args[0].null_count:
            wanted &= args[0].is_valid().to_numpy(zero_copy_only=False)
        if not wanted.all():
            rows = np.flatnonzero(wanted)
            if not len(rows):
                return
            where = pa.array(rows)
            ids, args, signs = ids[rows], [arg.take(where) for arg in args], signs.take(where)
        self._update(ids, args, signs.to_numpy(), ats, slots)

    @abstractmethod
    def _update(self, ids: Ids, args: Sequence[pa.Array], signs: Any, ats: Sequence[Any], slots: list[Any]) -> None: ...

    @abstractmethod
    def absorb(self, at: Any, slot: Any, other: Any, other_slot: Any) -> Any:
        """Merge the entries at another address into those at ``at``; returns the new slot. The other entries stay."""

    @abstractmethod
    def results(self, ats: Sequence[Any], slots: Sequence[Any]) -> list[Any]:
        """The value of each accumulator, in a form that Arrow accepts."""

    def clear(self, at: Any) -> None:
        self._entries.clear(at)

    def _thawed(self, entries: Iterable[tuple[Values, Any]]) -> list[Entry]:
        """The entries with their arguments in the form of Arrow."""
        found = list(entries)
        columns = key_columns([values for values, _ in found], self._types)
        return [(args, other) for args, (_, other) in zip(zip(*(each.to_pylist() for each in columns)), found)]


class KeptCounts(KeptValues):
    """Entries count the occurrences of a value. A negative count: the value was retracted before it was added."""

    zero = None

    def __init__(self, entries: KeyedMap, types: Sequence[pa.DataType], keeping: Keeping) -> None:
        super().__init__(entries, types, keeping.skips_nulls)
        self._keeping = keeping

    def _update(self, ids: Ids, args: Sequence[pa.Array], signs: Any, ats: Sequence[Any], slots: list[Any]) -> None:
        pairs = Pairs(ids, args)
        for id, values, net in zip(pairs.ids, pairs.values, pairs.net(signs).tolist()):
            if net:
                change_count(self._entries, ats[id], values, net)

    def absorb(self, at: Any, slot: Any, other: Any, other_slot: Any) -> Any:
        for values, count in self._entries.items(other):
            change_count(self._entries, at, values, count)
        return None

    def results(self, ats: Sequence[Any], slots: Sequence[Any]) -> list[Any]:
        found = []
        for at in ats:
            entries = self._thawed(entry for entry in self._entries.items(at) if entry[1] > 0)
            found.append(self._keeping.result(entries) if entries else self._keeping.empty())
        return found


class KeptExtremum(KeptValues):
    """Entries count the occurrences of a value; the slot is the smallest or largest value, None without values."""

    zero = None

    def __init__(self, entries: KeyedMap, types: Sequence[pa.DataType], extremum: Extremum) -> None:
        super().__init__(entries, types, True)
        self._extremum = extremum

    def _update(self, ids: Ids, args: Sequence[pa.Array], signs: Any, ats: Sequence[Any], slots: list[Any]) -> None:
        pairs = Pairs(ids, args)
        values = key_columns(pairs.values, self._types)[0].to_pylist()
        gone: dict[int, None] = {}
        for id, key, value, net in zip(pairs.ids, pairs.values, values, pairs.net(signs).tolist()):
            if not net:
                continue
            count = change_count(self._entries, ats[id], key, net)
            best = slots[id]
            if count > 0 and (best is None or self._extremum.is_better(value, best)):
                slots[id] = value
            elif count <= 0 < count - net and best is not None and not self._extremum.is_better(best, value):
                gone[id] = None
        for id in gone:
            slots[id] = self._best(ats[id])

    def _best(self, at: Any) -> Any:
        found = [args[0] for args, _ in self._thawed(entry for entry in self._entries.items(at) if entry[1] > 0)]
        return self._extremum.best(found) if found else None

    def absorb(self, at: Any, slot: Any, other: Any, other_slot: Any) -> Any:
        for values, count in self._entries.items(other):
            change_count(self._entries, at, values, count)
        if slot is None or other_slot is None:
            return other_slot if slot is None else slot
        return other_slot if self._extremum.is_better(other_slot, slot) else slot

    def results(self, ats: Sequence[Any], slots: Sequence[Any]) -> list[Any]:
        return list(slots)


class KeptPlaces(KeptValues):
    """Entries contain the ascending positions of a value; the slot is the next position."""

    zero = 0

    def __init__(
        self,
        entries: KeyedMap,
        types: Sequence[pa.DataType],
        skips_nulls: bool,
        result: Callable[[Sequence[Entry]], Any],
        empty: Any,
    ) -> None:
        super().__init__(entries, types, skips_nulls)
        self._result, self._empty = result, empty

    def _update(self, ids: Ids, args: Sequence[pa.Array], signs: Any, ats: Sequence[Any], slots: list[Any]) -> None:
        get, put, remove = self._entries.get, self._entries.put, self._entries.remove
        for id, values, sign in zip(ids.tolist(), key_tuples(args, len(ids)), signs.tolist()):
            at = ats[id]
            places = get(at, values) or ()
            if sign > 0:
                put(at, values, (*places, slots[id]))
                slots[id] += 1
            elif len(places) > 1:
                put(at, values, places[1:])
            elif places:
                remove(at, values)

    def absorb(self, at: Any, slot: Any, other: Any, other_slot: Any) -> Any:
        for values, places in self._entries.items(other):
            known = self._entries.get(at, values) or ()
            self._entries.put(at, values, (*known, *(slot + place for place in places)))
        return slot + other_slot

    def results(self, ats: Sequence[Any], slots: Sequence[Any]) -> list[Any]:
        found = []
        for at in ats:
            entries = self._thawed(self._entries.items(at))
            found.append(self._result(entries) if entries else self._empty)
        return found


def change_count(entries: KeyedMap, at: Any, values: Values, by: int) -> int:
    """The new count of a value."""
    count: int = (entries.get(at, values) or 0) + by
    if count:
        entries.put(at, values, count)
    else:
        entries.remove(at, values)
    return count


def kept_values(entries: KeyedMap, types: Sequence[pa.DataType], found: Keeping | Extremum) -> KeptValues:
    """The state of an aggregate's values."""
    if isinstance(found, Extremum):
        return KeptExtremum(entries, types, found)
    if found.in_order:
        return KeptPlaces(entries, types, found.skips_nulls, found.result, found.empty())
    return KeptCounts(entries, types, found)
