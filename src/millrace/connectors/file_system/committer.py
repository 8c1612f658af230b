"""``FileCommitter``: makes finished files visible by renaming them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyarrow import fs

from millrace.common.file_systems import open_file_system
from millrace.common.sink import Committer
from millrace.connectors.file_system.part import PendingFile, discard_file

__all__ = ["FileCommitter"]


class FileCommitter(Committer[PendingFile]):
    """Renames hidden files to their final names; doing so again changes nothing."""

    def commit(self, committables: Sequence[PendingFile]) -> None:
        """:raises FileNotFoundError: if neither the hidden nor the final file exists."""
        for pending in committables:
            file_system = open_file_system(pending.root)[0]
            if _exists(file_system, pending.in_progress):
                file_system.move(pending.in_progress, pending.target)
            elif not _exists(file_system, pending.target):
                raise FileNotFoundError(
                    f"FileSink can't commit {pending.target}: it does not exist, and neither does the file to be "
                    f"renamed, {pending.in_progress}"
                )

    def abort(self, committables: Sequence[PendingFile]) -> None:
        """Delete the files of an epoch that counts for nothing; a file begun in an earlier epoch stays for the replay,
        which cuts it back to its valid length."""
        for pending in committables:
            if not pending.kept:
                discard_file(open_file_system(pending.root)[0], pending.in_progress)


def _exists(file_system: Any, path: str) -> bool:
    return bool(file_system.get_file_info(path).type == fs.FileType.File)
