"""Aggregates that need all rows of a group at once, from an append-only input: one state entry for the rows that a
batch adds to a group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.relational.values import plain_values
from millrace.runtime.tables.aggregates.retained_values import KeptValues
from millrace.runtime.tables.columns.keys import Ids, value_column
from millrace.runtime.tables.state import KeyedMap

Part = tuple[Any, ...]
"""(number of rows, values of the first argument, values of the second, ...)"""


class KeptRows(KeptValues):
    """State entries are parts of a group, by the position of their first row; the slot is the next position.

    Earlier versions stored an entry for each distinct row, with its positions (``KeptPlaces``); a savepoint may contain
    them.

    :param value: (columns, number of rows) -> the value of a group, in the form that Arrow takes.
    """

    zero = 0

    def __init__(
        self, entries: KeyedMap, types: Sequence[pa.DataType], value: Callable[[list[pa.Array], int], Any]
    ) -> None:
        super().__init__(entries, types, False)
        self._value = value

    def _update(self, ids: Ids, args: Sequence[pa.Array], signs: Any, ats: Sequence[Any], slots: list[Any]) -> None:
        put = self._entries.put
        order = np.argsort(ids, kind="stable")
        ordered = ids[order]
        starts = np.flatnonzero(np.diff(ordered, prepend=-1))
        columns = [plain_values(arg.take(pa.array(order))) for arg in args]
        for id, start, end in zip(ordered[starts].tolist(), starts.tolist(), [*starts[1:].tolist(), len(ids)]):
            put(ats[id], slots[id], (end - start, *[column[start:end] for column in columns]))
            slots[id] += end - start

    def absorb(self, at: Any, slot: Any, other: Any, other_slot: Any) -> Any:
        for place, part in self._parts(other):
            self._entries.put(at, slot + place, part)
        return slot + other_slot

    def results(self, ats: Sequence[Any], slots: Sequence[Any]) -> list[Any]:
        found = []
        for at in ats:
            parts = [part for _, part in sorted(self._parts(at), key=_place)]
            columns = [
                pa.array(list(chain.from_iterable(part[number] for part in parts)), each)
                for number, each in enumerate(self._types, 1)
            ]
            found.append(self._value(columns, sum(part[0] for part in parts)) if parts else None)
        return found

    def _parts(self, at: Any) -> Iterator[tuple[int, Part]]:
        for key, entry in self._entries.items(at):
            if isinstance(key, int):
                yield key, entry
                continue
            row = (1, *[value_column([value], each).to_pylist() for value, each in zip(key, self._types)])
            yield from ((place, row) for place in entry)


def _place(found: tuple[int, Part]) -> int:
    return found[0]
