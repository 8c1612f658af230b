"""``filesystem``: tables of files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from millrace.common.files.file_systems import absolute
from millrace.connectors.lookup import reload
from millrace.connectors.lookup.full import FullLookup
from millrace.connectors.tables.filesystem.changer import FileSystemChanger
from millrace.connectors.tables.filesystem.formats.by_name import has_header, known_formats, table_format
from millrace.connectors.tables.filesystem.formats.messages import MessageTableFormat
from millrace.connectors.tables.filesystem.layout import options as names
from millrace.connectors.tables.filesystem.layout.columns import Layout
from millrace.connectors.tables.filesystem.layout.options import TableOptions
from millrace.connectors.tables.filesystem.layout.partitions import DEFAULT_NAME, check_partition_types
from millrace.connectors.tables.filesystem.sink import FileSystemSink
from millrace.connectors.tables.filesystem.source import FileSystemSource
from millrace.formats.tables.dead_letters import DEAD_LETTERS
from millrace.relational.sources import (
    INSERT_ONLY,
    Inferred,
    LookupTableSource,
    TableChanger,
    TableContext,
    TableFactory,
    TableSink,
    TableSource,
)
from millrace.util.exceptions import TableException

_ZONE = "table.local-time-zone"


class FileSystemFactory(TableFactory):
    """``'path'``: a file, a folder, a glob (to be read) or a URI; ``'format'``: parquet, orc, avro, csv, json, raw, or
    a format of changelogs, of which each line is a message. Options have the names and meanings that Flink has."""

    identifier = "filesystem"
    required = ("path", "format")

    @property
    def optional(self) -> tuple[str, ...]:  # type: ignore[override]
        formats = (f"{name}." for name in known_formats())
        return (*names.COMMON, *names.SOURCE, *names.SINK, *names.COMMIT, *reload.OPTIONS, *formats)

    def inferred(self, options: Mapping[str, str], table: str) -> Inferred:
        from millrace.connectors.tables.filesystem.inference.files import inferred

        return inferred(options, table)

    def source(self, table: TableContext) -> TableSource:
        layout = self._layout(table)
        options = TableOptions(table)
        options.one_of("source.report-statistics", "all", ("all", "none"))
        format = table_format(table, layout)
        if isinstance(format, MessageTableFormat):
            format = format.for_reading()
        _check_dead_letters(table)
        monitor = options.millis("source.monitor-interval", None)
        if monitor is not None and monitor <= 0:
            raise options.problem("source.monitor-interval", "is more than 0")
        return FileSystemSource(
            table.options["path"],
            layout,
            format,
            table.options.get("partition.default-name", DEFAULT_NAME),
            monitor,
            options.text("source.path.regex-pattern"),
            table.configuration.get(_ZONE, "UTC"),
        )

    def looks_up(self, table: TableContext) -> bool:
        """Not if more files are expected, or have changes: joins then take the newest row of each key."""
        return "source.monitor-interval" not in table.options and self.source(table).kinds == INSERT_ONLY

    def lookup_source(self, table: TableContext, key: Sequence[int]) -> LookupTableSource:
        options = TableOptions(table)
        options.one_of("lookup.cache", "full", ("full",))
        return FullLookup(self.source(table), table, key, reload.Reload.of(options))

    def sink(self, table: TableContext) -> TableSink:
        if has_header(table.options):
            raise TableException(
                f"table {table.summary}: files with 'csv.header' are read only; write into a table without it"
            )
        return FileSystemSink.of(table, self._layout(table))

    def changer(self, table: TableContext) -> TableChanger:
        return FileSystemChanger(table, self.source(table).kinds, lambda: FileSystemSink.of(table, self._layout(table)))

    @staticmethod
    def _layout(table: TableContext) -> Layout:
        layout = Layout.of(table)
        check_partition_types(layout.partition_columns, table.summary)
        if not layout.in_files:
            raise TableException(f"table {table.summary}: all columns are partition columns: files would have none")
        return layout


def _check_dead_letters(table: TableContext) -> None:
    """:raises TableException: what cannot be read would be read again."""
    folder, path = table.options.get(DEAD_LETTERS), absolute(table.options["path"])
    if folder is not None and (absolute(folder) + "/").startswith(path.rstrip("/") + "/"):
        raise TableException(f"table {table.summary}: '{DEAD_LETTERS}' lies in the table's own folder: {folder}")
