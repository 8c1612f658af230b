"""``older-filesystem``: CSV files of tables declared as up to Flink 1.10 (``connector.type`` = ``filesystem``).

Tables get this connector by their older options only (``table.sessions.legacy_properties``). The sink writes one file,
at the path.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

from millrace.common.sink import Sink, SinkWriter, SinkWriterContext, WriterInitContext
from millrace.connectors.file_system.table.filesystem_source import FileSystemSource
from millrace.connectors.file_system.table.line_formats import MessageLines, MessageTableFormat
from millrace.connectors.file_system.table.table_layout import DEFAULT_NAME, Layout
from millrace.formats.tables.csv_format import FIRST_LINE, OlderCsvFactory
from millrace.formats.tables.format_options import format_options
from millrace.relational.rows import Rows
from millrace.relational.sources import FormatContext, TableContext, TableFactory, TableSink, TableSource
from millrace.util.exceptions import TableException

_MODE = "csv.write-mode"
_OVERWRITE, _KEEP = "OVERWRITE", "NO_OVERWRITE"
_FILES = "csv.num-files"


class OlderFileSystemFactory(TableFactory):
    """``'path'``, ``'format'`` = ``csv`` and its options."""

    identifier = "older-filesystem"
    required = ("path", "format")
    optional = ("csv.",)

    def source(self, table: TableContext) -> TableSource:
        layout, format = _format(table)
        return FileSystemSource(
            table.options["path"],
            layout,
            format.for_reading(),
            DEFAULT_NAME,
            None,
            None,
            table.configuration.get("table.local-time-zone", "UTC"),
        )

    def sink(self, table: TableContext) -> TableSink:
        return OneFileSink(table)


def _format(table: TableContext) -> tuple[Layout, MessageTableFormat]:
    layout, factory = Layout.of(table), OlderCsvFactory()
    given = {name: value for name, value in table.options.items() if name not in (_MODE, _FILES)}
    options = format_options(factory, "csv", given, table.summary)
    context = FormatContext(table.summary, layout.in_files, options, (), dict(table.configuration))
    headless = options.get(FIRST_LINE, "false").lower() == "true"
    return layout, MessageTableFormat(factory, context, False, MessageLines(headless=headless))


class OneFileSink(TableSink):
    """Appends to one file; goes on at the place that the last checkpoint knows."""

    parallelism = 1

    def __init__(self, table: TableContext) -> None:
        self._table = table
        self._path = _local(table)
        self._overwrites = table.options.get(_MODE, _KEEP).upper() == _OVERWRITE
        if self._path.exists() and not self._overwrites:
            # Looked at again when the job begins; here the program sees it at once.
            raise TableException(_there(table.summary, self._path))

    def stream(self) -> Sink[Rows]:
        _, format = _format(self._table)
        return _OneFileAppender(format, self._path, self._overwrites, self._table.summary)


def _local(table: TableContext) -> Path:
    parts = urlsplit(table.options["path"])
    if parts.scheme not in ("", "file"):
        raise TableException(
            f"table {table.summary}: 'connector.type' = 'filesystem' writes local files only, not {parts.scheme}://; "
            "today's 'connector' = 'filesystem' writes there"
        )
    return Path(unquote(parts.path) if parts.scheme else table.options["path"])


def _there(table: str, path: Path) -> str:
    return f"table {table}: there is a file {path} already, and 'format.write-mode' is not 'OVERWRITE'"


class _OneFileAppender(Sink[Rows]):
    def __init__(self, format: MessageTableFormat, path: Path, overwrites: bool, table: str) -> None:
        self._format, self._path, self._overwrites, self._table = format, path, overwrites, table

    def create_writer(self, context: WriterInitContext) -> SinkWriter[Rows]:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._path.open("wb" if self._overwrites else "xb").close()
        except FileExistsError:
            raise TableException(_there(self._table, self._path)) from None
        return _OneFileWriter(self._format, self._path, 0)

    def restore_writer(self, context: WriterInitContext, states: Sequence[int]) -> SinkWriter[Rows]:
        if not states:
            return self.create_writer(context)
        return _OneFileWriter(self._format, self._path, max(states))


class _OneFileWriter(SinkWriter[Rows]):
    """:param length: what of the file counts; what is behind it is of an epoch that failed."""

    def __init__(self, format: MessageTableFormat, path: Path, length: int) -> None:
        self._format = format
        self._file = path.open("r+b")
        self._file.truncate(length)
        self._file.seek(length)

    def write(self, element: Rows, context: SinkWriterContext) -> None:
        self._file.write(self._format.encode(element))

    def flush(self, end_of_input: bool) -> None:
        self._file.flush()
        os.fsync(self._file.fileno())

    def snapshot_state(self, checkpoint_id: int) -> list[int]:
        return [self._file.tell()]

    def close(self) -> None:
        self._file.close()
