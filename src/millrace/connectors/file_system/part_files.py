"""Part files while they are written: hidden, under a name that only this run of the task knows.

**Nothing here ever changes bytes that are written.** A file grows at its end, written only by the writer that made it,
until it is renamed or deleted. So a stale run of a task (a speculative copy, a task on an executor that was taken for
lost, a process that was stopped and goes on) can at most add to its own files. The name of a hidden file says to which
sink it belongs and in which epoch it was made.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from pyarrow import fs

from millrace.common.files.file_systems import open_file_system
from millrace.common.files.object_stores import explaining, is_local, makes_folders
from millrace.common.serialization import BulkWriterFactory
from millrace.connectors.file_system.part_policies import PartFileInfo

# What a file system can do

BUFFER_SIZE = 1 << 18


class PartStore:
    """Any file system: a file is written from its beginning to its end in one epoch."""

    grows = False
    """whether a file may be closed and written on later"""

    def __init__(self, file_system: Any, root: str = "") -> None:
        self._file_system = file_system
        self._root = root

    def create(self, path: str, buffering: int = BUFFER_SIZE) -> Any:
        """A stream of bytes into a new file; directories are made."""
        with explaining(self._root):
            if not makes_folders(self._file_system):
                self._file_system.create_dir(path.rpartition("/")[0], recursive=True)
            return self._file_system.open_output_stream(path)

    def append(self, path: str, size: int) -> Any:
        """A stream of bytes to the end of a file, which has ``size`` bytes and grows by no other writer.

        :raises OSError: it has not.
        """
        raise NotImplementedError("files of this file system do not grow")

    def copy(self, source: str, size: int, target: str) -> Any:
        """A new file with the first ``size`` bytes of another one, open for more."""
        raise NotImplementedError("files of this file system do not grow")

    def size(self, path: str) -> int | None:
        """None if there is no such file."""
        with explaining(self._root):
            info = self._file_system.get_file_info(path)
        return info.size if info.type is fs.FileType.File else None

    def free_target(self, target: str, otherwise: str) -> str:
        """Where to move a part: a move may have come half its way before, so what is at ``target`` is this very part.
        Elsewhere it could be that of another job."""
        return target

    def move(self, path: str, target: str) -> None:
        with explaining(self._root):
            self._file_system.move(path, target)

    def delete(self, path: str) -> None:
        """Delete a file; one that is gone is fine."""
        with explaining(self._root):
            discard_file(self._file_system, path)

    def files(self, directory: str) -> Iterator[str]:
        """All files below a directory, none if it is not there."""
        selector = fs.FileSelector(directory, allow_not_found=True, recursive=True)
        with explaining(self._root):
            found = self._file_system.get_file_info(selector)
        yield from (info.path for info in found if info.type is fs.FileType.File)


class LocalPartStore(PartStore):
    """Files of the operating system, on a disk or on one that machines share."""

    grows = True

    def create(self, path: str, buffering: int = BUFFER_SIZE) -> Any:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return open(path, "xb", buffering)

    def append(self, path: str, size: int) -> Any:
        # Without O_CREAT: what is gone stays gone.
        file = os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND), "ab", 0)
        length = os.fstat(file.fileno()).st_size
        if length != size:
            file.close()
            raise OSError(f"{path} has {length} bytes, but its only writer has written {size}")
        return file

    def copy(self, source: str, size: int, target: str) -> Any:
        with open(source, "rb", 0) as old:
            copy = self.create(target, 0)
            try:
                _copy_bytes(old.fileno(), copy.fileno(), size)
                copy.seek(size)
            except BaseException:
                copy.close()
                self.delete(target)
                raise
        return copy

    def free_target(self, target: str, otherwise: str) -> str:
        return target if self.size(target) is None else otherwise

    def files(self, directory: str) -> Iterator[str]:
        for place, _, names in os.walk(directory):  # without asking for the size of each
            yield from (f"{place}/{name}" for name in names)


def part_store(root: str) -> PartStore:
    """The files behind a URI, "" for local ones."""
    file_system = open_file_system(root)[0]
    return LocalPartStore(file_system) if is_local(file_system) else PartStore(file_system, root)


def _copy_bytes(source: int, target: int, size: int) -> None:
    """Within the kernel where it can: some file systems then share the blocks."""
    left = size
    while left:
        done = _copy_some(source, target, left, at=size - left)
        if not done:
            raise OSError(f"the file ends after {size - left} of {size} bytes")
        left -= done


def _copy_some(source: int, target: int, count: int, at: int) -> int:
    try:
        return os.copy_file_range(source, target, count, at, at)
    except (AttributeError, OSError):
        return os.pwrite(target, os.pread(source, min(count, BUFFER_SIZE), at), at)


def is_file(file_system: Any, path: str) -> bool:
    """Whether there is a file of that name."""
    return bool(file_system.get_file_info(path).type == fs.FileType.File)


def discard_file(file_system: Any, path: str) -> None:
    """Delete a file; one that is gone is fine."""
    try:
        file_system.delete_file(path)
    except FileNotFoundError:
        pass


# Names of hidden files

_MARK = ".inprogress."
_EPOCH = re.compile(r"-(\d+)-[0-9a-f]+$")


def hidden_name(name: str, owner: str, epoch: int, token: str) -> str:
    """The name of part ``name`` while a sink (``owner``) writes it. No other run of a task has the token."""
    return f".{name}{_MARK}{owner}-{epoch}-{token}"


def is_of(owner: str, path: str) -> bool:
    """Whether it is a hidden part of that sink."""
    name = path.rpartition("/")[2]
    return name.startswith(".") and f"{_MARK}{owner}-" in name


def owner_in(path: str) -> str:
    """The sink that wrote a hidden part."""
    return path.rpartition(_MARK)[2].partition("-")[0]


def epoch_of(path: str) -> int:
    """The epoch in which a hidden part was made."""
    match = _EPOCH.search(path)
    return int(match.group(1)) if match else 0


def other_target(target: str, in_progress: str) -> str:
    """Where to put a part if another job has taken its place: the name ends as before, with the token in it."""
    directory, _, name = target.rpartition("/")
    head, dot, suffix = name.partition(".")
    return f"{directory}/{head}-{in_progress.rpartition('-')[2]}{dot}{suffix}"


# Open parts

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
    """the epoch in which the file was finished, if files of an epoch are merged; else ``UNKNOWN``"""


@dataclass(frozen=True)
class PartState:
    """An unfinished part at the end of an epoch: the first ``size`` bytes of its file are valid and never change.
    The run that made the file may have appended more."""

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
        """This part in a copy of its file with the name ``in_progress``."""
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
        """Close the part without finishing it; a file that no epoch refers to is deleted."""
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
