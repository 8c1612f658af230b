"""``FileCommitter``: makes finished files visible by renaming them."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from millrace.common.files.file_systems import Location
from millrace.common.sink import Committer
from millrace.connectors.file_system.hidden import epoch_of, is_of, other_target, owner_in
from millrace.connectors.file_system.part import PartState, PendingFile
from millrace.connectors.file_system.part_store import part_store
from millrace.connectors.owner import owner_of

if TYPE_CHECKING:
    from millrace.connectors.file_system.writer import WriterState

__all__ = ["FileCommitter"]

logger = logging.getLogger(__name__)

AT_ONCE = 16
"""Files that are renamed at the same time: on object stores and shared disks each is a conversation."""


class FileCommitter(Committer[PendingFile]):
    """Renames hidden files to their final names; doing so again changes nothing."""

    def __init__(self, base: Location, uid: str) -> None:
        self._base = base
        self._uid = uid
        self._recovered: frozenset[str] = frozenset()
        self._owners: set[str] = set()
        """jobs of which nothing runs but what this driver runs"""

    def commit(self, committables: Sequence[PendingFile]) -> None:
        """See ``show``."""
        self.show(committables)

    def show(self, committables: Sequence[PendingFile]) -> None:
        """Make files visible, as they are.

        :raises FileNotFoundError: if a file is gone that cannot have been renamed before.
        """
        # Files with the same target one after the other: each looks whether the name is still free.
        by_target: dict[tuple[str, str], list[PendingFile]] = {}
        for pending in committables:
            by_target.setdefault((pending.root, pending.target), []).append(pending)
        groups = list(by_target.values())
        if len(groups) <= AT_ONCE:
            for group in groups:
                self._commit(group)
            return
        with ThreadPoolExecutor(AT_ONCE, "millrace-commit") as pool:
            done = [pool.submit(self._commit, group) for group in groups]
        for each in done:
            each.result()  # raises the first error; what else could be renamed is

    def _commit(self, group: Iterable[PendingFile]) -> None:
        for pending in group:
            store = part_store(pending.root)
            if store.size(pending.in_progress) is not None:
                target = store.free_target(pending.target, other_target(pending.target, pending.in_progress))
                store.move(pending.in_progress, target)
            elif store.size(pending.target) is None:
                if pending.in_progress not in self._recovered:
                    raise FileNotFoundError(
                        f"FileSink can't commit {pending.target}: it does not exist, and neither does the file to be "
                        f"renamed, {pending.in_progress}"
                    )
                # Finished before the recovery, and since then taken away by whoever reads the finished files.
                logger.warning("FileSink: %s was finished before the recovery; it is gone", pending.target)
            self.discard_replaced(pending)

    def discard_replaced(self, pending: PendingFile) -> None:
        """A file is visible: delete those from which it was copied."""
        ours = {owner_in(pending.in_progress), *self._owners}
        for old in pending.replaces:
            if owner_in(old) in ours:
                part_store(pending.root).delete(old)

    def abort(self, committables: Sequence[PendingFile]) -> None:
        """Delete the files of an epoch that counts for nothing; a file begun in an earlier epoch stays, since what goes
        on is a copy of it."""
        for pending in committables:
            if not pending.kept:
                part_store(pending.root).delete(pending.in_progress)

    def recover(self, job_id: str, committables: Sequence[PendingFile], states: Sequence[WriterState]) -> None:
        """Delete the hidden files of this job and sink that neither wait for their commit nor are gone on with."""
        self._recovered = frozenset(pending.in_progress for pending in committables)
        self._delete_others(job_id, committables, states, None)

    def sweep(
        self, job_id: str, epoch: int, committables: Sequence[PendingFile], states: Sequence[WriterState]
    ) -> None:
        self._delete_others(job_id, committables, states, epoch)

    def _delete_others(
        self, job_id: str, committables: Sequence[PendingFile], states: Sequence[WriterState], last: int | None
    ) -> None:
        """:param last: files of later epochs stay; None: no epoch is later."""
        owner = owner_of(job_id, self._uid)
        self._owners.add(owner)
        counting: list[PendingFile | PartState] = [*committables, *(part for state in states for part in state.parts)]
        # Names without directories: they are unique, and file systems write paths in their own ways.
        keep = {_name(path) for file in counting for path in (file.in_progress, *file.replaces)}
        store = part_store(self._base.root)
        for path in store.files(self._base.path):
            if is_of(owner, path) and _name(path) not in keep and (last is None or epoch_of(path) <= last):
                store.delete(path)


def _name(path: str) -> str:
    return path.rpartition("/")[2]
