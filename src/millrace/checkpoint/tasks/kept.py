"""What a process has read of a checkpoint and its next task will want, too."""

from __future__ import annotations

from collections.abc import Callable, Hashable

__all__ = ["KeptBytes"]


class KeptBytes:
    """Bytes of one checkpoint at a time, up to a limit: what is more is read again by every task."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._of = ""
        self._known: dict[Hashable, bytes] = {}
        self._size = 0

    def get(self, checkpoint: str, name: Hashable, read: Callable[[], bytes]) -> bytes:
        """What was read under a name of a checkpoint, read now if it is not known."""
        if checkpoint != self._of:
            self._of, self._known, self._size = checkpoint, {}, 0
        content = self._known.get(name)
        if content is None:
            content = read()
            if self._size + len(content) <= self._limit:
                self._known[name] = content
                self._size += len(content)
        return content
