"""INSERT OVERWRITE: what was there goes when what is new is visible."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pyarrow import fs

from millrace.common.files.file_systems import Location
from millrace.connectors.file_system.listing import list_files
from millrace.connectors.file_system.part import PendingFile
from millrace.connectors.file_system.part_store import discard_file
from millrace.connectors.tables.filesystem.commits.committer import TableCommitter, Written, files_of


@dataclass(frozen=True)
class Replaced:
    """What a query replaces."""

    folders: tuple[str, ...] | None
    """below the table's path, "" for all of it; None: the partitions that the query gives rows for"""
    success_file: str
    """name of the file that says that a partition is complete"""


@dataclass
class OverwritingCommitter(TableCommitter):
    """First the new files are made visible, then the old ones are deleted: at no time, and after no failure, are there
    fewer rows than before or after."""

    replaced: Replaced = Replaced(None, "")

    def show(self, written: Sequence[Written], files: Sequence[PendingFile]) -> None:
        folders = self._folders([*files, *files_of(written)])
        file_system = self.base.file_system()
        for folder in folders:
            discard_file(file_system, f"{folder}/{self.replaced.success_file}")
        old = [path for folder in folders for path in _visible(Location(self.base.root, folder))]
        super().show(written, files)
        for path in old:
            discard_file(file_system, path)

    def _folders(self, files: Sequence[PendingFile]) -> list[str]:
        base = self.base.path.rstrip("/")
        if self.replaced.folders is not None:
            return [f"{base}/{folder}" if folder else base for folder in self.replaced.folders]
        return list(dict.fromkeys(file.target.rpartition("/")[0] for file in files))


def _visible(folder: Location) -> Iterator[str]:
    info = folder.file_system().get_file_info(folder.path)
    if info.type is not fs.FileType.Directory:
        return
    uri = folder.path
    if folder.root:
        uri = f"{folder.root.partition('://')[0]}://{folder.path}"
    for file in list_files(uri):
        yield file.path
