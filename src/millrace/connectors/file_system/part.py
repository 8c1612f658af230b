"""Part files while they are written: hidden, under a name that only this run of the task knows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from millrace.common.files.stores.problems import explaining
from millrace.common.serialization import BulkWriterFactory
from millrace.connectors.file_system.part_store import BUFFER_SIZE, part_store
from millrace.connectors.file_system.rolling import PartFileInfo

__all__ = ["BulkPart", "FinishedRows", "Part", "PartState", "PendingFile", "RowPart"]

UNKNOWN = -1


@dataclass(frozen=True)
class PendingFile:
    """A complete hidden file: the committable of ``FileSink``."""

    root: str
    in_progress: str
    target: str
    kept: int = 0
    """How many of its bytes belong to earlier epochs: those must outlive an abort of this one."""
    replaces: tuple[str, ...] = ()
    """hidden files from which it was copied: of no use once it is visible"""
    size: int = UNKNOWN
    """bytes"""
    epoch: int = UNKNOWN
    """in which it was finished, where files of an epoch are put together"""


@dataclass(frozen=True)
class PartState:
    """An unfinished part at the end of an epoch: the first ``size`` bytes of its file are valid, for ever. Behind them
    may be what the run that made the file has added."""

    bucket_id: str
    root: str
    in_progress: str
    target: str
    size: int
    creation_time: int
    last_update_time: int
    replaces: tuple[str, ...] = ()
    """hidden files from which it was copied: older checkpoints may need them"""

    def under(self, in_progress: str) -> PartState:
        """The same part, in a copy of the file."""
        return replace(self, in_progress=in_progress, replaces=(*self.replaces, self.in_progress))


class Part(PartFileInfo):
    """An open part file."""

    def __init__(self, state: PartState) -> None:
        self.bucket_id = state.bucket_id
        self.creation_time = state.creation_time
        self.last_update_time = state.last_update_time
        self.size = state.size
        self._state = state
        self._store = part_store(state.root)
        self._kept = 0
        """bytes of this part's own file that the state of an epoch stands on"""

    def write(self, element: Any, now: int) -> None:
        """Append an element at the clock's time ``now``, ms."""
        raise NotImplementedError

    def finish(self) -> PendingFile:
        """Close the file; nothing is added to it any more."""
        raise NotImplementedError

    @property
    def resumable(self) -> bool:
        """Whether the part may stay unfinished at the end of an epoch."""
        return False

    def persist(self) -> PartState:
        """The end of an epoch: make what is written so far of a resumable part survive this process."""
        raise NotImplementedError

    def close(self) -> None:
        """Give the part up, for now or for good; a file that no epoch stands on is deleted."""
        raise NotImplementedError

    def _pending(self) -> PendingFile:
        state = self._state
        return PendingFile(state.root, state.in_progress, state.target, self._kept, state.replaces, self.size)


class RowPart(Part):
    """Encoded elements one after the other. On disks it may grow over several epochs.

    The file is closed at the end of each epoch: thousands of buckets would need as many descriptors, and it is the
    closing that lets other machines see what is written (NFS).

    :param own: set for a part that another writer has begun: the name of the copy in which this one goes on. Whoever
        still writes to the other file then harms nobody. The copy is made when there is something to add to it.
    """

    def __init__(self, state: PartState, encode: Callable[[Any], bytes], own: str | None = None) -> None:
        super().__init__(state)
        self._encode = encode
        self._own = own
        self._file: Any = None
        self._written = 0
        """bytes in the file that this part itself has made; 0: there is none yet"""
        # Python's own buffers would be written out whenever a forgotten file is garbage collected.
        self._buffer: list[bytes] = []
        self._buffered = 0
        if own is not None:
            self._check()

    def _check(self) -> None:
        """:raises OSError: the file that a state names does not have all its valid bytes."""
        state = self._state
        found = self._store.size(state.in_progress)
        if found is None:
            raise FileNotFoundError(
                f"FileSink can't go on with {state.in_progress}, which the checkpoint names as unfinished: it is gone, "
                f"and there is no {state.target} either, as which a later run would have finished it"
            )
        if found < state.size:
            raise OSError(
                f"{state.in_progress} has {found} bytes, but the checkpoint says that {state.size} were written"
            )

    def write(self, element: Any, now: int) -> None:
        self.append(self._encode(element), now)

    def append(self, data: bytes, now: int) -> None:
        """Append what is encoded already."""
        self._buffer.append(data)
        self.size += len(data)
        self._buffered += len(data)
        if self._buffered > BUFFER_SIZE:
            self._flush()
        self.last_update_time = now

    def _flush(self) -> None:
        if self._file is None:
            self._file = self._open()
        data, self._buffer, self._buffered = memoryview(b"".join(self._buffer)), [], 0
        with explaining(self._state.root):
            while data:
                count = self._file.write(data)
                self._written += count
                data = data[count:]

    def _open(self) -> Any:
        if self._own is not None:
            source, self._state, self._own = self._state, self._state.under(self._own), None
            copy = self._store.copy(source.in_progress, source.size, self._state.in_progress)
            self._written = source.size
            return copy
        if self._written:
            return self._store.append(self._state.in_progress, self._written)
        return self._store.create(self._state.in_progress, buffering=0)

    def finish(self) -> PendingFile:
        if self._buffer or not self._written:
            self._flush()
        self._close_file()
        return self._pending()

    @property
    def resumable(self) -> bool:
        return self._store.grows

    def persist(self) -> PartState:
        if self._buffer:
            self._flush()
        self._close_file()
        # From here on an epoch stands on these bytes.
        self._kept = self._written
        return replace(
            self._state, size=self.size, creation_time=self.creation_time, last_update_time=self.last_update_time
        )

    def close(self) -> None:
        self._close_file()
        if self._written and not self._kept:
            self._store.delete(self._state.in_progress)

    def _close_file(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            with explaining(self._state.root):
                file.close()


class FinishedRows(RowPart):
    """A part that a sink of a row format left unfinished, in the hands of one that has another format by now."""

    def __init__(self, state: PartState, own: str) -> None:
        super().__init__(state, _no_more, own)

    @property
    def resumable(self) -> bool:
        return False


class BulkPart(Part):
    """A new file of a bulk format; finished within its epoch."""

    def __init__(self, state: PartState, factory: BulkWriterFactory) -> None:
        super().__init__(state)
        self._stream = self._store.create(state.in_progress)
        self._writer = factory.create(self._stream)

    def write(self, element: Any, now: int) -> None:
        self._writer.add_element(element)
        self.size = self._stream.tell()
        self.last_update_time = now

    def finish(self) -> PendingFile:
        with explaining(self._state.root):
            self._writer.finish()
            self.size = self._stream.tell()
            self._stream.close()
        return self._pending()

    def close(self) -> None:
        self._stream.close()
        self._store.delete(self._state.in_progress)


def _no_more(element: Any) -> bytes:
    raise NotImplementedError("nothing is added to a part of another format")
