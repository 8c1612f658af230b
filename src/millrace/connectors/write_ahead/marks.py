"""``Marks``: empty files that tell which batches the store has."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field

from millrace.connectors.owner import epoch_of_name
from millrace.connectors.write_ahead.folder import LogFolder

__all__ = ["Marks"]

SENT = ".sent"
_BELOW = "below-"


@dataclass
class _Owner:
    """What is marked of one sink of one job."""

    sent: dict[str, str] = field(default_factory=dict)
    """batch -> file"""
    below: int = 0
    """every batch of an earlier epoch is sent"""
    below_file: str = ""


class Marks:
    """``<owner>/<batch>.<ms>.sent``: one small file for each batch of the newest epoch, and ``below-<epoch>.<ms>.sent``
    for all before. Read once in the life of a driver."""

    def __init__(self, folder: LogFolder, keep_ms: int) -> None:
        self._folder = folder
        self._keep_ms = keep_ms
        self._owners: dict[str, _Owner] = {}

    def has(self, batch: str) -> bool:
        owner = self._of(_owner(batch))
        return batch in owner.sent or epoch_of_name(batch) < owner.below

    def add(self, batch: str) -> None:
        owner = self._of(_owner(batch))
        owner.sent[batch] = self._write(_owner(batch), batch)

    def collapse(self, batches: Iterable[str]) -> None:
        """All these are sent, and they are all that waited, in the order of their epochs: marks of epochs before the
        newest one become one. Numbers of epochs are never used twice, so none of them can wait again."""
        newest: dict[str, int] = {}
        for batch in batches:
            newest[_owner(batch)] = max(newest.get(_owner(batch), 0), epoch_of_name(batch))
        for name, epoch in newest.items():
            owner = self._of(name)
            if epoch > owner.below:
                self._collapse(name, owner, epoch)

    def _collapse(self, name: str, owner: _Owner, epoch: int) -> None:
        old = [batch for batch in owner.sent if epoch_of_name(batch) < epoch]
        if not old:
            return
        folder, former = self._folder.child(name), owner.below_file
        owner.below, owner.below_file = epoch, self._write(name, f"{_BELOW}{epoch}")
        for file in (former, *(owner.sent.pop(batch) for batch in old)):
            if file:
                folder.delete(file)

    def _write(self, owner: str, mark: str) -> str:
        file = f"{mark}.{int(time.time() * 1000)}{SENT}"
        self._folder.child(owner).create(file).close()
        return file

    def _of(self, owner: str) -> _Owner:
        if owner not in self._owners:
            self._owners[owner] = self._read(self._folder.child(owner))
        return self._owners[owner]

    def _read(self, folder: LogFolder) -> _Owner:
        """What is marked; marks that are too old are deleted."""
        found = _Owner()
        oldest = int(time.time() * 1000) - self._keep_ms
        for name in folder.names():
            if not name.endswith(SENT):
                continue
            mark, _, sent_at = name[: -len(SENT)].rpartition(".")
            if int(sent_at) < oldest:
                folder.delete(name)
            elif not mark.startswith(_BELOW):
                found.sent[mark] = name
            elif int(mark[len(_BELOW) :]) > found.below:
                found.below, found.below_file = int(mark[len(_BELOW) :]), name
        return found


def _owner(batch: str) -> str:
    return batch.partition("-")[0]
