"""Collected elements on their way to the program: parts that the job has given and the program has not taken."""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable

AHEAD = 256
"""Parts that wait for a slow reader before the job waits too."""
_LOOK_SECONDS = 0.1


class CollectedParts:
    """A queue of pickled lists of values."""

    def __init__(self) -> None:
        self._parts: deque[bytes] = deque()
        self._changed = threading.Condition()

    def __bool__(self) -> bool:
        return bool(self._parts)

    @property
    def has_room(self) -> bool:
        """Whether the reader keeps up."""
        return len(self._parts) < AHEAD

    def add(self, part: bytes) -> None:
        """At once, room or not."""
        with self._changed:
            self._parts.append(part)
            self._changed.notify_all()

    def wait_for_room(self, given_up: Callable[[], bool]) -> None:
        """Until the reader keeps up, or there is nothing to wait for any more."""
        with self._changed:
            while not self.has_room and not given_up():
                self._changed.wait(_LOOK_SECONDS)

    def take(self, seconds: float) -> bytes:
        """:raises queue.Empty: none has come in that time."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._parts, seconds):
                raise queue.Empty
            part = self._parts.popleft()
            self._changed.notify_all()
            return part
