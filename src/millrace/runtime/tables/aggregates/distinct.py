"""DISTINCT arguments: finds rows that add a value for the first time, or remove its last occurrence.

Aggregates over the same arguments share the values, whatever their FILTER is: a state entry per value counts its
occurrences for each filter.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from operator import add
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from millrace.relational.rex import Rex
from millrace.runtime.tables.aggregates.batch import Batch
from millrace.runtime.tables.aggregates.retained_values import Pairs, Values
from millrace.runtime.tables.columns.keys import Ids, key_columns, rows_at
from millrace.runtime.tables.columns.matching import running
from millrace.runtime.tables.state import KeyedMap

Counts = tuple[int, ...]
"""number of occurrences of a value, for each filter"""


class Changed(NamedTuple):
    """Values that were added to, or removed from, the distinct values."""

    ids: Ids
    args: list[pa.Array]
    signs: list[pa.Array]
    """for each filter a column of signs: 1 for an added value, -1 for a removed one, 0 for neither"""


class DistinctCounts(ABC):
    """The distinct values of some arguments."""

    def __init__(self, args: tuple[Rex, ...]) -> None:
        self.args = args
        self.filters: list[Rex | None] = []

    def filter_number(self, condition: Rex | None) -> int:
        """The index of a filter among those for which values are counted; a new filter is added."""
        if condition not in self.filters:
            self.filters.append(condition)
        return self.filters.index(condition)

    def begin(self) -> None:
        """All filters are known."""

    @abstractmethod
    def update(self, batch: Batch, ats: Sequence[Any]) -> Changed:
        """Count the values of these rows.

        :param ats: the addresses of the accumulators.
        """

    @abstractmethod
    def clear(self, at: Any) -> None:
        """Delete the values at an address."""


def crossings(pairs: Ids, before: Ids, changes: Ids) -> pa.Array:
    """Where running counts begin to be above 0 (1), or end to be (-1); else 0.

    :param pairs: for each change the index of the count.
    :param before: the counts before the changes.
    """
    sums, _, _ = running(pairs, changes)
    known = before[pairs] + sums
    return pa.array((known + changes > 0).astype(np.int64) - (known > 0))


def at_groups(groups: Sequence[pa.Array], ids: Ids, args: Sequence[pa.Array], rows: Ids) -> list[pa.Array]:
    """The columns of key and arguments for some rows of a batch.

    :param groups: the key columns of the accumulators; ``ids``: the accumulator of each row of the batch.
    """
    return [*rows_at(groups, ids[rows]), *rows_at(args, rows)]


class DistinctInColumns(DistinctCounts):
    """Distinct values in columns, at keys.

    :param keys: the types of the key columns; the key is the address of a group.
    """

    def __init__(self, args: tuple[Rex, ...], keys: Sequence[pa.DataType]) -> None:
        super().__init__(args)
        self._keys = keys

    def update(self, batch: Batch, ats: Sequence[Any]) -> Changed:
        return self.seen(batch, key_columns(ats, self._keys), len(ats))

    @abstractmethod
    def seen(self, batch: Batch, groups: Sequence[pa.Array], count: int) -> Changed:
        """As ``update``.

        :param groups: the key columns of the accumulators.
        :param count: number of accumulators.
        """

    @abstractmethod
    def each(self, batch: Batch, groups: Sequence[pa.Array], count: int) -> list[pa.Array]:
        """As ``seen``, for rows one after the other: for each filter the sign of each row."""

    def clear(self, at: Any) -> None:
        self.clear_groups(key_columns([at], self._keys), 1)

    def settle(self) -> None:
        """The changes of the slice were emitted: rows of the state may leave memory."""

    @abstractmethod
    def clear_groups(self, groups: Sequence[pa.Array], count: int) -> None:
        """Delete the values of groups that have ended, by their key columns."""


class CountedValues(DistinctCounts):
    """Counts the occurrences of each value in a state entry, so that rows can be retracted."""

    def __init__(self, args: tuple[Rex, ...], entries: KeyedMap, types: Sequence[pa.DataType]) -> None:
        super().__init__(args)
        self._entries = entries
        self._types = types

    def update(self, batch: Batch, ats: Sequence[Any]) -> Changed:
        args = [batch.column(arg) for arg in self.args]
        pairs = Pairs(batch.ids, args)
        nets = [pairs.net(batch.signs_where(each).to_numpy()).tolist() for each in self.filters]
        return self._count(pairs.ids, pairs.values, list(zip(*nets)), ats)

    def absorb(self, at: Any, other: Any) -> Changed:
        """Add the values of another address to those of ``at``, which is accumulator 0; the other entries stay."""
        entries = list(self._entries.items(other))
        return self._count([0] * len(entries), [v for v, _ in entries], [c for _, c in entries], [at])

    def _count(self, ids: list[int], values: list[Values], nets: list[Counts], ats: Sequence[Any]) -> Changed:
        get, put, remove = self._entries.get, self._entries.put, self._entries.remove
        nothing = (0,) * len(self.filters)
        changed: list[tuple[int, Values, Counts]] = []
        for id, value, net in zip(ids, values, nets):
            if net == nothing:
                continue
            at = ats[id]
            before = get(at, value) or nothing
            after = tuple(map(add, before, net))
            if after == nothing:
                remove(at, value)
            else:
                put(at, value, after)
            if len(nothing) == 1 and (before[0] > 0) == (after[0] > 0):
                continue  # the usual case, made short
            signs = tuple([(new > 0) - (old > 0) for old, new in zip(before, after)])
            if signs != nothing:
                changed.append((id, value, signs))
        return self._changed(changed)

    def _changed(self, changed: list[tuple[int, Values, Counts]]) -> Changed:
        by_filter = zip(*[signs for _, _, signs in changed]) if changed else [()] * len(self.filters)
        return Changed(
            np.array([id for id, _, _ in changed], np.int64),
            key_columns([value for _, value, _ in changed], self._types),
            [pa.array(each, pa.int64()) for each in by_filter],
        )

    def clear(self, at: Any) -> None:
        self._entries.clear(at)


class OnceValues(CountedValues):
    """Distinct values of rows that are never retracted: a value is never removed, so its entry is written once, and a
    checkpoint contains only new values."""

    def _count(self, ids: list[int], values: list[Values], nets: list[Counts], ats: Sequence[Any]) -> Changed:
        get, put = self._entries.get, self._entries.put
        nothing = (0,) * len(self.filters)
        changed: list[tuple[int, Values, Counts]] = []
        for id, value, net in zip(ids, values, nets):
            if net == nothing:
                continue
            if min(net) < 0:
                raise ValueError("an aggregate was planned to have insertions only, but its input takes rows back")
            at = ats[id]
            before = get(at, value) or nothing
            signs = tuple([int(more > 0 and not known) for known, more in zip(before, net)])
            if signs != nothing:
                put(at, value, tuple(map(add, before, signs)))
                changed.append((id, value, signs))
        return self._changed(changed)
