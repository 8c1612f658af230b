"""Small files of one epoch and folder put together before they become visible."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

from millrace.common.files.file_systems import open_file_system
from millrace.connectors.file_system.committer import FileCommitter
from millrace.connectors.file_system.part import PendingFile
from millrace.connectors.file_system.part_store import discard_file, is_file
from millrace.connectors.tables.filesystem.formats.base import FileTableFormat

SizedFile = tuple[PendingFile, int]
"""(hidden file, its bytes)"""


@dataclass(frozen=True)
class Compaction:
    """Puts files together up to a size, on the driver.

    May be called again with the same files, after a failure at any place: which files go together depends on nothing
    but their names and sizes, and once what they have become is visible only the parts are left to be deleted.
    """

    format: FileTableFormat
    size: int
    """bytes"""

    def commit(self, files: Sequence[SizedFile], committer: FileCommitter) -> None:
        """Make the rows of one epoch's files visible."""
        by_folder: dict[str, list[SizedFile]] = {}
        for file in sorted(files, key=lambda file: file[0].target):
            by_folder.setdefault(file[0].target.rpartition("/")[0], []).append(file)
        for group in by_folder.values():
            for together in self._bins(group):
                if len(together) == 1:
                    committer.commit(together)
                else:
                    self._commit_together(together, committer)

    def _bins(self, files: Sequence[SizedFile]) -> Iterator[list[PendingFile]]:
        gathered: list[PendingFile] = []
        total = 0
        for file, size in files:
            if gathered and total + size > self.size:
                yield gathered
                gathered, total = [], 0
            gathered.append(file)
            total += size
        if gathered:
            yield gathered

    def _commit_together(self, parts: Sequence[PendingFile], committer: FileCommitter) -> None:
        whole = _compacted(parts[0])
        file_system = open_file_system(whole.root)[0]
        if not is_file(file_system, whole.target):
            if all(is_file(file_system, part.in_progress) for part in parts):
                with ExitStack() as opened:
                    sources = [opened.enter_context(file_system.open_input_file(part.in_progress)) for part in parts]
                    target = opened.enter_context(file_system.open_output_stream(whole.in_progress))
                    self.format.merge(sources, target)
            committer.commit([whole])
        for part in parts:
            discard_file(file_system, part.in_progress)


def _compacted(first: PendingFile) -> PendingFile:
    """What parts become: named after the first one, and hidden as it is as long as it is written."""
    directory, _, name = first.target.rpartition("/")
    hidden = first.in_progress.rpartition("/")[2]
    return replace(
        first,
        target=f"{directory}/compacted-{name}",
        in_progress=f"{directory}/{hidden.replace(name, f'compacted-{name}', 1)}",
        kept=0,
        replaces=(),
    )
