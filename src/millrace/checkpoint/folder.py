"""Files below one directory, on the local disk or any file system of pyarrow or fsspec; and errors in checkpoint files.

Paths are relative, with ``/`` between their parts. A file becomes visible as a whole or not at all, and never changes.
The temporary name of a file that is being written contains the writing process, so that leftovers of killed processes
can be deleted.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from typing import IO, Any, Protocol

from pyarrow import fs

from millrace.checkpoint.stored_file import LocalFile, RemoteFile, StoredFile, open_own
from millrace.common.files import object_stores, store_settings
from millrace.common.files.file_systems import locate
from millrace.common.files.object_stores import explaining, is_local, makes_folders, shows_whole_files
from millrace.common.state.storage import SCHEME
from millrace.util.folders import TRUST_DIRECTORY
from millrace.util.system import is_alive, this_machine, writing
from millrace.util.threads import JobPool


class SnapshotError(Exception):
    """A checkpoint or savepoint can't be used. The text names the file and the problem."""


class MissingFileError(SnapshotError):
    """A file that the metadata names does not exist."""

    def __init__(self, path: str) -> None:
        super().__init__(f"{path} is missing, but the metadata of its checkpoint or savepoint names it")
        self.path = path


class CorruptFileError(SnapshotError):
    """The content of a file is not what was written."""

    def __init__(self, path: str, what: str) -> None:
        super().__init__(f"{path} is corrupt: {what}")
        self.path = path


class RestoreError(Exception):
    """The program does not fit the checkpoint or savepoint that it must be restored from; nothing has run."""


TEMPORARY = ".tmp"
"""The suffix of temporary names."""
ABANDONED_SECONDS = 3_600.0
"""Time (s) without growth after which a temporary file of a process on another machine counts as left over."""
_WRITER = re.compile(r"\.([0-9a-f]{8})-(\d+)-[0-9a-f]{8}\.tmp$")


def name_aside(target: str) -> str:
    """The temporary name under which this process writes the file ``target``."""
    return f"{target}.{this_machine()}-{os.getpid()}-{uuid.uuid4().hex[:8]}{TEMPORARY}"


def is_left_over(name: str, age: Callable[[], float | None]) -> bool:
    """Whether a file with a temporary name is left over: its writer is dead.

    :param age: gives the time since it was last written (s), by the clock of its file system; None if not known.
    """
    writer = _WRITER.search(name)
    if writer is not None and writer[1] == this_machine():
        return not is_alive(int(writer[2]))
    silent = age()
    return silent is not None and silent > ABANDONED_SECONDS


Payload = Iterable[Any]
"""pieces of bytes, written one after the other"""
SYNCED_TOGETHER = 8


class Folder(Protocol):
    """A directory for the files of a job, a checkpoint or a savepoint."""

    uri: str

    def write(self, path: str, pieces: Payload) -> int:
        """Store a file; returns its size in bytes. Missing folders are made; an existing file is replaced."""

    def write_new(self, path: str, content: bytes) -> int:
        """Store a file that must not exist yet; returns its size in bytes. Raises ``FileExistsError``."""

    def read(self, path: str) -> Any:
        """The content of a file as one buffer. Raises ``FileNotFoundError``."""

    def open(self, path: str) -> StoredFile:
        """Open a file to read parts of it; the caller must close it. Raises ``FileNotFoundError``."""

    def read_range(self, path: str, begin: int, length: int) -> Any:
        """``length`` bytes of a file from ``begin`` on, or fewer at its end. Raises ``FileNotFoundError``."""

    def size(self, path: str) -> int | None:
        """The size of a file in bytes; None: there is no such file."""

    def files(self, path: str = "") -> list[str]:
        """All files below a path, as paths relative to this folder; empty if the path does not exist."""

    def sizes(self, path: str = "") -> dict[str, int]:
        """As ``files``, with their sizes in bytes; one listing."""

    def age(self, path: str) -> float | None:
        """Time since a file was last written (s), by the clock of the file system, which no process sets; None: not
        known."""

    def persist(self, paths: Iterable[str]) -> None:
        """Make files and their names survive a loss of power. Missing files are ignored."""

    def sweep(self) -> None:
        """Delete temporary files of processes that are known to be dead."""

    def delete(self, path: str) -> None:
        """Delete a file, if it exists."""

    def delete_tree(self, path: str = "") -> None:
        """Delete everything below a path, and the folder itself, if it exists."""

    def child(self, path: str) -> Folder: ...


def open_folder(uri: str) -> Folder:
    """The folder at a path or URI, whether it exists or not. Raises ``ValueError`` for an unknown scheme."""
    if uri.startswith(SCHEME):
        return open_own(uri)
    location = locate(uri)
    system = location.file_system()
    return LocalFolder(location.path) if is_local(system) else RemoteFolder(uri, system, location.path)


def _age(folder: Folder, path: str, written: Callable[[str], int | None]) -> float | None:
    """Age of a file (s), measured by writing another one.

    :param written: gives the time when a file was written (ns); None if not known.
    """
    probe = f"{path}.{uuid.uuid4().hex[:8]}"
    try:
        folder.write(probe, [b"now"])
        try:
            now, then = written(probe), written(path)
        finally:
            folder.delete(probe)
    except OSError:
        return None
    return None if now is None or then is None else (now - then) / 1e9


def _left_over(folder: Folder, files: Iterable[tuple[str, Any]]) -> list[str]:
    """The temporary files of a folder whose writers are dead."""
    aside = [name for name, _ in files if name.endswith(TEMPORARY)]
    return [name for name in aside if is_left_over(name, partial(folder.age, name))]


class LocalFolder:
    """Files of this machine, written under a temporary name and renamed."""

    def __init__(self, path: str) -> None:
        self.uri = path

    def _path(self, path: str) -> str:
        return f"{self.uri}/{path}" if path else self.uri

    def write(self, path: str, pieces: Payload) -> int:
        target = self._path(path)
        temporary = name_aside(target)
        with writing(target):
            file = _created(temporary)
            try:
                with file:
                    for piece in pieces:
                        file.write(piece)
                    size = file.tell()
                os.replace(temporary, target)
            except BaseException:
                _unlink(temporary)
                raise
        return size

    def write_new(self, path: str, content: bytes) -> int:
        target = self._path(path)
        temporary = name_aside(target)
        try:
            with writing(target), _created(temporary) as file:
                file.write(content)
        except BaseException:
            _unlink(temporary)
            raise
        try:
            os.link(temporary, target)
        except FileExistsError:
            if self.read(path) != content:
                raise FileExistsError(f"{target} is there already") from None
        except OSError:  # a file system without links
            if os.path.exists(target):
                raise FileExistsError(f"{target} is there already") from None
            os.replace(temporary, target)
        finally:
            _unlink(temporary)
        return len(content)

    def read(self, path: str) -> bytes:
        with open(self._path(path), "rb") as file:
            return file.read()

    def open(self, path: str) -> StoredFile:
        return LocalFile(self._path(path))

    def read_range(self, path: str, begin: int, length: int) -> bytes:
        with LocalFile(self._path(path)) as file:
            return file.read(begin, length)

    def size(self, path: str) -> int | None:
        try:
            return os.stat(self._path(path)).st_size
        except (FileNotFoundError, NotADirectoryError):
            return None

    def files(self, path: str = "") -> list[str]:
        return sorted(name for name, _ in self._walk(path) if not name.endswith(TEMPORARY))

    def sizes(self, path: str = "") -> dict[str, int]:
        return {name: file.stat().st_size for name, file in self._walk(path) if not name.endswith(TEMPORARY)}

    def _walk(self, path: str) -> Iterator[tuple[str, os.DirEntry[str]]]:
        try:
            entries = list(os.scandir(self._path(path)))
        except (FileNotFoundError, NotADirectoryError):
            return
        for entry in entries:
            name = f"{path}/{entry.name}" if path else entry.name
            if entry.is_dir(follow_symlinks=False):
                yield from self._walk(name)
            else:
                yield name, entry

    def age(self, path: str) -> float | None:
        return _age(self, path, lambda each: os.stat(self._path(each)).st_mtime_ns)

    def persist(self, paths: Iterable[str]) -> None:
        files = list(map(self._path, paths))
        # The file system can write them in one go. No file is relied on before all are written.
        list(_threads().map(_sync, [*files, *self._above(files)]))

    def _above(self, files: Iterable[str]) -> set[str]:
        """The directories that contain the files, and those above them up to this folder's own."""
        last = os.path.dirname(self.uri)
        found = {last}
        for directory in map(os.path.dirname, files):
            while directory not in found and directory.startswith(last):
                found.add(directory)
                directory = os.path.dirname(directory)
        return found

    def sweep(self) -> None:
        for name in _left_over(self, self._walk("")):
            _unlink(self._path(name))

    def delete(self, path: str) -> None:
        _unlink(self._path(path))

    def delete_tree(self, path: str = "") -> None:
        shutil.rmtree(self._path(path), ignore_errors=True)

    def child(self, path: str) -> Folder:
        return LocalFolder(self._path(path))


class RemoteFolder:
    """Files behind a ``pyarrow.fs.FileSystem``.

    In object stores a file becomes visible when it is complete. In other file systems it is written under a temporary
    name first.
    """

    def __init__(self, uri: str, system: Any, path: str, stores: Mapping[str, str] | None = None) -> None:
        """:param stores: settings of the store, for what ``system`` does not do; None: those of the job at hand."""
        self.uri = uri.rstrip("/")
        self._system = system
        self._stores = store_settings.all_settings() if stores is None else stores
        self._root = path.rstrip("/")
        self._whole_files = shows_whole_files(system)

    def _path(self, path: str) -> str:
        return f"{self._root}/{path}" if path else self._root

    def write(self, path: str, pieces: Payload) -> int:
        target = self._path(path)
        place = target if self._whole_files else f"{target}.{uuid.uuid4().hex[:8]}{TEMPORARY}"
        with explaining(self.uri):
            if not makes_folders(self._system):
                self._system.create_dir(target.rpartition("/")[0], recursive=True)
            size = self._write(place, pieces)
            if place != target:
                self._system.move(place, target)
        return size

    def _write(self, place: str, pieces: Payload) -> int:
        with self._system.open_output_stream(place) as stream:
            try:
                for piece in pieces:
                    stream.write(piece)
            except BaseException:
                # A stream can't be given up: closing it makes a file of what was written so far.
                with contextlib.suppress(OSError):
                    stream.close()
                    self._system.delete_file(place)
                raise
            size: int = stream.tell()
        return size

    def write_new(self, path: str, content: bytes) -> int:
        with explaining(self.uri):
            if not object_stores.create_once(self.uri, self._system, self._path(path), content, self._stores):
                raise FileExistsError(f"{self.uri}/{path} is there already")
        return len(content)

    def read(self, path: str) -> Any:
        with explaining(self.uri), self._system.open_input_file(self._path(path)) as file:
            return file.read()

    def open(self, path: str) -> StoredFile:
        with explaining(self.uri):
            return RemoteFile(self._system.open_input_file(self._path(path)))

    def read_range(self, path: str, begin: int, length: int) -> Any:
        with self.open(path) as file:
            return file.read(begin, length)

    def size(self, path: str) -> int | None:
        with explaining(self.uri):
            info = self._system.get_file_info(self._path(path))
        return info.size if info.type is fs.FileType.File else None

    def files(self, path: str = "") -> list[str]:
        return sorted(name for name, _ in self._walk(path) if not name.endswith(TEMPORARY))

    def sizes(self, path: str = "") -> dict[str, int]:
        return {name: info.size for name, info in self._walk(path) if not name.endswith(TEMPORARY)}

    def _walk(self, path: str) -> Iterator[tuple[str, Any]]:
        selector = fs.FileSelector(self._path(path), allow_not_found=True, recursive=True)
        prefix = len(self._root.lstrip("/")) + 1
        with explaining(self.uri):
            found = self._system.get_file_info(selector)
        for info in found:
            if info.type is fs.FileType.File:
                yield info.path.lstrip("/")[prefix:], info

    def age(self, path: str) -> float | None:
        return _age(self, path, lambda each: self._system.get_file_info(self._path(each)).mtime_ns)

    def persist(self, paths: Iterable[str]) -> None:
        """Does nothing: a file that was closed survives."""

    def sweep(self) -> None:
        for name in _left_over(self, self._walk("")):
            self.delete(name)

    def delete(self, path: str) -> None:
        try:
            with explaining(self.uri):
                self._system.delete_file(self._path(path))
        except FileNotFoundError:
            return

    def delete_tree(self, path: str = "") -> None:
        try:
            with explaining(self.uri):
                self._system.delete_dir(self._path(path))
        except FileNotFoundError:
            return

    def child(self, path: str) -> Folder:
        return RemoteFolder(f"{self.uri}/{path}", self._system, self._path(path), self._stores)


def _created(path: str) -> IO[bytes]:
    """Create a new file; its folder is made only if it is missing."""
    try:
        try:
            return open(path, "wb")
        except FileNotFoundError:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            return open(path, "wb")
    except PermissionError as error:
        raise PermissionError(
            f"{error}: the user {os.geteuid()} may not write there. A job's folder is that of the driver's user alone; "
            f"where executors run as other users (YARN, standalone clusters), set {TRUST_DIRECTORY}=true and give them "
            f"the rights"
        ) from None


@cache
def _threads() -> JobPool:
    """To start new ones for each checkpoint takes as long as it takes a fast disk to write."""
    return JobPool(SYNCED_TOGETHER, "millrace-syncing")


os.register_at_fork(after_in_child=_threads.cache_clear)  # the threads stay with the parent


def _sync(path: str) -> None:
    try:
        handle = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _unlink(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        return
