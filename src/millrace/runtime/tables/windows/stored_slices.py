"""Windows whose accumulators are on disk: rows are added without a look at those that are there, and merged where runs
are merged, and when a window is read.

A row of a run is the end of its window, the key, and the slots. The hash of a row has the end in its high bits and some
bits of the key in its low ones, so the rows of a window lie together. A window that is dropped leaves its rows in the
runs: they have smaller ids than those that count for it, or no window, and go with the next merge.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from millrace.relational.rows import record_batch
from millrace.runtime.exchange.keys import integer_hashes
from millrace.runtime.rows.hashes import Flags, Hashes32, distinct
from millrace.runtime.rows.row_runs import RowRuns, in_order
from millrace.runtime.rows.run_file import Part, joined
from millrace.runtime.rows.stored_runs import StoredRuns
from millrace.runtime.state.column_deltas import Changes
from millrace.runtime.state.disk.stored_table import StoredTable
from millrace.runtime.tables.columns.key_hashes import key_hashes
from millrace.runtime.tables.columns.keys import Ids, group_ids

if TYPE_CHECKING:
    from millrace.runtime.tables.windows.slice_table import SliceTable

PARTS_BITS = 6
"""The bits of a row's hash that its key decides: so the rows of a large window have several hashes."""
PIECE = 200_000
"""The number of rows in a piece of the whole state."""
_MIX = np.uint64(0x9E3779B97F4A7C15)


class SlicesOnDisk(StoredRuns):
    """The stored rows of the windows of one table. The ends of all windows are in memory."""

    def __init__(self, table: SliceTable, shelf: StoredTable, folder: str, memory: int) -> None:
        runs = RowRuns(folder, table.stored_types, _all, self._combined)
        super().__init__(table.kind, shelf, runs, memory)
        self._table = table
        self._unsaved: dict[int, list[pa.RecordBatch]] = {}
        """end -> batches added since the last flush"""
        self._rows = 0
        """number of rows in them"""
        self._dropped = 0
        """number of stored windows that were dropped since the last flush"""

    # -- the table reports ----------------------------------------------------------------------------------------

    def added(self, end: int, batch: pa.RecordBatch) -> None:
        """The table has added rows of a window."""
        self._unsaved.setdefault(end, []).append(batch)
        self._rows += batch.num_rows

    def merged(self, end: int, batches: Sequence[pa.RecordBatch], merged: pa.RecordBatch) -> None:
        """Some batches of a window have been merged into one."""
        waiting = self._unsaved.get(end, ())
        if len(waiting) == len(batches) and all(one is other for one, other in zip(waiting, batches)):
            self._unsaved[end] = [merged]
            self._rows += merged.num_rows - sum(batch.num_rows for batch in batches)

    def dropped(self, end: int, first_id: int | None) -> None:
        """The table has dropped a window.

        :param first_id: its ``first_id``.
        """
        self._rows -= sum(batch.num_rows for batch in self._unsaved.pop(end, ()))
        self._dropped += first_id is not None

    # -- rows come and go -----------------------------------------------------------------------------------------

    def fetch(self, ends: Iterable[int]) -> None:
        """Bring all rows of these windows into memory."""
        self.sync()
        windows = self._table.rows
        wanted = [end for end in ends if end in windows]
        if all(windows[end].complete for end in wanted):
            return
        self.evict()
        missing = [end for end in wanted if not windows[end].complete]
        with self._reading():
            found = self._runs.find(distinct(_hashes_of_windows(np.array(missing, np.int64))))
        alive = self._alive(found.ids, found.columns[0])
        owners = found.columns[0].to_numpy()
        rows = record_batch(found.columns[1:], len(owners))
        for end in missing:
            mine = rows.take(pa.array(np.flatnonzero(alive & (owners == end))))
            windows[end].loaded(mine)

    def evict(self) -> None:
        """Remove rows from memory that are on disk, too, if there are too many: first those of the windows that end
        last."""
        windows = self._table.rows
        size = {end: sum(batch.nbytes for batch in window.batches) for end, window in windows.items()}
        left, limit = sum(size.values()), self._limit()
        if left <= limit:
            return
        for end in sorted(windows, reverse=True):
            if windows[end].first_id is not None and end not in self._unsaved:
                windows[end].leaves()
                left -= size[end]
                if left <= limit // 2:
                    return

    # -- as a table of the task's store ---------------------------------------------------------------------------

    def _confirmed(self) -> None:
        for end in self._unsaved:
            window = self._table.rows[end]
            if not window.complete:
                window.leaves()
        self._clear()
        self.evict()

    def _wiped(self, manifest: bytes | None) -> None:
        self._table.rows.clear()
        self._clear()
        for end, first_id in json.loads(manifest)["windows"] if manifest else ():
            self._table.stored(end, first_id)

    def _clear(self) -> None:
        self._unsaved, self._rows, self._dropped = {}, 0, 0

    def pending(self) -> int:
        return 0 if self._unsure else self._rows + self._dropped

    def _write(self) -> None:
        changes = self._changes()
        windows = self._table.rows
        if all(window.first_id is None for window in windows.values()):
            self._runs.clear()
        for end in self._unsaved:
            if windows[end].first_id is None:
                windows[end].first_id = self._runs.next_id
        self._runs.next_id += len(changes.ids)
        self._runs.write(changes)

    def _manifest(self) -> bytes:
        stored = [(end, window.first_id) for end, window in self._table.rows.items() if window.first_id is not None]
        return json.dumps({**json.loads(super()._manifest()), "windows": stored}).encode()

    def _changes(self) -> Part:
        """The rows that are not in runs yet, with ids that no row has."""
        partials, next_id = self._table.partials, self._runs.next_id
        parts = [_part([], np.zeros(0, np.int64), [pa.array([], each) for each in self._table.stored_types])]
        for end, batches in self._unsaved.items():
            batch = partials.merged(batches)
            ids = np.arange(next_id, next_id + batch.num_rows)
            ends = pa.array(np.full(batch.num_rows, end))
            parts.append(_part(batch.columns[: partials.width], ids, [ends, *batch.columns]))
            next_id += batch.num_rows
        return in_order(joined(parts))

    def _alive(self, ids: Ids, ends: pa.Array) -> Flags:
        """Which rows belong to a window that has not been dropped since."""
        known, of_row = np.unique(ends.to_numpy(), return_inverse=True)
        first = np.full(len(known), np.iinfo(np.int64).max)
        for place, end in enumerate(known.tolist()):
            window = self._table.rows.get(end)
            if window is not None:
                first[place] = self._runs.next_id if window.first_id is None else window.first_id
        alive: Flags = ids >= first[of_row]
        return alive

    def _combined(self, part: Part) -> Part:
        """The rows of windows that exist, one for each window and key."""
        part = part.where(self._alive(part.ids, part.columns[0]))
        partials = self._table.partials
        of_row, first = group_ids(part.columns[: 1 + partials.width], len(part.ids))
        if len(first) == len(part.ids):
            return part
        # Groups are numbered by their first rows, so their hashes ascend as before.
        batch = partials.reduced(part.columns[1:], of_row, first)
        return Part(part.hashes[first], part.ids[first], [part.columns[0].take(pa.array(first)), *batch.columns])

    def _scan(self) -> Iterator[Part]:
        """All rows, one for each window and key."""
        self.sync()
        with self._reading():
            yield from self._runs.scan([self._changes()], PIECE)

    def pieces(self) -> Iterator[Changes]:
        """The whole content, in the form of a savepoint: pieces have different keys of the same windows."""
        return (self._table.content_of(part.columns) for part in self._scan())

    def told_pieces(self) -> Iterator[Changes]:
        """The whole content, in columns."""
        return (self._table.told_of(record_batch(part.columns, len(part.ids))) for part in self._scan())


def _part(keys: Sequence[pa.Array], ids: Ids, columns: Sequence[pa.Array]) -> Part:
    """Rows with their hashes.

    :param columns: the first one is the end of the window (ms).
    """
    of_key = key_hashes(keys, len(ids)) * _MIX >> np.uint64(64 - PARTS_BITS)
    return Part(_begun(columns[0].to_numpy()) | of_key.astype(np.uint32), ids, columns)


def _hashes_of_windows(ends: Ids) -> Hashes32:
    """All hashes that rows of windows with these ends may have."""
    return (_begun(ends)[:, np.newaxis] | np.arange(1 << PARTS_BITS, dtype=np.uint32)).ravel()


def _begun(ends: Ids) -> Hashes32:
    """The part of a hash that the end of the window decides."""
    hashes: Hashes32 = (integer_hashes(ends) & np.uint64(0xFFFFFFFF)).astype(np.uint32) << np.uint32(PARTS_BITS)
    return hashes


def _all(columns: Sequence[pa.Array]) -> Any:
    """The windows themselves say which rows are needed."""
    return np.ones(len(columns[0]), bool)
