"""Opens LMDB environments: the only module that knows the ``lmdb`` package.

Nothing is synced to disk: after a restart of the machine the environment is deleted and rebuilt from the files of the
checkpoint storage. Only a killed process must do no harm, and LMDB ensures that.

An environment begins with a small memory map and doubles it when it is full: a process has address space for a hundred
maps of a terabyte, and may have more tasks than that. No transaction may read while the map is resized.
"""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakValueDictionary

from millrace.runtime.state.figures import ENTRIES, MAP_BYTES, USED_BYTES, Figures
from millrace.util.system import no_room

MAP_SIZE = 1 << 30
"""Size in bytes of the memory map of a new environment: reserved addresses, neither memory nor disk."""
GROW_SECONDS = 60.0
"""The longest time (s) that a resize waits for open read transactions."""
READERS = 512
"""The most worker processes that may read one environment."""

_FORMAT = b"\0\0format"
_BOOT = b"\0\0boot"
FORMAT = b"millrace-state-4"

_open: WeakValueDictionary[str, Environment] = WeakValueDictionary()
"""path -> open environment; LMDB allows a file to be opened only once in a process"""


class UnusableError(Exception):
    """The environment is damaged, of another format, or older than the machine's last start."""


class Environment:
    """One open environment; processes and copies of a task share it."""

    def __init__(self, path: str, create: bool) -> None:
        import lmdb

        self.path = path
        self.failure: type[Exception] = lmdb.Error
        self.full: type[Exception] = lmdb.MapFullError
        """the error that a writing transaction raises when the map has to ``grow``"""
        self._resized: type[Exception] = lmdb.MapResizedError
        self._changed = threading.Condition()
        """guards the map and the number of open read transactions"""
        self._readers = 0
        try:
            self._env = lmdb.open(
                path,
                map_size=_map_size(path),
                max_readers=READERS,
                create=create,
                sync=False,
                metasync=False,
                readahead=False,
                meminit=False,
            )
            if create:
                with self._env.begin(write=True) as txn:
                    txn.put(_FORMAT, FORMAT)
                    txn.put(_BOOT, _boot_id())
            self._check()
        except (lmdb.Error, OSError) as error:
            raise UnusableError(f"{path}: {error}") from error

    def _check(self) -> None:
        with self.read() as txn:
            if txn.get(_FORMAT) != FORMAT:
                raise UnusableError(f"{self.path} has another format")
            if txn.get(_BOOT) != _boot_id():
                raise UnusableError(f"{self.path} is older than the machine's last start")
        pages = self._env.info()["last_pgno"] + 1
        if os.path.getsize(os.path.join(self.path, "data.mdb")) < pages * self._env.stat()["psize"]:
            raise UnusableError(f"{self.path} is cut off")

    def begin(self) -> Any:
        """A read transaction on the present content; to be passed to ``end``."""
        with self._changed:
            try:
                txn = self._env.begin()
            except self._resized:
                self._resize(0)  # as another process has done
                txn = self._env.begin()
            self._readers += 1
            return txn

    def end(self, txn: Any) -> None:
        """Close a transaction of ``begin``."""
        txn.abort()
        with self._changed:
            self._readers -= 1
            self._changed.notify_all()

    @contextmanager
    def read(self) -> Iterator[Any]:
        """A read transaction on the present content."""
        txn = self.begin()
        try:
            yield txn
        finally:
            self.end(txn)

    def explained(self, error: Exception) -> Exception:
        """The error to raise for an error of the store; if the disk is full, it names the folder and a way out."""
        for number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            if os.strerror(number) in str(error):
                return no_room(OSError(number, os.strerror(number)), self.path)
        if os.strerror(errno.EIO) in str(error):
            # LMDB reports EIO when the system wrote only a part, which happens when the disk is full.
            meaning = "the disk is full, or it fails: make room there, or choose another folder"
            text = f"{os.strerror(errno.EIO)} ({meaning})"
            return OSError(errno.EIO, text, self.path)
        return error

    def write(self) -> Any:
        """The only writing transaction; waits until another one has ended."""
        try:
            return self._env.begin(write=True)
        except self._resized:
            with self._changed:
                self._resize(0)
            return self._env.begin(write=True)

    def grow(self) -> None:
        """Double the memory map. To be called by the writer, outside of a transaction."""
        with self._changed:
            self._resize(2 * self._env.info()["map_size"])

    def _resize(self, size: int) -> None:
        if not self._changed.wait_for(lambda: not self._readers, GROW_SECONDS):
            raise TimeoutError(
                f"{self.path} has to grow, but another run of its task has been reading it for {GROW_SECONDS:.0f} s"
            )
        self._env.set_mapsize(size)

    def figures(self) -> Figures:
        """Its size now."""
        info, stat = self._env.info(), self._env.stat()
        return {
            MAP_BYTES: info["map_size"],
            USED_BYTES: (info["last_pgno"] + 1) * stat["psize"],
            ENTRIES: stat["entries"],
        }

    def forget_dead_readers(self) -> None:
        """Release the pages that killed processes were reading."""
        self._env.reader_check()

    def close(self) -> None:
        """Close the environment, before its files are deleted."""
        _open.pop(self.path, None)
        self._env.close()


def create_environment(path: str) -> Environment:
    """A new, empty environment in a directory that does not exist yet."""
    os.makedirs(path, mode=0o700)
    environment = _open[path] = Environment(path, create=True)
    return environment


def open_environment(path: str) -> Environment:
    """Open the environment in a directory. Raises ``UnusableError``, also if there is none."""
    environment = _open.get(path)
    if environment is None:
        environment = _open[path] = Environment(path, create=False)
    return environment


def entries(txn: Any, start: bytes) -> Iterator[tuple[bytes, bytes]]:
    """All (key, record) from ``start`` on, in order."""
    with txn.cursor() as cursor:
        if cursor.set_range(start):
            yield from cursor.iternext()


def _map_size(path: str) -> int:
    """The smallest power of two that has room for the content, in bytes."""
    try:
        size = os.path.getsize(os.path.join(path, "data.mdb"))
    except FileNotFoundError:
        size = 0
    return max(MAP_SIZE, 1 << size.bit_length())


def _boot_id() -> bytes:
    try:
        with open("/proc/sys/kernel/random/boot_id", "rb") as file:
            return file.read().strip()
    except OSError:
        return b""
