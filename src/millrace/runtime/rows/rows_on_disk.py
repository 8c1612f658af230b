"""A table whose rows are on disk, with those in memory that are in use: it has loaded them, or they have changed.

The table works on the rows in memory as if there were no others. Before it looks for keys, ``fetch`` adds their stored
rows. Each row that is on disk, too, has an id, by which later versions of it replace earlier ones. At the end of an
epoch the changed rows become a run; when the rows in memory exceed their limit, those that were not used for the
longest time leave it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

import numpy as np
import pyarrow as pa

from millrace.runtime.exchange.keys import Hashes
from millrace.runtime.rows.hashes import Flags, Hashes32, HashSet, are_among, distinct
from millrace.runtime.rows.row_runs import RowRuns, in_order
from millrace.runtime.rows.run_file import Part, joined
from millrace.runtime.rows.stored_runs import StoredRuns
from millrace.runtime.state import figures as names
from millrace.runtime.state.column_deltas import Changes
from millrace.runtime.state.disk.stored_table import StoredTable
from millrace.runtime.state.figures import Figures
from millrace.runtime.tables.columns.growing import with_room
from millrace.runtime.tables.columns.keys import Ids

PIECE = 200_000
"""The number of rows in a piece of the whole state."""
UNSAVED = np.iinfo(np.int64).min
"""stands for the id of a row that is in memory only; other negative ids are those of removed rows"""


class RowsInMemory(Protocol):
    """The rows of a table that are in memory, by number."""

    kind: str
    bits_within_key: int
    """the number of low bits of a hash in which the rows of one key may differ"""

    @property
    def length(self) -> int: ...

    def append_stored(self, columns: Sequence[pa.Array], hashes: Hashes) -> None:
        """Add rows that are stored; they are no change."""

    def stored_columns(self, numbers: Ids) -> list[pa.Array]:
        """All columns of these rows, in the form in which they are stored."""

    def hashes_of(self, numbers: Ids) -> Hashes:
        """The hashes of these rows' keys."""

    def numbers(self) -> Ids:
        """The numbers of the rows that exist."""

    def find_hashes(self, hashes: Hashes) -> tuple[Ids, Ids]:
        """(index in ``hashes``, number of a row that exists and has this hash)."""

    def retain(self, wanted: Flags) -> None:
        """Remove all other rows from memory; the remaining rows get new numbers."""

    @property
    def bytes_in_memory(self) -> int: ...

    def content_of(self, columns: Sequence[pa.Array]) -> Changes:
        """The changes onto an empty table that these rows are, in the form of a savepoint."""

    def told_of(self, columns: Sequence[pa.Array]) -> Changes:
        """The changes onto an empty table that these rows are, in columns."""


class RowsOnDisk(StoredRuns):
    """The stored rows of one table."""

    def __init__(self, table: RowsInMemory, shelf: StoredTable, runs: RowRuns, memory: int) -> None:
        super().__init__(table.kind, shelf, runs, memory)
        self._table = table
        self._resident = HashSet()
        """hashes of which all rows are in memory"""
        self._gone: list[tuple[Hashes32, Ids]] = []
        """(hashes, ids) of rows that were removed and are still in runs"""
        self._now = 1
        self._ids = np.zeros(0, np.int64)
        self._changed = np.zeros(0, bool)
        self._loaded = np.zeros(0, bool)
        """for each row, whether it came from a run, and not as a change"""
        self._used = np.zeros(0, np.int32)
        """for each row, when it was used last"""
        self._left = 0
        """the bytes of unchanged rows up to which looking for those that can leave memory would be in vain: the last
        time it left so many, whose keys have changed rows"""
        self._hits = self._misses = self._rows_read = self._rows_evicted = 0
        """what this object has done so far; hits and misses are hashes of keys"""

    # -- the store tells of itself --------------------------------------------------------------------------------

    @property
    def nbytes(self) -> int:
        """The bytes of the state: those of the runs and, by their share, of the rows that are not in them."""
        length = max(self._table.length, 1)
        return self._runs.nbytes + self._table.bytes_in_memory * min(self.pending(), length) // length

    def figures(self) -> Figures:
        """The size of the state now, and what was read and written since this object was made."""
        numbers = self._table.numbers()
        return {
            names.ROWS: self._runs.rows + int(np.count_nonzero(self._ids[numbers] == UNSAVED)),
            names.MEMORY_BYTES: self._table.bytes_in_memory,
            names.MEMORY_LIMIT: self._limit(),
            names.HITS: self._hits,
            names.MISSES: self._misses,
            names.ROWS_READ: self._rows_read,
            names.ROWS_EVICTED: self._rows_evicted,
            **self._runs.figures(),
        }

    # -- the table reports ----------------------------------------------------------------------------------------

    def appended(self, first: int) -> None:
        """The table has new rows, from this number on. ``sync`` comes before they are added."""
        self._append(first, UNSAVED, True)

    def _append(self, first: int, ids: Ids | int, changed: bool) -> None:
        end = self._table.length
        self._ids, self._changed = with_room(self._ids, end), with_room(self._changed, end)
        self._loaded, self._used = with_room(self._loaded, end), with_room(self._used, end)
        self._ids[first:end] = ids
        self._changed[first:end] = changed
        self._loaded[first:end] = not changed
        self._used[first:end] = self._now

    def changed(self, numbers: Ids) -> None:
        """The table has overwritten these rows."""
        self._changed[numbers] = True

    def removed(self, numbers: Ids) -> None:
        """The table has removed these rows."""
        self._changed[numbers] = False
        stored = numbers[self._ids[numbers] >= 0]
        if len(stored):
            self._gone.append((_narrow(self._table.hashes_of(stored)), self._ids[stored]))
            self._ids[stored] = UNSAVED

    def used(self, numbers: Ids) -> None:
        """The table has found these rows."""
        self._used[numbers] = self._now

    def are_loaded(self, numbers: Ids) -> Flags:
        """Whether these rows came from runs, as numpy Booleans."""
        loaded: Flags = self._loaded[numbers]
        return loaded

    def retained(self, wanted: Flags) -> None:
        """The table has removed all other rows from memory."""
        kept = np.flatnonzero(wanted)
        self._ids, self._changed, self._loaded = self._ids[kept], self._changed[kept], self._loaded[kept]
        self._used = self._used[kept]

    def keys_left(self) -> None:
        """The table has removed rows from memory that nobody asks for again: what has no others there is forgotten."""
        self._resident.keep(distinct(_narrow(self._table.hashes_of(self._table.numbers()))))

    # -- rows come and go -----------------------------------------------------------------------------------------

    def fetch(self, hashes: Hashes) -> None:
        """Bring all rows with these hashes into memory."""
        self.sync()
        wanted = distinct(_narrow(hashes))
        missing = wanted[~self._resident.contains(wanted)]
        self._hits += len(wanted) - len(missing)
        self._misses += len(missing)
        if not len(missing):
            return
        with self._reading():
            found = self._runs.find(missing)
        if len(found.ids):
            keep = ~np.isin(found.ids, self._known_ids(missing))
            owners, ids, columns = found
            if not keep.all():
                where = pa.array(np.flatnonzero(keep))
                owners, ids, columns = owners[keep], ids[keep], [each.take(where) for each in columns]
            self._rows_read += len(ids)
            if len(ids):
                first = self._table.length
                self._table.append_stored(columns, missing[owners].astype(np.uint64))
                self._append(first, ids, False)
        self._resident.add(missing)

    def fetch_all(self) -> None:
        """Bring all rows into memory."""
        self.sync()
        with self._reading():
            hashes = self._runs.hashes()
        self.fetch(hashes.astype(np.uint64))

    def _known_ids(self, hashes: Hashes32) -> Ids:
        """The ids of stored rows with these hashes that are in memory, or were removed there."""
        numbers = self._table.find_hashes(hashes.astype(np.uint64))[1]
        return np.concatenate([self._ids[numbers], *(ids for _, ids in self._gone)])

    def evict(self) -> None:
        """Remove rows from memory that are on disk, too, if there are too many. The numbers of rows change."""
        self._now += 1
        table = self._table
        self.sync()
        if self._spare_bytes() <= max(self._limit(), self._left):
            return
        numbers = table.numbers()
        hashes = _narrow(table.hashes_of(numbers))
        # All rows of a hash stay, or leave: rows of a key that come back stand behind those that are there.
        staying = distinct(hashes[self._staying(numbers)])
        wanted = np.zeros(table.length, bool)
        wanted[numbers[are_among(hashes, staying)]] = True
        self._rows_evicted += len(numbers) - int(np.count_nonzero(wanted))
        table.retain(wanted)
        self._resident.keep(staying)
        self._left = self._spare_bytes() + self._limit() // 4

    def _spare_bytes(self) -> int:
        """The bytes of rows in memory that have not changed: others stay until they are written."""
        length = self._table.length
        spare = length - int(np.count_nonzero(self._changed[:length]))
        return self._table.bytes_in_memory * spare // max(length, 1)

    def _staying(self, numbers: Ids) -> Flags:
        """The rows that have changed, and those that were used last, up to half of all: as numpy Booleans."""
        stays: Flags = self._changed[numbers].copy()
        spare = np.flatnonzero(~stays)
        most = len(numbers) // 2 - (len(numbers) - len(spare))
        if 0 < most < len(spare):
            used = self._used[numbers[spare]]
            stays[spare[used > np.partition(used, len(spare) - most)[len(spare) - most]]] = True
        return stays

    # -- as a table of the task's store ---------------------------------------------------------------------------

    def _confirmed(self) -> None:
        self._changed[:] = False
        self._gone, self._left = [], 0

    def _wiped(self, manifest: bytes | None) -> None:
        self._table.retain(np.zeros(self._table.length, bool))
        self._resident.clear()
        self._gone, self._left = [], 0

    def pending(self) -> int:
        if self._unsure:
            return 0
        return int(np.count_nonzero(self._changed[: self._table.length])) + sum(len(ids) for _, ids in self._gone)

    def _write(self) -> None:
        numbers, ids = self._changed_rows()
        self._ids[numbers] = ids
        self._runs.next_id = max(self._runs.next_id, int(ids.max(initial=-1)) + 1)
        self._runs.write(self._changes(numbers, ids))

    def _changed_rows(self) -> tuple[Ids, Ids]:
        """(number of each changed row, its id: that of a new row is one that no row has yet)."""
        numbers = self._table.numbers()
        numbers = numbers[self._changed[numbers]]
        ids = self._ids[numbers]
        new = np.flatnonzero(ids == UNSAVED)
        ids[new] = self._runs.next_id + np.arange(len(new))
        return numbers, ids

    def _changes(self, numbers: Ids, ids: Ids) -> Part:
        """The changed rows, and the removed ones."""
        columns = self._table.stored_columns(numbers)
        parts = [Part(_narrow(self._table.hashes_of(numbers)), ids, columns)]
        for hashes, gone in self._gone:
            parts.append(Part(hashes, -1 - gone, [pa.nulls(len(gone), each.type) for each in columns]))
        return in_order(joined(parts))

    def _scan(self) -> Iterator[Part]:
        """All rows, in parts that contain each key as a whole."""
        self.sync()
        with self._reading():
            parts = self._runs.scan([self._changes(*self._changed_rows())], PIECE)
            bits = self._table.bits_within_key
            yield from parts if not bits else _by_high_bits(parts, bits)

    def parts(self) -> Iterator[Sequence[pa.Array]]:
        """The columns of all rows, in parts that contain each key as a whole."""
        return (part.columns for part in self._scan())

    def pieces(self) -> Iterator[Changes]:
        """The whole content, in the form of a savepoint."""
        return (self._table.content_of(part.columns) for part in self._scan())

    def told_pieces(self) -> Iterator[Changes]:
        """The whole content, in columns."""
        return (self._table.told_of(part.columns) for part in self._scan())


def _by_high_bits(parts: Iterable[Part], low: int) -> Iterator[Part]:
    """The parts, cut only where hashes without their low bits differ.

    :param low: the number of low bits.
    """
    some: list[Part] = []
    for part in parts:
        last = np.searchsorted(part.hashes, part.hashes[-1] >> low << low)
        if last or (some and some[0].hashes[0] >> low != part.hashes[0] >> low):
            yield joined([*some, part.slice(0, last)])
            some = []
        some.append(part.slice(last, len(part.ids)))
    if some:
        yield joined(some)


def _narrow(hashes: Hashes) -> Hashes32:
    """Hashes of keys, which have 32 bits."""
    narrow: Hashes32 = hashes.astype(np.uint32)
    return narrow
