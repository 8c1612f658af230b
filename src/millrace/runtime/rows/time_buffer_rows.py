"""Elements by key and time that may be on disk, as rows of runs: the time between the key and the element as bytes.

Those that are in use are in memory as objects; keys whose elements were not used for the longest time leave it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from millrace.runtime.exchange.keys import Hashes, column_hashes, stable_hash
from millrace.runtime.rows.hashes import Flags
from millrace.runtime.state.disk.records import decode_values, encode_values
from millrace.runtime.state.time_buffer_table import Entries, TimeBufferTable
from millrace.runtime.tables.columns.growing import with_room
from millrace.runtime.tables.columns.ranges import Ids

if TYPE_CHECKING:  # jobs without tables and without state on disk need no Arrow
    import pyarrow as pa

    from millrace.runtime.rows.rows_on_disk import RowsOnDisk
    from millrace.runtime.state.disk.stored_table import StoredTable
    from millrace.runtime.tables.columns.row_index import HashIndex


class TimeBufferRows(TimeBufferTable):
    """A ``TimeBufferTable``; in a backend on disk it has the elements there, and in memory those that are in use."""

    bits_within_key = 0

    def __init__(self) -> None:
        super().__init__()
        self._disk: RowsOnDisk | None = None
        """the elements that are not in memory; None: all are"""
        self._by_hash: HashIndex
        """finds the elements in memory by the hash of their key, if there are others on disk"""
        self._hashes = np.zeros(0, np.uint64)
        """the hash of each code's key, if there are elements on disk"""

    def on_disk(self, shelf: StoredTable, folder: str, memory: int) -> RowsOnDisk:
        import pyarrow as pa

        from millrace.runtime.rows.row_runs import RowRuns
        from millrace.runtime.rows.rows_on_disk import RowsOnDisk
        from millrace.runtime.tables.columns.row_index import HashIndex

        types = [pa.large_binary(), pa.int64(), pa.large_binary()]
        self._disk = RowsOnDisk(self, shelf, RowRuns(folder, types, self.still_wanted), memory)
        self._by_hash = HashIndex()
        return self._disk

    # -- elements come and go -------------------------------------------------------------------------------------

    def _add(self, keys: Sequence[Any], times: Sequence[int], values: Sequence[Any]) -> None:
        if self._disk is None:
            super()._add(keys, times, values)
            return
        self._disk.sync()
        first = self.length
        self._number(keys, times, values)
        self._disk.appended(first)

    def _append(self, keys: Sequence[Any], times: Ids, values: Sequence[Any]) -> tuple[Ids, Ids, Ids]:
        known = len(self._keys)
        rows = numbers, _, _ = super()._append(keys, times, values)
        if self._disk is not None:
            if known < len(self._keys):
                self._hashes = with_room(self._hashes, len(self._keys))
                self._hashes[known : len(self._keys)] = _hashes_of(self._keys[known:])
            self._by_hash.add(self.hashes_of(numbers), self.length - len(numbers))
        return rows

    def near(
        self, keys: Sequence[Any], times: Sequence[int], earlier: int, later: int, most: int
    ) -> Iterator[tuple[list[int], list[int], list[Any]]]:
        if self._disk is not None and keys:
            self._disk.fetch(_hashes_of(keys))
        return super().near(keys, times, earlier, later, most)

    def _found(self, numbers: Ids) -> None:
        if self._disk is not None:
            self._disk.used(numbers)

    def forget_before(self, time: int) -> None:
        if self._disk is not None:
            self._disk.sync()
        super().forget_before(time)

    def _remove_old(self) -> None:
        # Those on disk are left out when runs are merged.
        before = self.length
        super()._remove_old()
        if self._disk is not None and self.length < before:
            self._disk.keys_left()

    def settle(self) -> None:
        """Let elements leave memory that are on disk, too, if there are too many."""
        if self._disk is not None:
            self._disk.evict()

    # -- the rows in memory, for ``RowsOnDisk`` -------------------------------------------------------------------

    def stored_columns(self, numbers: Ids) -> list[pa.Array]:
        """Key, time, element."""
        import pyarrow as pa

        codes, at = np.unique(self._codes[numbers], return_inverse=True)
        keys = pa.array(encode_values([self._keys[code] for code in codes.tolist()]), pa.large_binary())
        values = pa.array(encode_values(self._values[numbers].tolist()), pa.large_binary())
        return [keys.take(pa.array(at)), pa.array(self._times[numbers]), values]

    def append_stored(self, columns: Sequence[pa.Array], hashes: Hashes) -> None:
        # All elements of a key come together, so they are older than those of the key that are in memory.
        self._index.add_older(*self._append(*_objects(columns)))

    def hashes_of(self, numbers: Ids) -> Hashes:
        found: Hashes = self._hashes[self._codes[numbers]]
        return found

    def numbers(self) -> Ids:
        return np.arange(self.length)

    def find_hashes(self, hashes: Hashes) -> tuple[Ids, Ids]:
        return self._by_hash.find(hashes)

    def retain(self, wanted: Flags) -> None:
        super().retain(wanted)
        if self._disk is not None:
            self._by_hash.keep(wanted)
            self._disk.retained(wanted)

    def _keep_keys(self, codes: Ids) -> None:
        super()._keep_keys(codes)
        if self._disk is not None:
            self._hashes = self._hashes[codes]

    def still_wanted(self, columns: Sequence[pa.Array]) -> Flags:
        """Which stored elements are still needed: when runs are merged, the others are dropped."""
        wanted: Flags = columns[1].to_numpy() >= self._needed
        return wanted

    def content_of(self, columns: Sequence[pa.Array]) -> Entries:
        """The full content of the keys of these rows, which are in the order of arrival within a key."""
        keys, times, values = _objects(columns)
        order = np.argsort(times, kind="stable")
        order = order[np.searchsorted(times[order], self._needed) :]
        found: Entries = {}
        for place, time in zip(order.tolist(), times[order].tolist()):
            its_times, its_values = found.setdefault(keys[place], ([], []))
            its_times.append(time)
            its_values.append(values[place])
        return found

    told_of = content_of

    # -- as a table -----------------------------------------------------------------------------------------------

    def entries(self) -> Entries:
        if self._disk is None:
            return super().entries()
        return {key: entry for piece in self._disk.pieces() for key, entry in piece.items()}

    def addresses(self) -> Iterator[Any]:
        if self._disk is None:
            return super().addresses()
        return (key for piece in self._disk.pieces() for key in piece)

    def row(self, at: Any) -> Any:
        if self._disk is not None:
            self._disk.fetch(_hashes_of([at]))
        return super().row(at)


def _hashes_of(keys: Sequence[Any]) -> Hashes:
    """The stable hashes of keys."""
    found = column_hashes(keys)
    return np.fromiter(map(stable_hash, keys), np.uint64, len(keys)) if found is None else found


def _objects(columns: Sequence[pa.Array]) -> tuple[list[Any], Ids, list[Any]]:
    """Keys, times and elements of stored rows."""
    keys, times, values = columns
    return decode_values(keys.to_pylist()), times.to_numpy(), decode_values(values.to_pylist())
