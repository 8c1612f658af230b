"""State of windows that are the same for all keys, in columns: batches of partial accumulators per window or slice.

New batches are appended to the stored ones and merged now and then, so no row has to be looked up. Deltas and full
content have the form of a ``WindowTable``, so that state can be restored by a task that has it on disk, or be divided
by keys.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.relational.rows import record_batch
from millrace.runtime.state.tables import ABSENT, Table
from millrace.runtime.state.window_tables import WindowTable
from millrace.runtime.tables.aggregates.partials import PartialColumns, joined
from millrace.runtime.tables.columns.keys import group_ids

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

    @property
    def merged(self) -> int:
        """The number of rows in the first batch, whose keys are distinct."""
        return self.batches[0].num_rows if self.batches else 0

    def add(self, batch: pa.RecordBatch) -> None:
        self.batches.append(batch)
        self.apart += batch.num_rows


class SliceTable(Table):
    """The batches of all windows: ``rows`` is end of a window or slice (ms) -> its batches."""

    kind = WindowTable.kind

    def __init__(self, partials: PartialColumns) -> None:
        super().__init__()
        self.partials = partials
        self.rows: dict[int, _Slice] = {}
        self._added: dict[int, list[pa.RecordBatch]] = {}
        """end -> batches added since the last delta"""
        self._fresh: dict[int, None] = {}
        """ends of windows that were dropped, or were added, since the last delta"""

    def add(self, end: int, batch: pa.RecordBatch) -> None:
        """Add rows of a window or slice; several may have the same key."""
        if end not in self.rows:
            self._fresh[end] = None
        self._added.setdefault(end, []).append(batch)
        self._keep(end, batch)

    def _keep(self, end: int, batch: pa.RecordBatch) -> None:
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

    def batch(self, end: int) -> pa.RecordBatch | None:
        """The accumulators of a window or slice, one per key; None: there are none."""
        found = self.rows.get(end)
        if found is None:
            return None
        if found.apart:
            self._merge(found)
        return found.batches[0]

    def batches(self, end: int) -> list[pa.RecordBatch]:
        """The batches of a window or slice without merging them: a key may have several rows."""
        found = self.rows.get(end)
        return [] if found is None else found.batches

    def drop(self, end: int) -> None:
        """Delete a window with all its keys."""
        if self.rows.pop(end, None) is not None:
            self._added.pop(end, None)
            self._fresh[end] = None

    def wipe(self) -> None:
        self.rows.clear()
        self._added.clear()
        self._fresh.clear()

    # -- as a table -----------------------------------------------------------------------------------------------

    def delta(self) -> dict[Any, Any]:
        changes: dict[Any, Any] = {end: ABSENT for end in self._fresh if end not in self.rows}
        for end, batches in self._added.items():
            now = self.batch(end)
            assert now is not None
            if end not in self._fresh:
                now = now.filter(pa.array(self._has_keys(now, batches)))
            changes[end] = (end in self._fresh, dict(self.partials.entries(now)))
        self._added, self._fresh = {}, {}
        return changes

    def _has_keys(self, batch: pa.RecordBatch, of: Sequence[pa.RecordBatch]) -> Any:
        """Which rows of a batch have a key that also is in other batches, as numpy Booleans."""
        width = self.partials.width
        columns, length = joined([record_batch(each.columns[:width], each.num_rows) for each in (batch, *of)])
        ids, _ = group_ids(columns, length)
        return np.isin(ids[: batch.num_rows], ids[batch.num_rows :])

    def apply(self, changes: dict[Any, Any]) -> None:
        for end, change in changes.items():
            if change is ABSENT:
                self.rows.pop(end, None)
                continue
            fresh, entries = change
            if fresh:
                self.rows.pop(end, None)
            if entries:
                self._replace(end, self.partials.of_entries(list(entries.items())))

    def _replace(self, end: int, batch: pa.RecordBatch) -> None:
        """Replace the accumulators of these keys."""
        old = self.batch(end)
        self.rows[end] = found = _Slice()
        if old is not None:
            found.add(old.filter(pa.array(~self._has_keys(old, [batch]))))
        found.add(batch)

    def entries(self) -> dict[Any, Any]:
        return {end: (True, self.row(end)) for end in self.rows}

    def row(self, at: Any) -> Any:
        found = self.batch(at)
        return None if found is None else dict(self.partials.entries(found))

    def keys(self) -> Iterator[Any]:
        return iter(dict.fromkeys(key for end in self.rows for key in self.row(end)))
