"""The lock between a source function's ``run`` and the end of an epoch."""

from __future__ import annotations

import threading
from collections.abc import Callable

from millrace.util.threads import Cancelled

WAIT_SECONDS = 0.02


class CheckpointLock:
    """For ``with``, by the threads of ``run``, also nested. Once it is closed, entering it raises ``Cancelled``.

    The task takes it at the end of an epoch and gives it back when the state is written.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._owner: int | None = None
        """the thread that is inside"""
        self._depth = 0
        self._wanted = False
        """the task has it, or is to get it next: else a loop around the lock would get it again and again"""
        self.closed = False

    def __enter__(self) -> None:
        me = threading.get_ident()
        with self._changed:
            if self._owner != me:
                while (self._wanted or self._owner is not None) and not self.closed:
                    self._changed.wait()
            if self.closed:
                raise Cancelled
            self._owner = me
            self._depth += 1

    def __exit__(self, *exc: object) -> None:
        with self._changed:
            self._depth -= 1
            if not self._depth:
                self._owner = None
                self._changed.notify_all()

    def take(self, meanwhile: Callable[[], object]) -> None:
        """Wait until no thread is inside, calling ``meanwhile`` from time to time; none will be until ``give_back``."""
        with self._changed:
            self._wanted = True
        while not self._is_free(WAIT_SECONDS):
            meanwhile()

    def _is_free(self, seconds: float) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: self._owner is None, seconds)

    def give_back(self) -> None:
        """Nothing happens if it was not taken."""
        with self._changed:
            self._wanted = False
            self._changed.notify_all()

    def close(self) -> None:
        """No thread gets in any more; one that is inside may come again before it leaves, or not."""
        with self._changed:
            self.closed = True
            self._changed.notify_all()
