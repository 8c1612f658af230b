"""The thread in which a ``SplitReader`` works."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from millrace.common.source import split_id
from millrace.connectors.split_reader.contract import SplitBatch, SplitReader
from millrace.util.resting import FEW_RECORDS, LONGEST_REST_SECONDS, REST_FACTOR
from millrace.util.threads import Cancelled, end_thread

T = TypeVar("T")
SplitT = TypeVar("SplitT")
Command = Callable[[Any], None]

KEEP_ALIVE_SECONDS = 5.0


class Fetcher(Generic[T, SplitT]):
    """Fetches until so many records, or bytes, wait to be taken. One thread, from the first split to ``close``."""

    def __init__(self, make: Callable[[], SplitReader[T, SplitT]], records: int, size: int) -> None:
        """:param make: makes the reader, in the thread. ``records``, ``size`` (bytes): how much may wait."""
        self._make = make
        self._most_records, self._most_size = records, size
        self._changed = threading.Condition()
        self._waiting: deque[SplitBatch[T, SplitT]] = deque()
        self._records = self._size = 0
        self._commands: list[Command] = []
        self._open: set[str] = set()
        """names of the splits that are not fetched to their end"""
        self._reader: SplitReader[T, SplitT] | None = None
        self._error: BaseException | None = None
        self._closing = False
        self._thread: threading.Thread | None = None
        self.on_available: Callable[[], None] | None = None
        """is called in the thread when there is something to take"""
        self.pause_seconds = 0.0
        """how long the thread leaves the reader alone after a fetch that gave few records"""

    def add(self, splits: Sequence[SplitT]) -> None:
        with self._changed:
            self._open.update(map(split_id, splits))
        self.tell(lambda reader: reader.handle_splits_changes(splits))

    def tell(self, command: Command) -> None:
        """Let the thread call this with its reader, between two fetches."""
        with self._changed:
            self._commands.append(command)
            self._changed.notify_all()
            reader = self._reader
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="millrace-fetcher", daemon=True)
            self._thread.start()
        elif reader is not None:
            reader.wake_up()

    def take(self, seconds: float) -> SplitBatch[T, SplitT] | None:
        """The next batch, None if there is none within that time. Raises what went wrong in the thread."""
        with self._changed:
            if not self._waiting and self._error is None:
                self._changed.wait(seconds)
            if self._waiting:
                batch = self._next()
                self._changed.notify_all()
                return batch
            if self._error is not None:
                raise self._error
            return None

    def _next(self) -> SplitBatch[T, SplitT]:
        """The first one that waits; while little comes, together with what has come later of its split."""
        batch = self._pop(0)
        at = 0
        while self.pause_seconds and at < len(self._waiting) and batch.elements < FEW_RECORDS:
            if batch.goes_with(self._waiting[at]):
                batch = batch.and_then(self._pop(at))
            elif self._reader is not None and self._reader.any_order and batch.split_id != self._waiting[at].split_id:
                at += 1
            else:
                break
        return batch

    def _pop(self, at: int) -> SplitBatch[T, SplitT]:
        batch = self._waiting[at]
        del self._waiting[at]
        self._records -= len(batch.records)
        self._size -= batch.size
        return batch

    @property
    def is_dry(self) -> bool:
        """Whether there is nothing to take, and ``on_available`` is called when there is."""
        return self.on_available is not None and not self._waiting and self._error is None

    def close(self) -> None:
        """End the thread; it closes its reader itself."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
            reader = self._reader
        if self._thread is not None:
            if reader is not None:
                reader.wake_up()
            end_thread(self._thread)

    def _run(self) -> None:
        reader: SplitReader[T, SplitT] | None = None
        try:
            reader = self._make()
            with self._changed:
                self._reader = reader
            while not self._closing:
                if not self._is_wanted():
                    reader.keep_alive()
                    continue
                for command in self._take_commands():
                    command(reader)
                began = time.thread_time()
                batches = reader.fetch() if self._open and self._has_room() else ()
                self._put(batches)
                if batches and self.pause_seconds and sum(batch.elements for batch in batches) < FEW_RECORDS:
                    # So that the next fetch gives more: some formats take a ms to decode one record or a thousand.
                    worth = REST_FACTOR * (time.thread_time() - began)
                    time.sleep(max(self.pause_seconds, min(worth, LONGEST_REST_SECONDS)))
        except Cancelled:
            pass
        except BaseException as error:
            self._fail(error)
        finally:
            with self._changed:
                self._reader = None
            try:
                if reader is not None:
                    reader.close()
            except BaseException as error:
                self._fail(error)

    def _is_wanted(self) -> bool:
        """Wait until there is something to do, and room for it; False: not for some time."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._closing or self._commands or (self._open and self._has_room()), KEEP_ALIVE_SECONDS
            )
            return bool(self._commands or (self._open and self._has_room()))

    def _has_room(self) -> bool:
        return self._records < self._most_records and self._size < self._most_size

    def _take_commands(self) -> list[Command]:
        with self._changed:
            commands, self._commands = self._commands, []
            return commands

    def _put(self, batches: Sequence[SplitBatch[T, SplitT]]) -> None:
        with self._changed:
            for batch in batches:
                self._waiting.append(batch)
                self._records += len(batch.records)
                self._size += batch.size
                if batch.left is None:
                    self._open.discard(batch.split_id)
            self._changed.notify_all()
        if batches:
            self._tell()

    def _tell(self) -> None:
        if self.on_available is not None:
            self.on_available()

    def _fail(self, error: BaseException) -> None:
        with self._changed:
            if not self._closing:
                self._error = self._error or error
                self._changed.notify_all()
        self._tell()
