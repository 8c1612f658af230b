"""``FileCommitter``: makes finished files visible by renaming them."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pyarrow import fs

from millrace.common.file_systems import Location, is_local, open_file_system
from millrace.common.sink import Committer
from millrace.connectors.file_system.hidden import is_of, other_target
from millrace.connectors.file_system.part import PartState, PendingFile, discard_file, is_file
from millrace.connectors.owner import owner_of

if TYPE_CHECKING:
    from millrace.connectors.file_system.writer import WriterState

__all__ = ["FileCommitter"]

logger = logging.getLogger(__name__)


class FileCommitter(Committer[PendingFile]):
    """Renames hidden files to their final names; doing so again changes nothing."""

    def __init__(self, base: Location, uid: str) -> None:
        self._base = base
        self._uid = uid
        self._recovered: frozenset[str] = frozenset()
        self._owners: set[str] = set()
        """jobs of which nothing runs but what this driver runs"""

    def commit(self, committables: Sequence[PendingFile]) -> None:
        """:raises FileNotFoundError: if a file is gone that nobody can have renamed before."""
        for pending in committables:
            file_system = open_file_system(pending.root)[0]
            if is_file(file_system, pending.in_progress):
                file_system.move(pending.in_progress, _free_target(file_system, pending))
            elif not is_file(file_system, pending.target):
                if pending.in_progress not in self._recovered:
                    raise FileNotFoundError(
                        f"FileSink can't commit {pending.target}: it does not exist, and neither does the file to be "
                        f"renamed, {pending.in_progress}"
                    )
                # Finished before the recovery, and since then taken away by whoever reads the finished files.
                logger.warning("FileSink: %s was finished before the recovery; it is gone", pending.target)
            for old in pending.replaces:
                if any(is_of(owner, old) for owner in self._owners):
                    discard_file(file_system, old)

    def abort(self, committables: Sequence[PendingFile]) -> None:
        """Delete the files of an epoch that counts for nothing; a file begun in an earlier epoch stays for the replay,
        which cuts it back to its valid length."""
        for pending in committables:
            if not pending.kept:
                discard_file(open_file_system(pending.root)[0], pending.in_progress)

    def recover(self, job_id: str, committables: Sequence[PendingFile], states: Sequence[WriterState]) -> None:
        """Delete the hidden files of this job and sink that neither wait for their commit nor are gone on with."""
        self._recovered = frozenset(pending.in_progress for pending in committables)
        owner = owner_of(job_id, self._uid)
        self._owners.add(owner)
        counting: list[PendingFile | PartState] = [*committables, *(part for state in states for part in state.parts)]
        # Names without directories: they are unique, and file systems write paths in their own ways.
        keep = {_name(path) for file in counting for path in (file.in_progress, *file.replaces)}
        for path in _files(self._base):
            if is_of(owner, path) and _name(path) not in keep:
                discard_file(self._base.file_system(), path)


def _free_target(file_system: Any, pending: PendingFile) -> str:
    """Where to move the part. Two jobs that began with the same savepoint may both have gone on with it."""
    # Elsewhere a move may have come half its way before, so what is there is this very part.
    if is_local(file_system) and is_file(file_system, pending.target):
        return other_target(pending.target, pending.in_progress)
    return pending.target


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _files(base: Location) -> Iterator[str]:
    """The files in the buckets."""
    file_system = base.file_system()
    if is_local(file_system):  # without asking for the size of each
        for directory, _, names in os.walk(base.path):
            yield from (f"{directory}/{name}" for name in names)
    else:
        selector = fs.FileSelector(base.path, allow_not_found=True, recursive=True)
        yield from (info.path for info in file_system.get_file_info(selector) if info.type is fs.FileType.File)
