"""Part files while they are written: hidden, under a name that only this attempt knows."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from pyarrow import fs

from millrace.common.file_systems import is_local, open_file_system
from millrace.common.serialization import BulkWriterFactory
from millrace.connectors.file_system.rolling import PartFileInfo

__all__ = ["BulkPart", "FinishedRows", "Part", "PartState", "PendingFile", "RowPart", "discard_file", "is_file"]

BUFFER_SIZE = 1 << 18
_NO_DIRECTORIES = ("S3FileSystem", "GcsFileSystem", "AzureFileSystem")


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


@dataclass(frozen=True)
class PartState:
    """An unfinished part at the end of an epoch: its first ``size`` bytes are valid."""

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
        self.persisted = state.size > 0
        """Whether the state of an epoch covers everything written so far."""
        self._state = state
        self._file_system = open_file_system(state.root)[0]
        self._kept = state.size

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
        """Make what is written so far of a resumable part survive this process."""
        raise NotImplementedError

    def close(self) -> None:
        """Close without finishing: after ``persist``, or to give up."""

    def discard(self) -> None:
        """Give up what no epoch has recorded; never raises for a file that is gone."""
        self.close()
        if not self._kept:
            discard_file(self._file_system, self._state.in_progress)

    def _pending(self) -> PendingFile:
        state = self._state
        return PendingFile(state.root, state.in_progress, state.target, self._kept, state.replaces)

    def _create(self, buffering: int = BUFFER_SIZE) -> Any:
        directory = self._state.in_progress.rpartition("/")[0]
        if type(self._file_system).__name__ not in _NO_DIRECTORIES:
            self._file_system.create_dir(directory, recursive=True)
        if is_local(self._file_system):
            return open(self._state.in_progress, "wb", buffering)
        return self._file_system.open_output_stream(self._state.in_progress)


class RowPart(Part):
    """Encoded elements one after the other. On local disks it may stay open over several epochs.

    :param source: the same part in another file, of which this one shall be a copy. What other processes still write to
        that file then harms nobody.
    """

    def __init__(self, state: PartState, encode: Callable[[Any], bytes], source: PartState | None = None) -> None:
        super().__init__(state)
        self._encode = encode
        self._file: Any = None
        # Python's own buffers would be written out whenever a forgotten file is garbage collected.
        self._buffer: list[bytes] = []
        self._buffered = 0
        if source is not None:
            self._copy(source)

    def write(self, element: Any, now: int) -> None:
        data = self._encode(element)
        self._buffer.append(data)
        self.size += len(data)
        self._buffered += len(data)
        if self._buffered > BUFFER_SIZE:
            self._flush()
        self.last_update_time = now
        self.persisted = False

    def _flush(self) -> None:
        if self._file is None:
            self._file = self._reopen() if self._kept else self._create(buffering=0)
        data, self._buffer, self._buffered = memoryview(b"".join(self._buffer)), [], 0
        while data:
            data = data[self._file.write(data) :]

    def _reopen(self) -> Any:
        """The file, with the bytes that an epoch has recorded and no more."""
        file = _open(self._state, "r+b")
        file.truncate(self._kept)
        file.seek(self._kept)
        return file

    def _copy(self, source: PartState) -> None:
        with _open(source, "rb") as old:
            left, self._kept = self._kept, 0  # nothing is recorded of the new file
            while left:
                data = old.read(min(left, BUFFER_SIZE))
                self._buffer = [data]
                self._flush()
                left -= len(data)
        self.persisted = False

    def finish(self) -> PendingFile:
        self._flush()  # and so cuts off what a failed attempt has added
        self.close()
        return self._pending()

    @property
    def resumable(self) -> bool:
        return is_local(self._file_system)

    def persist(self) -> PartState:
        if not self.persisted:
            self._flush()
        self.persisted = True
        # From here on an epoch stands on these bytes.
        self._kept = self.size
        return replace(
            self._state, size=self.size, creation_time=self.creation_time, last_update_time=self.last_update_time
        )

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


class FinishedRows(RowPart):
    """A part that a sink of a row format left unfinished, in the hands of one that has another format by now."""

    def __init__(self, state: PartState, source: PartState | None = None) -> None:
        super().__init__(state, _no_more, source)

    @property
    def resumable(self) -> bool:
        return False


class BulkPart(Part):
    """A new file of a bulk format; finished within its epoch."""

    def __init__(self, state: PartState, factory: BulkWriterFactory) -> None:
        super().__init__(state)
        self._stream = self._create()
        self._writer = factory.create(self._stream)

    def write(self, element: Any, now: int) -> None:
        self._writer.add_element(element)
        self.size = self._stream.tell()
        self.last_update_time = now

    def finish(self) -> PendingFile:
        self._writer.finish()
        self.size = self._stream.tell()
        self._stream.close()
        return self._pending()

    def close(self) -> None:
        self._stream.close()


def _no_more(element: Any) -> bytes:
    raise NotImplementedError("nothing is added to a part of another format")


def _open(state: PartState, mode: str) -> Any:
    """The file of an unfinished part, with all its valid bytes."""
    path = state.in_progress
    try:
        file = open(path, mode, 0)  # noqa: SIM115
    except FileNotFoundError:
        raise FileNotFoundError(
            f"FileSink can't go on with {path}, which the checkpoint names as unfinished: it is gone, and there is no "
            f"{state.target} either, as which a later run would have finished it"
        ) from None
    length = os.fstat(file.fileno()).st_size
    if length < state.size:
        file.close()
        raise OSError(f"{path} has {length} bytes, but the checkpoint says that {state.size} were written")
    return file


def is_file(file_system: Any, path: str) -> bool:
    """Whether there is a file of that name."""
    return bool(file_system.get_file_info(path).type == fs.FileType.File)


def discard_file(file_system: Any, path: str) -> None:
    """Delete a file; one that is gone is fine."""
    try:
        file_system.delete_file(path)
    except FileNotFoundError:
        pass
