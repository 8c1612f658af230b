"""DELETE, UPDATE and TRUNCATE of a table of files."""

from __future__ import annotations

from collections.abc import Callable

from pyarrow import fs

from millrace.common.files.file_systems import Location, locate
from millrace.common.types import RowKind
from millrace.connectors.file_system.part_store import discard_file
from millrace.connectors.tables.filesystem.commits.overwrite import visible_files
from millrace.connectors.tables.filesystem.sink import FileSystemSink
from millrace.relational.sources import INSERT_ONLY, TableChanger, TableContext, TableSink
from millrace.util.exceptions import TableException


class FileSystemChanger(TableChanger):
    """Files are never changed: those of the rows that stay, and of changed rows, take the place of all files."""

    def __init__(self, table: TableContext, kinds: frozenset[RowKind], sink: Callable[[], FileSystemSink]) -> None:
        if kinds != INSERT_ONLY:
            raise TableException(
                f"table {table.summary}: its files are a changelog (format {table.options.get('format')}): write the "
                f"changes with INSERT INTO"
            )
        base = locate(table.options["path"])
        self._base = Location(base.root, base.path.rstrip("/"))
        self._sink = sink
        if self._base.file_system().get_file_info(self._base.path).type is not fs.FileType.Directory:
            raise TableException(
                f"table {table.summary}: its path is no folder, and only the files of a folder can be replaced"
            )

    def truncate(self) -> None:
        for path in list(visible_files(self._base)):
            discard_file(self._base.file_system(), path)

    def rewriting(self) -> TableSink:
        return self._sink().rewriting(tuple(visible_files(self._base)))
