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
    files: tuple[str, ...] | None = None
    """what the new files were made of: nothing happens if there are others by now"""


@dataclass
class OverwritingCommitter(TableCommitter):
    """First the new files are made visible, then the old ones are deleted: at no time, and after no failure, are there
    fewer rows than before or after."""

    replaced: Replaced = Replaced(None, "")

    def show(self, written: Sequence[Written], files: Sequence[PendingFile]) -> None:
        folders = self._folders([*files, *files_of(written)])
        file_system = self.base.file_system()
        old = [path for folder in folders for path in visible_files(Location(self.base.root, folder))]
        made_of = self.replaced.files
        if made_of is not None and sorted(old) != sorted(made_of):
            raise RuntimeError(
                f"{self.base.path}: files came or went while the table was written anew; nothing was changed: run the "
                f"statement again"
            )
        for folder in folders:
            discard_file(file_system, f"{folder}/{self.replaced.success_file}")
        super().show(written, files)
        for path in old:
            discard_file(file_system, path)

    def _folders(self, files: Sequence[PendingFile]) -> list[str]:
        base = self.base.path.rstrip("/")
        if self.replaced.folders is not None:
            return [f"{base}/{folder}" if folder else base for folder in self.replaced.folders]
        return list(dict.fromkeys(file.target.rpartition("/")[0] for file in files))


def visible_files(folder: Location) -> Iterator[str]:
    """Paths of the files in a folder and those below it that readers see."""
    info = folder.file_system().get_file_info(folder.path)
    if info.type is not fs.FileType.Directory:
        return
    uri = folder.path
    if folder.root:
        uri = f"{folder.root.partition('://')[0]}://{folder.path}"
    for file in list_files(uri):
        yield file.path
