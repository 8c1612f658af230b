"""``SourceReaderBase`` and ``SplitReader``, after FLIP-27: the base of sources that fetch from a client.

A connector implements ``SplitReader``. One thread calls it and reads ahead between epochs, up to a number of records
and bytes; everything but ``wake_up`` is called by that thread, so the client need not be safe for several threads. The
thread lives until ``close``.
"""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from millrace.common.source import InputStatus, ReaderOutput, SourceReader, split_id
from millrace.relational.rows import count
from millrace.util.skipped import record_skipped
from millrace.util.system import FEW_RECORDS, LONGEST_REST_SECONDS, REST_FACTOR, Cancelled, end_thread
from millrace.util.threads import JobThread

__all__ = ["SourceReaderBase", "SplitBatch", "SplitReader"]


T = TypeVar("T")
SplitT = TypeVar("SplitT")


@dataclass(frozen=True)
class SplitBatch(Generic[T, SplitT]):
    """Neighbouring records of one split, some thousands at most."""

    split_id: str
    records: list[T]
    left: SplitT | None
    """the rest of the split after these records; None: the split has ended"""
    timestamps: list[int] | None = None
    """ms, one for each record"""
    size: int = 0
    """estimated bytes of the records; 0: unknown"""
    skipped: int = field(default=0, kw_only=True)
    """how many records among them could not be read and were skipped, see ``millrace.util.skipped``"""

    @property
    def elements(self) -> int:
        """The number of records; for batches of rows the number of rows."""
        return count(self.records)

    def and_then(self, later: SplitBatch[T, SplitT]) -> SplitBatch[T, SplitT]:
        """This batch and the next one of the same split as one.

        :param later: the records that follow in the same split.
        """
        times, after = self.timestamps, later.timestamps
        return SplitBatch(
            self.split_id,
            [*self.records, *later.records],
            later.left,
            None if times is None or after is None else [*times, *after],
            self.size + later.size,
            skipped=self.skipped + later.skipped,
        )

    def goes_with(self, later: SplitBatch[T, SplitT]) -> bool:
        """Whether they can be one."""
        same = self.split_id == later.split_id and self.left is not None
        return same and (self.timestamps is None) == (later.timestamps is None)


class SplitReader(ABC, Generic[T, SplitT]):
    """Fetches records of the splits that it was given."""

    any_order = False
    """whether records of one split may be read before those of another that were fetched earlier"""

    @abstractmethod
    def fetch(self) -> Sequence[SplitBatch[T, SplitT]]:
        """What comes next, of any of its splits. May wait until there is something, or ``wake_up`` is called, or give
        nothing; called again at once."""

    @abstractmethod
    def handle_splits_changes(self, added: Sequence[SplitT]) -> None:
        """From now on fetch these splits, too, from their positions on."""

    def wake_up(self) -> None:
        """Let a ``fetch`` that waits return soon. Called from another thread, at any time."""

    def pause_or_resume_splits(self, to_pause: Sequence[str], to_resume: Sequence[str]) -> None:
        """Fetch nothing of some splits (given by their names) until they are resumed: they are ahead of others. By
        default they are fetched all the same."""

    def keep_alive(self) -> None:
        """Called every few seconds while nothing is fetched since enough waits to be emitted: some servers drop clients
        that are silent."""

    def close(self) -> None:
        """Release the client."""


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
            self._thread = JobThread(target=self._run, name="millrace-fetcher", daemon=True)
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


RECORDS_AHEAD = 50_000
"""Records that may be fetched before they are emitted; a fetch that has begun may exceed the limit."""
BYTES_AHEAD = 32 * 1024 * 1024
"""Bytes that may be fetched before they are emitted, for connectors that know the sizes."""


class SourceReaderBase(SourceReader[T, SplitT], Generic[T, SplitT]):
    """Fetches in a thread of its own, which lives as long as the reader, also between epochs.

    Positions are those of what was emitted: what was only fetched is fetched again after a failure. What goes wrong in
    the thread fails the job, after what was fetched before was emitted. Every split has a watermark generator of its
    own from the time that it is assigned.

    :param make_split_reader: called in the thread, once.
    :param records_ahead: how many records may be fetched and not emitted; ``bytes_ahead`` the same in bytes.
    """

    def __init__(
        self,
        make_split_reader: Callable[[], SplitReader[T, SplitT]],
        records_ahead: int = RECORDS_AHEAD,
        bytes_ahead: int = BYTES_AHEAD,
    ) -> None:
        self._fetcher: Fetcher[T, SplitT] = Fetcher(make_split_reader, records_ahead, bytes_ahead)
        self._splits: dict[str, SplitT] = {}
        self._unregistered: list[str] = []
        """splits that have no output yet"""
        self._no_more_splits = False

    def add_splits(self, splits: Sequence[SplitT]) -> None:
        for split in splits:
            name = split_id(split)
            if name in self._splits:
                raise ValueError(f"two splits are called {name!r}: give each a split_id of its own")
            self._splits[name] = split
            self._unregistered.append(name)
        self._fetcher.add(splits)

    def notify_no_more_splits(self) -> None:
        self._no_more_splits = True

    def has_splits(self) -> bool:
        return bool(self._splits)

    def on_available(self, call: Callable[[], None], pause_ms: float) -> bool:
        self._fetcher.on_available, self._fetcher.pause_seconds = call, pause_ms / 1000
        return True

    def pause_or_resume_splits(self, to_pause: Sequence[str], to_resume: Sequence[str]) -> None:
        self.tell(lambda reader: reader.pause_or_resume_splits(to_pause, to_resume))

    def tell(self, command: Command) -> None:
        """Let the thread call this with its ``SplitReader``, between two fetches: to commit offsets, say."""
        self._fetcher.tell(command)

    def poll_next(self, output: ReaderOutput[T]) -> InputStatus:
        while self._unregistered:
            output.create_output_for_split(self._unregistered.pop())
        if not self._splits:
            return InputStatus.END_OF_INPUT if self._no_more_splits else InputStatus.NOTHING_AVAILABLE
        batch = self._fetcher.take(output.patience())
        if batch is None:
            return InputStatus.NOTHING_AVAILABLE
        record_skipped(batch.skipped)
        if batch.records:
            output.create_output_for_split(batch.split_id).collect_batch(batch.records, batch.timestamps)
        self.emitted(batch)
        if batch.left is None:
            output.release_output_for_split(batch.split_id)
            del self._splits[batch.split_id]
        else:
            self._splits[batch.split_id] = batch.left
            if self._fetcher.is_dry:
                return InputStatus.NOTHING_AVAILABLE
        return InputStatus.MORE_AVAILABLE

    def emitted(self, batch: SplitBatch[T, SplitT]) -> None:
        """A batch was given to the job."""

    def snapshot_state(self, checkpoint_id: int) -> list[SplitT]:
        return list(self._splits.values())

    def close(self) -> None:
        self._fetcher.close()
