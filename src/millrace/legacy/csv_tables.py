"""``CsvTableSource`` and ``CsvTableSink``: deprecated objects that describe tables of CSV files."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

from millrace.legacy.warning import tell
from millrace.relational.types import DataType
from millrace.table.catalogs.descriptors import FormatDescriptor, TableDescriptor
from millrace.table.catalogs.objects import Schema
from millrace.table.values.program_errors import problem

__all__ = ["CsvTableSink", "CsvTableSource", "TableSink", "TableSource", "WriteMode"]


class WriteMode(IntEnum):
    """Whether a sink overwrites existing files."""

    NO_OVERWRITE = 0
    OVERWRITE = 1


class FileTable:
    """A table of files with columns and options."""

    def __init__(
        self, names: Sequence[str], types: Sequence[DataType], path: str, options: dict[str, str | None]
    ) -> None:
        if len(names) != len(types):
            raise problem(f"{type(self).__name__} has {len(names)} names of columns and {len(types)} types")
        self.names, self.types, self.path = list(names), list(types), path
        self._options = {key: value for key, value in options.items() if value is not None}

    def descriptor(self) -> TableDescriptor:
        """The table in today's form."""
        file_format = FormatDescriptor.for_format("csv")
        for key, value in self._options.items():
            file_format.option(key, value)
        schema = Schema.new_builder().from_fields(self.names, self.types).build()
        builder = TableDescriptor.for_connector("filesystem").schema(schema).option("path", self.path)
        return builder.format(file_format.build()).build()


class TableSource(FileTable):
    """A table that is read."""


class TableSink(FileTable):
    """A table that is written."""


class CsvTableSource(TableSource):
    """A table of CSV files that is read."""

    def __init__(
        self,
        source_path: str,
        field_names: list[str],
        field_types: list[DataType],
        field_delim: str | None = None,
        line_delim: str | None = None,
        quote_character: str | None = None,
        ignore_first_line: bool | None = None,
        ignore_comments: str | None = None,
        lenient: bool | None = None,
        empty_column_as_null: bool | None = None,
    ) -> None:
        tell("CsvTableSource", "CREATE TABLE ... WITH ('connector' = 'filesystem', 'format' = 'csv', ...)")
        options = csv_options(field_delim, line_delim, quote_character, ignore_first_line, ignore_comments, lenient)
        options["null-literal"] = "" if empty_column_as_null else None
        super().__init__(field_names, field_types, source_path, options)


class CsvTableSink(TableSink):
    """A table of CSV files that is written: a folder of them, whatever the number."""

    def __init__(
        self,
        field_names: list[str],
        field_types: list[DataType],
        path: str,
        field_delimiter: str = ",",
        num_files: int = -1,
        write_mode: WriteMode | None = None,
    ) -> None:
        tell("CsvTableSink", "CREATE TABLE ... WITH ('connector' = 'filesystem', 'format' = 'csv', ...)")
        if write_mode == WriteMode.OVERWRITE:
            raise problem("CsvTableSink with WriteMode.OVERWRITE: use execute_insert(sink, overwrite=True)")
        super().__init__(field_names, field_types, path, csv_options(field_delimiter))


def csv_options(
    delimiter: str | None = None,
    lines: str | None = None,
    quote: str | None = None,
    header: bool | None = None,
    comments: str | None = None,
    lenient: bool | None = None,
) -> dict[str, str | None]:
    """The options of today's CSV format for those of the deprecated one.

    :raises TableException: today's CSV has nothing like it.
    """
    if lines not in (None, "\n", "\r\n"):
        raise problem(f"lines of CSV end with a newline, not {lines!r}")
    if header:
        raise problem("today's 'csv' has no option that ignores a first line: take that line away")
    if comments not in (None, "#"):
        raise problem(f"comments of CSV begin with '#', not {comments!r}")
    return {
        "field-delimiter": delimiter,
        "quote-character": quote,
        "disable-quote-character": "true" if quote is None else None,
        "allow-comments": "true" if comments else None,
        "ignore-parse-errors": "true" if lenient else None,
    }
