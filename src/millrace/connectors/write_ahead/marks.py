"""``Marks``: empty files that tell which batches the store has."""

from __future__ import annotations

import time

from millrace.connectors.write_ahead.folder import LogFolder

__all__ = ["Marks"]

SENT = ".sent"


class Marks:
    """``<owner>/<batch>.<ms>.sent``: one small file per batch, read once in the life of a driver."""

    def __init__(self, folder: LogFolder, keep_ms: int) -> None:
        self._folder = folder
        self._keep_ms = keep_ms
        self._sent: dict[str, set[str]] = {}
        """owner -> names of its batches"""

    def has(self, batch: str) -> bool:
        return batch in self._of(_owner(batch))

    def add(self, batch: str) -> None:
        now = int(time.time() * 1000)
        self._folder.child(_owner(batch)).create(f"{batch}.{now}{SENT}").close()
        self._of(_owner(batch)).add(batch)

    def _of(self, owner: str) -> set[str]:
        if owner not in self._sent:
            self._sent[owner] = self._read(self._folder.child(owner))
        return self._sent[owner]

    def _read(self, folder: LogFolder) -> set[str]:
        """What is marked; marks that are too old are deleted."""
        found: set[str] = set()
        oldest = int(time.time() * 1000) - self._keep_ms
        for name in folder.names():
            if name.endswith(SENT):
                batch, _, sent_at = name[: -len(SENT)].rpartition(".")
                if int(sent_at) < oldest:
                    folder.delete(name)
                else:
                    found.add(batch)
        return found


def _owner(batch: str) -> str:
    return batch.partition("-")[0]
