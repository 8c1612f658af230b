"""The directory of one task on this machine, which all worker processes share."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress

LOCK_SECONDS = 60.0
"""How long to wait for another process that writes the same task's state (s)."""
_POLL_SECONDS = 0.01


class TaskDirectory:
    def __init__(self, folder: str) -> None:
        self.folder = folder

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Exclude other processes from changing the directory. Raises ``TimeoutError``."""
        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        handle = os.open(os.path.join(self.folder, "lock"), os.O_CREAT | os.O_RDWR, 0o600)
        try:
            _lock(handle, self.folder)
            yield
        finally:
            os.close(handle)

    def new(self) -> str:
        """The path of an environment that does not exist yet."""
        return os.path.join(self.folder, f"{os.getpid()}-{uuid.uuid4().hex[:12]}")

    def rows_folder(self, uid: str, state: str) -> str:
        """The folder for the rows of an operator's state in columns."""
        name = hashlib.sha256(f"{uid}\0{state}".encode()).hexdigest()[:16]
        return os.path.join(self.folder, "rows", name)

    def current(self) -> str | None:
        """The path of the published environment; None: there is none."""
        try:
            with open(os.path.join(self.folder, "current")) as file:
                return os.path.join(self.folder, file.read())
        except FileNotFoundError:
            return None

    def publish(self, path: str) -> None:
        """Make a complete environment the published one. Needs the lock."""
        before = self.current()
        pointer = os.path.join(self.folder, "current")
        with open(f"{pointer}.new", "w") as file:
            file.write(os.path.basename(path))
        os.replace(f"{pointer}.new", pointer)
        if before is not None:
            delete(before)
        self._delete_left_over(os.path.basename(path))

    def withdraw(self, path: str) -> None:
        """Delete an environment that can't be used any more. Needs the lock."""
        if self.current() == path:
            with suppress(FileNotFoundError):
                os.unlink(os.path.join(self.folder, "current"))
        delete(path)

    def _delete_left_over(self, current: str) -> None:
        """Delete unpublished environments of killed processes."""
        for name in os.listdir(self.folder):
            process, dash, _ = name.partition("-")
            if dash and name != current and not _is_alive(int(process)):
                delete(os.path.join(self.folder, name))


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def delete(path: str) -> None:
    """Delete a directory; processes that have its files open may go on reading them."""
    shutil.rmtree(path, ignore_errors=True)


def _lock(handle: int, folder: str) -> None:
    deadline = time.monotonic() + LOCK_SECONDS
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise TimeoutError(
                    f"another process has been writing the state in {folder} for {LOCK_SECONDS:.0f} s: is a worker of "
                    f"an earlier attempt stuck? Stop it, or delete the directory: it will be rebuilt"
                ) from None
            time.sleep(_POLL_SECONDS)
