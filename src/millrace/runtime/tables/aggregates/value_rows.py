"""The values of aggregates whose input takes rows back, in columns: each value of a group with its counts.

A count may be negative: the value was retracted before it was added.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from millrace.relational.rex import Rex
from millrace.relational.rows import record_batch
from millrace.runtime.rows.expiry import Expiry, expiry_of_copy
from millrace.runtime.rows.hashes import Flags
from millrace.runtime.state.column_deltas import Changes, Form
from millrace.runtime.tables.aggregates.batch import Batch
from millrace.runtime.tables.aggregates.distinct import Changed, DistinctInColumns, at_groups, crossings
from millrace.runtime.tables.columns.batch_bytes import types_as_bytes, types_of
from millrace.runtime.tables.columns.key_hashes import key_hashes
from millrace.runtime.tables.columns.keys import (
    Ids,
    group_ids,
    key_columns,
    key_tuples,
    rows_at,
)
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
        self.began = 0
        """how often other rows may have taken the place of those before: the state was restored, or went back"""

    def exist(self, columns: Sequence[pa.Array], length: int) -> Flags:
        """Which of these rows exist with a first count above 0, as numpy Booleans.

        :param columns: key and value columns.
        """
        owners, numbers = self.find(self.hashes(columns, length), at_positions(columns))
        found = np.zeros(length, bool)
        found[owners] = self.slots(numbers)[0].to_numpy() > 0
        return found

    def apply(self, changes: Changes) -> None:
        super().apply(changes)
        self.began += 1

    def retain(self, wanted: Flags) -> None:
        super().retain(wanted)
        self.began += not wanted.any()  # as it is when another version on disk counts

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
        ids, columns, nets = netted(batch.ids, args, nets, groups)
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


def netted(
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
