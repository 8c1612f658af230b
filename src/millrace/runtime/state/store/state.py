"""The keyed state of a task in a user's store: filled from the state files when the task is made, discarded with it."""

from __future__ import annotations

import itertools
import os
import tempfile
from collections.abc import Callable, Iterator

from millrace.common.state.storage import ROWS_MEMORY, KeyValueStore
from millrace.runtime.state.backend import KeyedStateBackend
from millrace.runtime.state.disk.backend import DiskStateBackend, RowsPlace, flush_all
from millrace.runtime.state.disk.content import Head, prefix_of
from millrace.runtime.state.disk.ordered import StoreEnvironment
from millrace.runtime.state.disk.reader import Reader
from millrace.runtime.state.disk.timer_queue import DiskTimerQueue
from millrace.runtime.state.disk.writer import Writer
from millrace.runtime.state.state_time import StateTime
from millrace.runtime.state.working import MemoryState, Piece
from millrace.runtime.storage import Past, StateStorage, TaskId

SPILL_ENTRIES = 100_000
"""The number of changed entries that may be in memory while state is loaded."""


class StoreState(MemoryState):
    """The state of a task whose keyed state is in a user's store.

    :param open_store: opens an empty store; called when the first operator with keyed state requests it.
    """

    def __init__(self, open_store: Callable[[], KeyValueStore]) -> None:
        self._open_store = open_store
        self._store: KeyValueStore | None = None
        self._environment: StoreEnvironment | None = None
        self._reader = Reader(self._failed)
        self._backends: dict[str, DiskStateBackend] = {}
        self._head = Head()
        self._rows: tempfile.TemporaryDirectory[str] | None = None
        self._numbers = itertools.count()

    def backend(self, uid: str, time: StateTime) -> KeyedStateBackend:
        if self._store is None:
            self._store = self._open_store()
            self._environment = StoreEnvironment(self._store)
            self._reader.begin(self._environment)
        rows = RowsPlace(self._rows_folder, ROWS_MEMORY)
        backend = DiskStateBackend(self._reader, time, self._spill, _nothing, rows)
        self._backends[uid] = backend
        return backend

    def _rows_folder(self, state: str) -> str:
        """The folder for the rows of a state in columns, which are no entries of the store."""
        if self._rows is None:
            self._rows = tempfile.TemporaryDirectory(prefix="millrace-rows-")
        return os.path.join(self._rows.name, str(next(self._numbers)))

    def load(self, task: TaskId, past: Past, storage: StateStorage) -> Iterator[tuple[int, Piece]]:
        yield from super().load(task, past, storage)
        self._flush()

    def finish(self, version: int, delta: Piece | None) -> None:
        self._flush()

    def close(self) -> None:
        for backend in self._backends.values():
            backend.close()
        if self._rows is not None:
            self._rows.cleanup()
        self._reader.end()
        store, self._store = self._store, None
        if store is not None:
            store.close()

    def _spill(self) -> None:
        """Write changes to the store if there are too many in memory."""
        if self.pending() > SPILL_ENTRIES:
            self._flush()

    def pending(self) -> int:
        return sum(backend.pending() for backend in self._backends.values())

    def _flush(self) -> None:
        """Write all changes to the store, and let the tables read them there."""
        environment = self._environment
        if environment is None or not self.pending():
            return
        self._reader.end()
        try:
            with Writer(environment, at_once=False) as writer:
                flush_all(self._backends, writer, self._head)
        except Exception as error:
            raise self._failed(error) from error
        self._reader.begin(environment)
        for (uid, name), (number, kind) in self._head.tables.items():
            stored = self._backends[uid].stored_as(name, kind)
            stored.forget()
            stored.shelf.prefix = prefix_of(number)
            if isinstance(stored, DiskTimerQueue):
                stored.go_on_from(self._head.timer_numbers[uid, name])

    def _failed(self, error: Exception) -> Exception:
        return RuntimeError(f"the state store {type(self._store).__qualname__} failed: {type(error).__name__}: {error}")


def _nothing() -> None:
    """Does nothing: no preparation is needed before the whole state is read."""
