"""The runs of a table as one of the tables of a task's store: the store has their list, in the same version as the rest
of the task's state.
"""

from __future__ import annotations

import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager

from millrace.runtime.rows.row_runs import RowRuns
from millrace.runtime.rows.run_file import DamagedRunError
from millrace.runtime.state import figures as names
from millrace.runtime.state.disk.stored_table import StoredTable
from millrace.runtime.state.disk.writer import Writer
from millrace.runtime.state.figures import Figures

MANIFEST = b"runs"
"""the key of the list of runs below the prefix of the table"""


class StoredRuns(ABC):
    """The runs of one table. What has changed since the last flush is in memory, as a subclass has it.

    :param kind: the kind of the table.
    :param memory: the bytes of rows that all tables of the process may have in memory, beside those that have changed.
    """

    def __init__(self, kind: str, shelf: StoredTable, runs: RowRuns, memory: int) -> None:
        self.kind = kind
        self.shelf = shelf
        self._runs = runs
        self._memory = memory
        self._flushed: bytes | None = None
        """the manifest that was written last, or read"""
        self._unsure = False
        """whether another manifest may count now"""
        _tables.add(self)

    @property
    def nbytes(self) -> int:
        """The bytes of the state."""
        return self._runs.nbytes

    def figures(self) -> Figures:
        """The size of the state now, and what was read and written since this object was made."""
        return {names.MEMORY_LIMIT: self._limit(), **self._runs.figures()}

    def sync(self) -> None:
        """After a write or a step back: is what is in memory what the store has?"""
        if not self._unsure:
            return
        self._unsure = False
        prefix = self.shelf.prefix
        found = None if prefix is None else self.shelf.reader.get(prefix + MANIFEST)
        if found is not None and found == self._flushed:
            self._runs.recorded()
            self._confirmed()
            return
        self._wiped(found)
        with self._reading():
            self._runs.open(found)
        self._flushed = found

    @abstractmethod
    def _confirmed(self) -> None:
        """The changes of the last flush are in the store."""

    @abstractmethod
    def _wiped(self, manifest: bytes | None) -> None:
        """Remove everything from memory: the store has something else.

        :param manifest: the manifest in the store; None: the store has no rows.
        """

    def forget(self) -> None:
        """What the store has counts: after a flush that is what is in memory, else it is read again."""
        self._unsure = True

    @abstractmethod
    def pending(self) -> int:
        """The number of changed rows that are not in the store yet."""

    def flush(self, writer: Writer, prefix: bytes) -> None:
        """Write the changes as a run, and the manifest into the store."""
        self.sync()
        with self._reading():
            self._write()
        self._flushed = self._manifest()
        writer.put(prefix + MANIFEST, self._flushed)

    @abstractmethod
    def _write(self) -> None:
        """Write the changes as a run."""

    def _manifest(self) -> bytes:
        """What the store has to know of this table."""
        return self._runs.manifest()

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Inside, a damaged run lets the task's store be rebuilt from the files of the job."""
        try:
            yield
        except DamagedRunError as error:
            raise self.shelf.reader.damaged(error) from error

    def _limit(self) -> int:
        """The bytes of rows that this table may have in memory."""
        return self._memory // max(len(_tables), 1)

    def close(self) -> None:
        """The table is not used any more."""
        _tables.discard(self)
        self._runs.close()


_tables: weakref.WeakSet[StoredRuns] = weakref.WeakSet()
"""the tables of this process, which share the memory for rows"""
