"""State of windows that are the same for all keys, in columns: batches of partial accumulators per window or slice.

New batches are appended to the stored ones and merged now and then, so no row has to be looked up. A delta contains the
accumulators of the rows that were added, to be merged into those that are there. The full content has the form of a
``WindowTable``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.relational.rows import record_batch
from millrace.runtime.exchange.keys import Hashes
from millrace.runtime.state.column_deltas import SINCE, Changes, Form
from millrace.runtime.state.disk.stored_table import StoredTable
from millrace.runtime.state.tables import ABSENT, Table
from millrace.runtime.state.window_tables import WindowTable
from millrace.runtime.tables.aggregates.partials import PartialColumns, joined
from millrace.runtime.tables.columns.batch_bytes import from_bytes, to_bytes, types_of
from millrace.runtime.tables.columns.keys import Ids, group_ids
from millrace.runtime.tables.indexed_rows import batches_by_place
from millrace.runtime.tables.windows.stored_slices import SlicesOnDisk

MERGE_AT = 65_536
"""The number of unmerged rows at which rows with equal keys are merged."""
MOST_BATCHES = 32
"""The number of unmerged batches, however small, at which batches are merged."""


class _Slice:
    """The batches of one window or slice."""

    def __init__(self) -> None:
        self.batches: list[pa.RecordBatch] = []
        self.apart = 0
        """number of rows added since the batches were merged"""
        self.first_id: int | None = None
        """the id from which on rows with this end in runs are those of this window; None: none is on disk"""
        self.complete = True
        """whether all rows are in memory"""

    @property
    def merged(self) -> int:
        """The number of rows in the first batch, whose keys are distinct."""
        return self.batches[0].num_rows if self.batches else 0

    def add(self, batch: pa.RecordBatch) -> None:
        self.batches.append(batch)
        self.apart += batch.num_rows

    def loaded(self, batch: pa.RecordBatch) -> None:
        """Add the rows that are on disk; they may have equal keys."""
        self.batches.insert(0, batch)
        self.apart += batch.num_rows
        self.complete = True

    def leaves(self) -> None:
        """Remove all rows from memory, which are on disk."""
        self.batches, self.apart, self.complete = [], 0, False


class SliceTable(Table):
    """The batches of all windows: ``rows`` is end of a window or slice (ms) -> its batches."""

    kind = WindowTable.kind
    in_columns = True

    def __init__(self, partials: PartialColumns) -> None:
        super().__init__()
        self.partials = partials
        self.rows: dict[int, _Slice] = {}
        self._added: dict[int, list[pa.RecordBatch]] = {}
        """end -> batches added since the last delta"""
        self._gone: dict[int, None] = {}
        """ends of windows that were dropped since the last delta"""
        self._disk: SlicesOnDisk | None = None
        """the rows that are not in memory; None: all are"""

    def add(self, end: int, batch: pa.RecordBatch) -> None:
        """Add rows of a window or slice; several may have the same key."""
        self._keep(end, batch)
        self._added.setdefault(end, []).append(batch)

    def _keep(self, end: int, batch: pa.RecordBatch) -> None:
        if self._disk is not None:
            self._disk.sync()
            self._disk.added(end, batch)
        found = self.rows.setdefault(end, _Slice())
        found.add(batch)
        if found.apart >= max(MERGE_AT, found.merged):
            self._merge(found)
        elif len(found.batches) > MOST_BATCHES:
            self._merge_small(found.batches)

    def _merge(self, found: _Slice) -> None:
        found.batches = [self.partials.merged(found.batches)]
        found.apart = 0

    def _merge_small(self, batches: list[pa.RecordBatch]) -> None:
        """Merge the last batches, and so on up to one that is much larger, so that each row is copied a few times."""
        first, size = len(batches) - 1, batches[-1].num_rows
        while first and batches[first - 1].num_rows <= 2 * size:
            first -= 1
            size += batches[first].num_rows
        batches[first:] = [self.partials.merged(batches[first:])]

    def ends(self) -> list[int]:
        """The ends of all windows and slices."""
        if self._disk is not None:
            self._disk.sync()
        return list(self.rows)

    def fetch(self, ends: Iterable[int]) -> None:
        """Bring all rows of these windows or slices into memory: faster than one window after the other."""
        if self._disk is not None:
            self._disk.fetch(ends)

    def batch(self, end: int) -> pa.RecordBatch | None:
        """The accumulators of a window or slice, one per key; None: there are none."""
        self.fetch([end])
        found = self.rows.get(end)
        if found is None:
            return None
        if found.apart:
            self._merge(found)
        return found.batches[0]

    def batches(self, end: int) -> list[pa.RecordBatch]:
        """The batches of a window or slice without merging them: a key may have several rows."""
        self.fetch([end])
        found = self.rows.get(end)
        return [] if found is None else found.batches

    def drop(self, end: int) -> None:
        """Delete a window with all its keys."""
        if self._forget(end):
            self._added.pop(end, None)
            self._gone[end] = None

    def _forget(self, end: int) -> bool:
        """Delete a window; False: there is none."""
        if self._disk is not None:
            self._disk.sync()
        found = self.rows.pop(end, None)
        if found is not None and self._disk is not None:
            self._disk.dropped(end, found.first_id)
        return found is not None

    def wipe(self) -> None:
        self.rows.clear()
        self._added.clear()
        self._gone.clear()

    # -- rows on disk ---------------------------------------------------------------------------------------------

    def on_disk(self, shelf: StoredTable, folder: str, memory: int) -> SlicesOnDisk:
        self._disk = SlicesOnDisk(self, shelf, folder, memory)
        return self._disk

    @property
    def stored_types(self) -> Sequence[pa.DataType]:
        """The types of a stored row's columns: the end of the window, the key, the slots."""
        return [pa.int64(), *self.partials.keys, *(slot.type for slot in self.partials.slots)]

    def stored(self, end: int, first_id: int) -> None:
        """There is a window whose rows are on disk: those with this id, and later ones."""
        self.rows[end] = found = _Slice()
        found.first_id, found.complete = first_id, False

    def content_of(self, columns: Sequence[pa.Array]) -> Changes:
        """Stored rows as changes onto other keys of the same windows, in the form of a savepoint."""
        batch = record_batch(columns[1:], len(columns[0]))
        return {end: (False, dict(self.partials.entries(rows))) for end, rows in _by_end(columns[0].to_numpy(), batch)}

    def told_of(self, batch: pa.RecordBatch) -> Changes:
        """Stored rows as changes onto others, in columns."""
        return self._telling((), [batch])

    # -- as a table -----------------------------------------------------------------------------------------------

    def form(self) -> Form:
        """(name of the form, arguments of ``told``): see ``runtime.state.column_deltas``."""
        return "window accumulators", self.partials.made_of()

    @classmethod
    def told(cls, *made_of: Any) -> SliceTable:
        """An empty table that deltas of this form can be applied to, made from the arguments of ``form``."""
        return cls(PartialColumns.made_from(*made_of))

    def delta(self) -> Changes:
        added, gone = self._added, tuple(self._gone)
        self._added, self._gone = {}, {}
        if not added and not gone:
            return {}
        found = []
        for end, batches in added.items():
            merged = self.partials.merged(batches)
            if self._disk is not None:
                self._disk.merged(end, batches, merged)
            found.append(_with_end(end, merged))
        return self._telling(gone, [record_batch(*joined(found))] if found else [])

    def told_pieces(self) -> Iterator[Changes]:
        for end in self.rows:
            batch = self.batch(end)
            assert batch is not None
            yield self._telling((), [_with_end(end, batch)])

    def _telling(self, gone: Sequence[int], batches: Sequence[pa.RecordBatch]) -> Changes:
        """:param gone: ends of windows that are dropped before rows are added."""
        ends = np.array(gone, np.int64).tobytes()
        return {SINCE: (*self.form(), (ends, list(map(to_bytes, batches))))}

    @classmethod
    def divided(cls, changes: Changes, places: Callable[[Hashes], Ids]) -> dict[int, Changes]:
        """Divide a whole content in columns by the targets of its keys."""
        form, made_of, (_, batches) = changes[SINCE]
        keys = range(1, 1 + len(types_of(made_of[0])))
        parts = batches_by_place(batches, keys, places)
        return {place: {SINCE: (form, made_of, (b"", part))} for place, part in parts.items()}

    def apply(self, changes: Changes) -> None:
        whole = dict(changes)
        told = whole.get(SINCE)
        if isinstance(told, tuple) and len(told) == 3:
            del whole[SINCE]
            gone, batches = told[2]
            for end in np.frombuffer(gone, np.int64).tolist():
                self._forget(end)
            for batch in map(from_bytes, batches):
                for end, rows in _by_end(batch.column(0).to_numpy(), batch):
                    self._keep(end, self._as_here(rows.columns[1:], rows.num_rows))
        for end, change in whole.items():
            if change is ABSENT or change[0]:
                self._forget(end)
            if change is not ABSENT and change[1]:
                self._replace(end, self.partials.of_entries(list(change[1].items())))

    def _as_here(self, columns: Sequence[pa.Array], length: int) -> pa.RecordBatch:
        """The rows of a delta, with the types of this table: those of an earlier query may be narrower."""
        return self.partials.batch(columns[: self.partials.width], columns[self.partials.width :], length)

    def _replace(self, end: int, batch: pa.RecordBatch) -> None:
        """Replace the accumulators of these keys."""
        old = self.batch(end)
        if old is not None and (known := self._has_keys(old, batch)).any():
            self._forget(end)
            self._keep(end, old.filter(pa.array(~known)))
        self._keep(end, batch)

    def _has_keys(self, batch: pa.RecordBatch, of: pa.RecordBatch) -> Any:
        """Which rows of a batch have a key that also is in another one, as numpy Booleans."""
        width = self.partials.width
        columns, length = joined([record_batch(each.columns[:width], each.num_rows) for each in (batch, of)])
        ids, _ = group_ids(columns, length)
        return np.isin(ids[: batch.num_rows], ids[batch.num_rows :])

    def entries(self) -> dict[Any, Any]:
        return {end: (True, self.row(end)) for end in self.ends()}

    def row(self, at: Any) -> Any:
        found = self.batch(at)
        return None if found is None else dict(self.partials.entries(found))

    def addresses(self) -> Iterator[Any]:
        return iter(self.ends())

    def keys(self) -> Iterator[Any]:
        return iter(dict.fromkeys(key for end in self.ends() for key in self.row(end)))


def _with_end(end: int, batch: pa.RecordBatch) -> pa.RecordBatch:
    """The rows of a window with its end as their first column."""
    return record_batch([pa.array(np.full(batch.num_rows, end)), *batch.columns], batch.num_rows)


def _by_end(ends: Ids, batch: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
    """(end, its rows), for rows with these ends (ms); rows of one end stay in order."""
    order = np.argsort(ends, kind="stable")
    ordered = batch.take(pa.array(order))
    distinct, starts = np.unique(ends[order], return_index=True)
    for end, start, stop in zip(distinct.tolist(), starts.tolist(), [*starts[1:].tolist(), len(ends)]):
        yield end, ordered.slice(start, stop - start)
