"""How the driver lets the epoch that runs end: a file beside the orders, at which tasks look between two pieces."""

from __future__ import annotations

import contextlib
from time import monotonic

from millrace.checkpoint.files.folder import Folder, LocalFolder
from millrace.checkpoint.tasks.storage import ORDERS

LOOK_SECONDS = 0.05


def _path(epoch: int) -> str:
    return f"{ORDERS}/{epoch}-finish"


class FinishMarks:
    """The driver's side. Where tasks find no file of the driver's, an epoch ends by its time alone.

    :param folder: one that all tasks reach; None: there is none.
    """

    def __init__(self, folder: Folder | None) -> None:
        self._folder = folder if isinstance(folder, LocalFolder) else None
        self._epoch: int | None = None
        self._written: list[str] = []

    def begin(self, epoch: int) -> None:
        """An epoch begins, and those before it are over."""
        self._epoch = None
        self._delete()
        self._epoch = epoch

    def finish(self) -> None:
        """Let the epoch that runs end, from any thread."""
        epoch = self._epoch
        if self._folder is not None and epoch is not None:
            path = _path(epoch)
            self._written.append(path)
            with contextlib.suppress(OSError):  # then it ends by its time
                self._folder.write(path, [b""])

    def close(self) -> None:
        """No epoch will run any more."""
        self._epoch = None
        self._delete()

    def _delete(self) -> None:
        while self._folder is not None and self._written:
            self._folder.delete(self._written.pop())


class Finishing:
    """A task's side: whether its epoch is to end now."""

    def __init__(self, folder: Folder, epoch: int) -> None:
        self._folder = folder if isinstance(folder, LocalFolder) else None
        self._path = _path(epoch)
        self._next_look = 0.0

    def __call__(self) -> bool:
        now = monotonic()
        if self._folder is None or now < self._next_look:
            return False
        self._next_look = now + LOOK_SECONDS
        return self._folder.size(self._path) is not None
