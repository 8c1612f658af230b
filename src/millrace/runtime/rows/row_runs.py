"""The part of a table's rows that is on disk: its runs, from the oldest to the newest, and their compaction.

Runs never change. The state of the table at the end of an epoch is the list of its runs, its *manifest*; going back
after a failed epoch is the manifest before. Runs of similar size are merged, some rows at each flush, so that no epoch
waits for the whole of it. What is merged away is deleted when the manifest without it is recorded.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from time import perf_counter_ns
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from millrace.runtime.rows.hashes import Flags, Hashes32, distinct
from millrace.runtime.rows.run_file import Part, Run, RunWriter, joined, write_run
from millrace.runtime.state import figures as names
from millrace.runtime.state.figures import Figures
from millrace.runtime.tables.columns.keys import Ids
from millrace.runtime.tables.columns.ranges import begins
from millrace.util.system import is_alive, no_room

TOGETHER = 4
"""Runs are merged when they have this many times the rows of the oldest of them."""
SLICE = 16_384
"""The number of rows of a run that are read at a time."""
LEAST_STEP = 20_000
"""The number of rows that a flush merges at least in each merge that goes on."""


Wanted = Callable[[Sequence[pa.Array]], Flags]
Combine = Callable[[Part], Part]
NO_RUNS = b'{"runs": [], "next": 0}'
"""the manifest of an empty table"""


class Found(NamedTuple):
    """Stored rows."""

    owners: Ids
    """for each row the index of its hash among those that were looked for"""
    ids: Ids
    columns: list[pa.Array]


class _Merge:
    """A merge that goes on."""

    def __init__(self, runs: Sequence[Run], parts: Iterator[Part], writer: RunWriter) -> None:
        self.runs = tuple(runs)
        self.writer = writer
        self._parts = parts

    def step(self, rows: int) -> bool:
        """Merge about this many rows; True: it is done."""
        end = self.writer.rows + rows
        for part in self._parts:
            self.writer.add(part)
            if self.writer.rows >= end:
                return False
        return True


class RowRuns:
    """The runs of one table.

    :param folder: where their files are.
    :param types: the types of a row's columns.
    :param wanted: says of the columns of some rows which of them are still needed: others are dropped by the next merge
        of the oldest runs.
    :param combine: makes fewer rows of those that a merge brings together, in the same order; all rows of a hash are in
        one part. None: rows stay as they are.
    """

    def __init__(
        self, folder: str, types: Sequence[pa.DataType], wanted: Wanted, combine: Combine | None = None
    ) -> None:
        self._folder = folder
        self._wanted = wanted
        self._combine = combine
        self._types = types
        self._runs: list[Run] = []
        self._merges: list[_Merge] = []
        """the merges that go on, from the oldest runs to the newest"""
        self._obsolete: list[Run] = []
        """runs that the last manifest lacks, and the one before may have"""
        self.next_id = 0
        self._written_bytes = self._write_nanos = self._merged_bytes = self._merge_nanos = 0
        """what this object has done so far: bytes of new and of merged runs, and the time for them (ns)"""

    @property
    def rows(self) -> int:
        """The number of rows in all runs, removed ones and older versions included."""
        return sum(run.rows for run in self._runs)

    @property
    def nbytes(self) -> int:
        """The bytes of the runs' files."""
        return sum(run.bytes for run in self._runs)

    def figures(self) -> Figures:
        """The size of the runs now, and what was written since this object was made."""
        return {
            names.DISK_BYTES: self.nbytes,
            names.FILES: len(self._runs),
            names.WRITTEN_BYTES: self._written_bytes,
            names.WRITE_MILLIS: self._write_nanos // 1_000_000,
            names.MERGES: len(self._merges),
            names.MERGED_BYTES: self._merged_bytes,
            names.MERGE_MILLIS: self._merge_nanos // 1_000_000,
        }

    # -- the manifest ---------------------------------------------------------------------------------------------

    def manifest(self) -> bytes:
        """The runs by name; equal manifests mean equal rows."""
        names = [os.path.basename(run.path) for run in self._runs]
        return json.dumps({"runs": names, "next": self.next_id}).encode()

    def open(self, manifest: bytes | None) -> None:
        """Read the runs of a manifest instead of the present ones; None: there are none.

        :raises DamagedRunError: a run is missing or damaged.
        """
        self.close()
        read = json.loads(manifest or NO_RUNS)
        known = {os.path.basename(run.path): run for run in self._runs}
        self._runs = [known.get(name) or Run(os.path.join(self._folder, name)) for name in read["runs"]]
        self.next_id, self._obsolete = read["next"], []
        self._sweep(set(read["runs"]))

    def _sweep(self, named: set[str]) -> None:
        """Delete files of killed processes that the manifest does not name."""
        if not os.path.isdir(self._folder):
            return
        for name in os.listdir(self._folder):
            process = name.partition("-")[0]
            if name not in named and process.isdigit() and not is_alive(int(process)):
                os.unlink(os.path.join(self._folder, name))

    def recorded(self) -> None:
        """The last manifest is recorded: delete the runs that it lacks."""
        for run in self._obsolete:
            if os.path.exists(run.path):
                os.unlink(run.path)
        self._obsolete = []

    # -- writing --------------------------------------------------------------------------------------------------

    def write(self, part: Part) -> None:
        """Add a run with these rows, sorted by hash and id, and merge some rows of others."""
        self._make_folder()
        began = perf_counter_ns()
        try:
            run = write_run(self._new_path(), self._types, part)
            if run is not None:
                self._runs.append(run)
                self._written_bytes += run.bytes
            written = perf_counter_ns()
            self._merge_some(max(LEAST_STEP, 2 * len(part.ids)))
        except OSError as error:
            raise no_room(error, self._folder) from error
        self._write_nanos += written - began
        self._merge_nanos += perf_counter_ns() - written

    def _make_folder(self) -> None:
        os.makedirs(self._folder, mode=0o700, exist_ok=True)

    def _new_path(self) -> str:
        return os.path.join(self._folder, f"{os.getpid()}-{uuid.uuid4().hex[:16]}.run")

    def _merge_some(self, rows: int) -> None:
        """Begin the merges that are due, and do this many rows of each."""
        while (chosen := self._next_merge()) is not None:
            writer = RunWriter(self._new_path(), self._types, sum(run.rows for run in self._runs[chosen]))
            runs = self._runs[chosen]
            parts = merged([run.parts(SLICE) for run in runs], None if chosen.start else self._wanted)
            self._merges.append(_Merge(runs, self._combined(parts), writer))
        for merge in reversed(self._merges):
            if merge.step(rows):
                self._merges.remove(merge)
                at = self._runs.index(merge.runs[0])
                run = merge.writer.finish()
                self._merged_bytes += 0 if run is None else run.bytes
                self._runs[at : at + len(merge.runs)] = [] if run is None else [run]
                self._obsolete += merge.runs

    def _combined(self, parts: Iterator[Part]) -> Iterator[Part]:
        return parts if self._combine is None else filter(_has_rows, map(self._combine, parts))

    def _next_merge(self) -> slice | None:
        """The newest runs that are to be merged, none of which is being merged: the first is at most a third of the
        others, so a row is merged some times for each order of size. None: there are none."""
        first = self._runs.index(self._merges[-1].runs[-1]) + 1 if self._merges else 0
        rows = [run.rows for run in self._runs[first:]]
        for start, size in enumerate(rows):
            if 0 < (TOGETHER - 1) * size <= sum(rows[start + 1 :]):
                return slice(first + start, len(self._runs))
        return None

    def clear(self) -> None:
        """Drop all rows."""
        self.close()
        self._obsolete += self._runs
        self._runs = []

    def close(self) -> None:
        """Give up the merges that go on; the runs stay."""
        for merge in self._merges:
            merge.writer.drop()
        self._merges = []

    # -- reading --------------------------------------------------------------------------------------------------

    def find(self, hashes: Hashes32) -> Found:
        """The newest versions of all rows with these hashes, which are distinct and ascend."""
        owners, ids, ages, numbers = list[Ids](), list[Ids](), list[Ids](), list[Ids]()
        for age, run in enumerate(self._runs):
            at, rows = run.find(hashes)
            if len(at):
                owners.append(at)
                numbers.append(rows)
                ids.append(run.ids(rows))
                ages.append(np.full(len(at), age))
        if not owners:
            return Found(np.zeros(0, np.int64), np.zeros(0, np.int64), [pa.array([], each) for each in self._types])
        at, id, version, number = (np.concatenate(each) for each in (owners, ids, ages, numbers))
        row = row_ids(id)
        order = np.lexsort((-version, row))
        first = np.ones(len(order), bool)
        first[1:] = row[order[1:]] != row[order[:-1]]
        newest = order[first]
        newest = newest[id[newest] >= 0]
        if not len(newest):
            return Found(newest, newest, [pa.array([], each) for each in self._types])
        of = version[newest]
        places = [np.flatnonzero(of == age) for age in np.flatnonzero(np.bincount(of)).tolist()]
        columns = [self._runs[int(of[mine[0]])].take(number[newest[mine]]) for mine in places]
        # Rows of a key are in the order of their ids, which is that of their arrival.
        where = pa.array(np.argsort(np.concatenate(places)))
        return Found(at[newest], id[newest], [pa.concat_arrays(pieces).take(where) for pieces in zip(*columns)])

    def hashes(self) -> Hashes32:
        """The distinct hashes of all rows, also of removed ones, in ascending order."""
        return distinct(np.concatenate([np.zeros(0, np.uint32), *(run.hashes() for run in self._runs)]))

    def scan(self, newest: Sequence[Part], size: int) -> Iterator[Part]:
        """All rows, at least about ``size`` at a time; those of one hash come together.

        :param newest: rows that are newer than those of all runs, in order.
        """
        inputs: list[Iterable[Part]] = [run.parts(SLICE) for run in self._runs]
        some, count = list[Part](), 0
        for part in self._combined(merged([*inputs, newest], self._wanted)):
            some.append(part)
            count += len(part.ids)
            if count >= size:
                yield joined(some)
                some, count = [], 0
        if some:
            yield joined(some)


# Merging


def merged(inputs: Sequence[Iterable[Part]], wanted: Wanted | None) -> Iterator[Part]:
    """The rows of several runs, in the order of their hashes and ids; rows of one hash come in one part.

    :param inputs: the parts of each run, from the oldest run to the newest.
    :param wanted: says which rows are still needed, where there is no older run: others are left out, and removed rows,
        too. None: there are older runs.
    """
    readers = [_Reader(iter(parts)) for parts in inputs]
    while True:
        for reader in readers:
            reader.fill()
        bounds = [reader.bound for reader in readers if reader.bound is not None]
        taken = [(age, part) for age, reader in enumerate(readers) if (part := reader.take(min(bounds, default=None)))]
        if taken:
            found = _newest(taken, wanted is not None)
            if wanted is not None and len(found.ids):
                found = found.where(wanted(found.columns))
            if len(found.ids):
                yield found
        elif not bounds:
            return
        else:  # all rows at hand have one hash, of which there may be more
            for reader in readers:
                if reader.bound == min(bounds):
                    reader.extend()


class _Reader:
    """The next rows of a run."""

    def __init__(self, parts: Iterator[Part]) -> None:
        self._parts = parts
        self._part: Part | None = None
        self._next: Part | None = next(parts, None)

    def fill(self) -> None:
        """Read on, if nothing is at hand."""
        if self._part is None and self._next is not None:
            self._part, self._next = self._next, next(self._parts, None)

    def extend(self) -> None:
        """Read on, although there are rows at hand."""
        if self._part is not None and self._next is not None:
            self._part, self._next = joined([self._part, self._next]), next(self._parts, None)

    @property
    def bound(self) -> int | None:
        """The hash from which on there may be more rows than those at hand; None: these are the last."""
        return None if self._part is None or self._next is None else int(self._part.hashes[-1])

    def take(self, bound: int | None) -> Part | None:
        """The rows at hand whose hashes are below ``bound``; None: there are none."""
        part = self._part
        if part is None:
            return None
        count = len(part.ids) if bound is None else int(np.searchsorted(part.hashes, bound, "left"))
        self._part = part.slice(count, len(part.ids)) if count < len(part.ids) else None
        return part.slice(0, count) if count else None


def _newest(taken: Sequence[tuple[int, Part]], oldest: bool) -> Part:
    """The newest version of each row."""
    whole = joined([part for _, part in taken])
    if len(taken) > 1:
        ages = np.repeat([age for age, _ in taken], [len(part.ids) for _, part in taken])
        rows = row_ids(whole.ids)
        order = np.lexsort((-ages, rows, whole.hashes))
        whole = whole.take(order[begins(rows[order])])
    return whole.where(whole.ids >= 0) if oldest else whole


def _has_rows(part: Part) -> bool:
    return len(part.ids) > 0


def in_order(part: Part) -> Part:
    """The rows of a part by hash and id."""
    return part.take(np.lexsort((row_ids(part.ids), part.hashes)))


def row_ids(ids: Ids) -> Ids:
    """The ids of rows, also of removed ones."""
    return np.where(ids < 0, -1 - ids, ids)
