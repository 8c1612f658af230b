"""Opens LMDB environments: the only module that knows the ``lmdb`` package.

Nothing is synced to disk: what a restart of the machine leaves behind is thrown away and rebuilt from the files of the
checkpoint storage, so all that counts is that a killed process does no harm. LMDB sees to that.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any
from weakref import WeakValueDictionary

MAP_SIZE = 1 << (40 if sys.maxsize > 2**32 else 30)
"""Most bytes of an environment: addresses that are set aside, neither memory nor disk."""
READERS = 512
"""Worker processes that may read one environment."""

_FORMAT = b"\0\0format"
_BOOT = b"\0\0boot"
FORMAT = b"millrace-state-1"

_open: WeakValueDictionary[str, Environment] = WeakValueDictionary()
"""LMDB allows a file to be opened once in a process"""


class UnusableError(Exception):
    """The environment is damaged, of another format, or older than the machine's last start."""


class Environment:
    """One open environment; processes and copies of a task share it."""

    def __init__(self, path: str, create: bool) -> None:
        import lmdb

        self.path = path
        self.failure: type[Exception] = lmdb.Error
        try:
            self._env = lmdb.open(
                path,
                map_size=MAP_SIZE,
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
        with self._env.begin() as txn:
            if txn.get(_FORMAT) != FORMAT:
                raise UnusableError(f"{self.path} has another format")
            if txn.get(_BOOT) != _boot_id():
                raise UnusableError(f"{self.path} is older than the machine's last start")
        pages = self._env.info()["last_pgno"] + 1
        if os.path.getsize(os.path.join(self.path, "data.mdb")) < pages * self._env.stat()["psize"]:
            raise UnusableError(f"{self.path} is cut off")

    def read(self) -> Any:
        """A transaction that sees the content of this moment."""
        return self._env.begin()

    def write(self) -> Any:
        """The only writing transaction; waits for another one."""
        return self._env.begin(write=True)

    def forget_dead_readers(self) -> None:
        """Pages that killed processes were reading can be used again."""
        self._env.reader_check()

    def close(self) -> None:
        """To be called before the files are deleted."""
        _open.pop(self.path, None)
        self._env.close()


def create_environment(path: str) -> Environment:
    """A new, empty environment in a directory that does not exist yet."""
    os.makedirs(path, mode=0o700)
    environment = _open[path] = Environment(path, create=True)
    return environment


def open_environment(path: str) -> Environment:
    """The environment in a directory. Raises ``UnusableError``, also if there is none."""
    environment = _open.get(path)
    if environment is None:
        environment = _open[path] = Environment(path, create=False)
    return environment


def entries(txn: Any, start: bytes) -> Iterator[tuple[bytes, bytes]]:
    """All (key, record) from ``start`` on, in order."""
    with txn.cursor() as cursor:
        if cursor.set_range(start):
            yield from cursor.iternext()


def _boot_id() -> bytes:
    try:
        with open("/proc/sys/kernel/random/boot_id", "rb") as file:
            return file.read().strip()
    except OSError:
        return b""
