"""The contents of windows that are the same for all keys: accumulators in columns if they can be merged, else
objects.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from millrace.relational.functions.evaluate import Evaluator
from millrace.relational.rows import Rows
from millrace.runtime.state.address import Scoped
from millrace.runtime.state.window_tables import WindowTable
from millrace.runtime.tables.aggregates.accumulators import Accumulator, Accumulators
from millrace.runtime.tables.aggregates.batch import Batch, signs_of
from millrace.runtime.tables.aggregates.partials import PartialColumns, joined
from millrace.runtime.tables.columns.keys import Ids, Key, group, group_ids, key_columns
from millrace.runtime.tables.windows.slice_table import SliceTable

Parts = Sequence[tuple[int, Sequence[int]]]
"""(end of a window, ends under which its rows are stored), in ms"""


class Results(NamedTuple):
    """Rows of windows that have ended."""

    keys: list[pa.Array]
    values: list[pa.Array]
    ends: Ids


class WindowContents(ABC):
    """The accumulators of windows, or of their slices, by end.

    :param keys: indexes of the key columns.
    :param key_types: their types.
    :param partial: whether rows are partial accumulators, the first slot in column ``width``.
    """

    def __init__(
        self, accumulators: Accumulators, keys: Sequence[int], key_types: Sequence[pa.DataType], partial: bool
    ) -> None:
        self.accumulators = accumulators
        self.keys = tuple(keys)
        self.key_types = tuple(key_types)
        self.partial = partial

    @property
    @abstractmethod
    def shares_slices(self) -> bool:
        """Whether overlapping windows can be made of slices; several windows may then fire together."""

    @abstractmethod
    def add(self, rows: Rows, ends: Ids, evaluator: Evaluator) -> set[int]:
        """Add rows, each under an end; returns the distinct ends.

        :param evaluator: evaluates expressions over the rows.
        """

    @abstractmethod
    def ends(self) -> list[int]:
        """The ends under which rows are stored."""

    @abstractmethod
    def results(self, windows: Parts) -> Iterable[Results]:
        """The rows of windows that have ended, for those keys that have any."""

    @abstractmethod
    def drop(self, end: int) -> None:
        """Delete everything stored under an end."""


class ColumnContents(WindowContents):
    """Accumulators in columns, with no Python per key; for mergeable accumulators."""

    shares_slices = True
    MOST = 1_000_000
    """the approximate number of rows that are merged at once"""

    def __init__(self, table: SliceTable, accumulators: Accumulators, keys: Sequence[int], partial: bool) -> None:
        super().__init__(accumulators, keys, table.partials.keys, partial)
        self._table = table

    @staticmethod
    def table(accumulators: Accumulators, key_types: Sequence[pa.DataType]) -> SliceTable:
        return SliceTable(PartialColumns(key_types, accumulators.slots))

    def add(self, rows: Rows, ends: Ids, evaluator: Evaluator) -> set[int]:
        partials = self._table.partials
        keys = [rows.batch.column(index) for index in self.keys]
        if self.partial:
            batch = partials.batch(keys, rows.columns[-len(partials.slots) :], len(rows))
        else:
            ids, first = group_ids([pa.array(ends), *keys], len(rows))
            slots = self.accumulators.partials(Batch(evaluator, ids, signs_of(rows)), len(first))
            where = pa.array(first)
            batch = partials.batch([column.take(where) for column in keys], slots, len(first))
            ends = ends[first]
        return set(self._add(batch, ends))

    def _add(self, batch: pa.RecordBatch, ends: Ids) -> list[int]:
        distinct, counts = np.unique(ends, return_counts=True)
        found: list[int] = distinct.tolist()
        if len(found) > 1:
            batch = batch.take(pa.array(np.argsort(ends, kind="stable")))
        start = 0
        for end, count in zip(found, counts.tolist()):
            self._table.add(end, batch.slice(start, count))
            start += count
        return found

    def ends(self) -> list[int]:
        return self._table.ends()

    def results(self, windows: Parts) -> Iterable[Results]:
        held: list[tuple[int, pa.RecordBatch]] = []
        size = 0
        for end, stored in windows:
            self._table.fetch(stored)
            if len(stored) == 1:
                parts = self._table.batches(stored[0])
            else:  # of slices that windows share, the rows of equal keys become one only once
                parts = [batch for each in stored if (batch := self._table.batch(each)) is not None]
            held += ((end, batch) for batch in parts)
            size += sum(batch.num_rows for batch in parts)
            if size >= self.MOST:
                yield self._results(held)
                held, size = [], 0
        if held:
            yield self._results(held)

    def _results(self, held: Sequence[tuple[int, pa.RecordBatch]]) -> Results:
        partials = self._table.partials
        columns, length = joined([batch for _, batch in held])
        ends = np.repeat([end for end, _ in held], [batch.num_rows for _, batch in held])
        ids, first = group_ids([pa.array(ends), *columns[: partials.width]], length)
        if len(first) == length:
            batch = partials.batch(columns[: partials.width], columns[partials.width :], length)
        else:
            batch, ends = partials.reduced(columns, ids, first), ends[first]
        alive = batch.column(partials.width).to_numpy() > 0
        if not alive.all():
            batch, ends = batch.filter(pa.array(alive)), ends[alive]
        values = self.accumulators.column_results(batch.columns[partials.width :])
        return Results(list(batch.columns[: partials.width]), values, ends)

    def drop(self, end: int) -> None:
        self._table.drop(end)


class ObjectContents(WindowContents):
    """One accumulator object per key and end; calls that store values have them at ``Scoped(key, end)``."""

    shares_slices = False  # the values of a key are in state that is dropped with their window

    def __init__(
        self,
        table: WindowTable,
        accumulators: Accumulators,
        keys: Sequence[int],
        key_types: Sequence[pa.DataType],
        partial: bool,
    ) -> None:
        super().__init__(accumulators, keys, key_types, partial)
        self._table = table

    def add(self, rows: Rows, ends: Ids, evaluator: Evaluator) -> set[int]:
        return {at.namespace for at in self.add_at(rows, ends, evaluator)}

    def add_at(self, rows: Rows, ends: Ids, evaluator: Evaluator) -> list[Scoped]:
        """As ``add``; returns the keys, each with its end."""
        columns = rows.columns
        grouped = group([pa.array(ends), *(columns[index] for index in self.keys)], len(rows))
        ats = [Scoped(key[1:], key[0]) for key in grouped.keys]
        contents, zero = self._table.rows, self.accumulators.zero
        old = [contents[at.namespace].get(at.key, zero) if at.namespace in contents else zero for at in ats]
        if self.partial:
            new = self.accumulators.merge_partials(grouped.ids, columns[-len(self.accumulators.slots) :], old)
        else:
            new = self.accumulators.update(Batch(evaluator, grouped.ids, signs_of(rows)), old, ats)
        for at, accumulator in zip(ats, new):
            self._table.put(at.namespace, at.key, accumulator)
        return ats

    def keys_at(self, end: int) -> list[Key]:
        """The keys with an accumulator under an end."""
        return list(self._table.rows.get(end, ()))

    def accumulators_at(self, ats: Sequence[Scoped]) -> list[Accumulator]:
        """The accumulators of keys, each under an end; they must exist."""
        return [self._table.rows[at.namespace][at.key] for at in ats]

    def ends(self) -> list[int]:
        return list(self._table.rows)

    def results(self, windows: Parts) -> Iterable[Results]:
        for end, stored in windows:
            found = [(key, each) for key, each in self._contents(stored) if each[0] > 0]
            if found:
                keys = [key for key, _ in found]
                values = self.accumulators.results([each for _, each in found], [Scoped(key, end) for key in keys])
                yield Results(key_columns(keys, self.key_types), values, np.full(len(keys), end))

    def _contents(self, stored: Sequence[int]) -> Iterable[tuple[Key, Accumulator]]:
        rows = self._table.rows
        if len(stored) == 1:
            return list(rows.get(stored[0], {}).items())
        parts: dict[Key, list[Accumulator]] = {}
        for each in stored:
            for key, accumulator in rows.get(each, {}).items():
                parts.setdefault(key, []).append(accumulator)
        return [(key, self.accumulators.merge(found)) for key, found in parts.items()]

    def drop(self, end: int) -> None:
        if not self.accumulators.mergeable:
            for key in self._table.rows.get(end, ()):
                self.accumulators.clear(Scoped(key, end))
        self._table.drop(end)


def contents_of(backend: Any, name: str, accumulators: Accumulators, config: Any) -> WindowContents:
    """The contents of windows, in columns if possible.

    :param backend: the backend with the state of this name.
    :param config: the operator's ``WindowAggregate``.
    """
    keys = (*config.keys, *(config.attached or ()))
    types = [*config.arrow_key_types, *([pa.timestamp("us")] * len(config.attached or ()))]
    if accumulators.mergeable:
        table = backend.use(name, ColumnContents.table(accumulators, types))
        return ColumnContents(table, accumulators, keys, config.partial)
    return ObjectContents(backend.table_of(name, WindowTable.kind), accumulators, keys, types, config.partial)
