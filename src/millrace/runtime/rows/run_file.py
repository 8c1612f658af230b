"""A run: an immutable file of rows, sorted by the hash of their key and then by their ids.

A file is: an Arrow IPC file | filter | first hash of each window of rows | footer as JSON | length of the footer
(4 bytes) | CRC-32 of the footer (4) | ``MAGIC``. The first two columns are the hash (32 bits) and the id (64 bits) of
each row; a negative id says that the row with the id ``-1 - id`` is removed, and its other columns are NULL. The
footer has the checksum of each batch, which is verified before the batch is read for the first time.

A run is mapped into memory and read where rows are wanted: what the filter and the first hashes exclude is never
touched.
"""

from __future__ import annotations

import contextlib
import json
import os
import struct
import zlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from millrace.relational.rows import record_batch
from millrace.runtime.rows.hashes import Flags, Hashes32, add_to, may_hold, new_filter
from millrace.runtime.tables.columns.keys import Ids, rows_at
from millrace.runtime.tables.columns.ranges import ranges

MAGIC = b"MLRRUN01"
_END = struct.Struct("<II8s")
WINDOW = 32
"""Rows between two hashes of the index that is in memory."""
BATCH = 262_144
"""The most rows of a batch."""


class DamagedRunError(RuntimeError):
    """A run can't be read, or is not what was written."""


class Part(NamedTuple):
    """Some rows, sorted by hash and id."""

    hashes: Hashes32
    ids: Ids
    columns: Sequence[pa.Array]

    def slice(self, start: int, end: int) -> Part:
        return Part(
            self.hashes[start:end], self.ids[start:end], [each.slice(start, end - start) for each in self.columns]
        )

    def take(self, rows: Ids) -> Part:
        return Part(self.hashes[rows], self.ids[rows], rows_at(self.columns, rows))

    def where(self, wanted: Flags) -> Part:
        return self if wanted.all() else self.take(np.flatnonzero(wanted))


class _Batch(NamedTuple):
    """Where a batch is in its file."""

    rows: int
    begin: int
    end: int
    checksum: int


def joined(parts: Sequence[Part]) -> Part:
    """The rows of all parts, one after the other."""
    if len(parts) == 1:
        return parts[0]
    columns = [pa.concat_arrays(pieces) for pieces in zip(*(part.columns for part in parts))]
    return Part(np.concatenate([part.hashes for part in parts]), np.concatenate([part.ids for part in parts]), columns)


def write_run(path: str, types: Sequence[pa.DataType], part: Part) -> Run | None:
    """Write a run of some rows; None if there are none.

    :raises OSError: the disk is full, or fails; the file is deleted.
    """
    writing = RunWriter(path, types, len(part.ids))
    try:
        writing.add(part)
        return writing.finish()
    except BaseException:
        writing.drop()
        raise


class RunWriter:
    """Writes a run part by part, in the order of hashes.

    :param most: the most rows that it will have.
    """

    def __init__(self, path: str, types: Sequence[pa.DataType], most: int) -> None:
        self.path = path
        self._file = pa.OSFile(path, "wb")
        self._written = open(path, "rb")  # noqa: SIM115  # as long as the file is written
        schema = record_batch([pa.array([], each) for each in (pa.uint32(), pa.int64(), *types)], 0).schema
        self._ipc = pa.ipc.new_file(self._file, schema)
        self._batches: list[_Batch] = []
        self._filter = new_filter(most)
        self._windows: list[Hashes32] = []
        self._waiting: list[Part] = []
        """rows for the next batch"""
        self.rows = 0

    def add(self, part: Part) -> None:
        add_to(self._filter, part.hashes)
        self._waiting.append(part)
        self.rows += len(part.ids)
        if sum(len(each.ids) for each in self._waiting) >= BATCH:
            self._write()

    def _write(self) -> None:
        """Write the rows at hand as batches."""
        rows, self._waiting = joined(self._waiting), []
        for start in range(0, len(rows.ids), BATCH):
            some = rows.slice(start, min(start + BATCH, len(rows.ids)))
            columns = [pa.array(some.hashes), pa.array(some.ids), *some.columns]
            begin = self._file.tell()
            self._ipc.write_batch(record_batch(columns, len(some.ids)))
            end = self._file.tell()
            # Summed up batch by batch: a run may be so large that an epoch would wait for it.
            self._batches.append(_Batch(len(some.ids), begin, end, self._checksum(begin, end)))
            self._windows.append(some.hashes[::WINDOW])

    def _checksum(self, begin: int, end: int, before: int = 0) -> int:
        return zlib.crc32(os.pread(self._written.fileno(), end - begin, begin), before)

    def finish(self) -> Run | None:
        if not self.rows:
            self.drop()
            return None
        if self._waiting:
            self._write()
        self._ipc.close()
        length = self._file.tell()
        windows = np.concatenate(self._windows)
        self._file.write(self._filter.tobytes())
        self._file.write(windows.tobytes())
        begin, end = self._batches[0].begin, self._batches[-1].end
        footer = {
            "rows": self.rows,
            "length": length,
            "words": len(self._filter),
            "windows": len(windows),
            "batches": self._batches,
            "index": self._checksum(end, self._file.tell(), self._checksum(0, begin)),
        }
        written = json.dumps(footer, separators=(",", ":")).encode()
        self._file.write(written)
        self._file.write(_END.pack(len(written), zlib.crc32(written), MAGIC))
        self._close()
        return Run(self.path)

    def _close(self) -> None:
        self._file.close()
        self._written.close()

    def drop(self) -> None:
        """Give up: close and delete the file."""
        self._close()
        with contextlib.suppress(FileNotFoundError):  # the folder of the job is deleted
            os.unlink(self.path)


class Run:
    """A run that is open for reading.

    :raises DamagedRunError: the file is missing, cut off, or not what was written; all methods raise it.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            content = pa.memory_map(path).read_buffer()
        except OSError as error:
            raise DamagedRunError(f"{path}: {error}") from error
        footer, index_end = self._footer(content)
        self.rows: int = footer["rows"]
        self.bytes: int = content.size
        self._content = content
        self._places = [_Batch(*each) for each in footer["batches"]]
        if _checksum_of_index(content[:index_end], self._places[0].begin, self._places[-1].end) != footer["index"]:
            raise DamagedRunError(f"{path}: the checksum of its index is wrong")
        length: int = footer["length"]
        end = length + 8 * footer["words"]
        self._words = np.frombuffer(content, np.uint64, footer["words"], length)
        self._windows = np.frombuffer(content, np.uint32, footer["windows"], end)
        self._reader = pa.ipc.open_file(content.slice(0, length))
        self._batches: dict[int, pa.RecordBatch] = {}
        """the batches that were read, whose bytes are what was written"""
        self._starts = np.cumsum([0, *(each.rows for each in self._places)])
        self._window_starts = np.cumsum([0, *(-(-each.rows // WINDOW) for each in self._places)])

    def _footer(self, content: Any) -> tuple[Any, int]:
        """(the footer, where it begins)."""
        size = content.size
        if size < _END.size + len(MAGIC):
            raise DamagedRunError(f"{self.path} is cut off: it has {size} bytes")
        length, checksum, magic = _END.unpack(content[size - _END.size :].to_pybytes())
        begin = size - _END.size - length
        written = content[max(begin, 0) : size - _END.size].to_pybytes()
        if magic != MAGIC or begin < 0 or zlib.crc32(written) != checksum:
            raise DamagedRunError(f"{self.path}: its end is damaged or missing")
        return json.loads(written), begin

    def find(self, hashes: Hashes32) -> tuple[Ids, Ids]:
        """(index in ``hashes``, number of a row with that hash), by hash.

        :param hashes: distinct hashes in ascending order.
        """
        owners = np.flatnonzero(may_hold(self._words, hashes))
        if not len(owners):
            return owners, owners
        wanted = hashes[owners]
        # Rows with a hash begin in the window before the first one that begins with it, and end in the last one.
        first = np.maximum(np.searchsorted(self._windows, wanted, "left") - 1, 0)
        last = np.searchsorted(self._windows, wanted, "right")
        which, windows = ranges(first, np.maximum(last - first, 1))
        batch = np.searchsorted(self._window_starts, windows, "right") - 1
        found: list[tuple[Ids, Ids]] = []
        for number in np.flatnonzero(np.bincount(batch)).tolist():
            mine = batch == number
            found.append(self._in_batch(number, which[mine], windows[mine] - self._window_starts[number], wanted))
        at, rows = (np.concatenate(parts) for parts in zip(*found))
        order = np.argsort(at, kind="stable")
        return owners[at[order]], rows[order]

    def _in_batch(self, number: int, which: Ids, windows: Ids, wanted: Hashes32) -> tuple[Ids, Ids]:
        hashes = self._hashes(number)
        starts = windows * WINDOW
        each, places = ranges(starts, np.minimum(WINDOW, len(hashes) - starts))
        same = hashes[places] == wanted[which[each]]
        return which[each[same]], places[same] + self._starts[number]

    def _batch(self, number: int) -> pa.RecordBatch:
        found = self._batches.get(number)
        if found is None:
            place = self._places[number]
            if zlib.crc32(self._content[place.begin : place.end]) != place.checksum:
                raise DamagedRunError(f"{self.path}: the checksum of rows {self._starts[number]} and on is wrong")
            found = self._batches[number] = self._reader.get_batch(number)
        return found

    def _hashes(self, number: int) -> Hashes32:
        hashes: Hashes32 = self._batch(number).column(0).to_numpy()
        return hashes

    def hashes(self) -> Hashes32:
        """The hash of each row, in ascending order."""
        return np.concatenate([self._hashes(number) for number in range(len(self._places))])

    def ids(self, numbers: Ids) -> Ids:
        """The ids of these rows."""
        (column,) = self._take(numbers, (1,))
        found: Ids = column.to_numpy()
        return found

    def take(self, numbers: Ids) -> list[pa.Array]:
        """The columns of these rows, without hash and id."""
        return self._take(numbers, range(2, len(self._reader.schema)))

    def _take(self, numbers: Ids, places: Sequence[int]) -> list[pa.Array]:
        if len(self._places) == 1:
            where = pa.array(numbers)
            return [self._batch(0).column(place).take(where) for place in places]
        owner = np.searchsorted(self._starts, numbers, "right") - 1
        order = np.argsort(owner, kind="stable")
        parts: list[list[pa.Array]] = []
        bounds = np.searchsorted(owner[order], np.arange(len(self._places) + 1))
        for number in np.flatnonzero(np.bincount(owner)).tolist():
            batch = self._batch(number)
            mine = order[bounds[number] : bounds[number + 1]]
            where = pa.array(numbers[mine] - self._starts[number])
            parts.append([batch.column(place).take(where) for place in places])
        back = np.empty(len(order), np.int64)
        back[order] = np.arange(len(order))
        where = pa.array(back)
        return [pa.concat_arrays(pieces).take(where) for pieces in zip(*parts)]

    def parts(self, size: int) -> Iterator[Part]:
        """All rows, in their order, at most ``size`` at a time."""
        for number in range(len(self._places)):
            batch = self._batch(number)
            whole = Part(self._hashes(number), batch.column(1).to_numpy(), batch.columns[2:])
            yield from (
                whole.slice(start, min(start + size, batch.num_rows)) for start in range(0, batch.num_rows, size)
            )


def _checksum_of_index(content: Any, begin: int, end: int) -> int:
    """The checksum of what is before and behind the batches of a file without its footer."""
    return zlib.crc32(content[end:], zlib.crc32(content[:begin]))
