"""``table_format``: the format of a table's files, by the name in the option ``'format'``."""

from __future__ import annotations

from collections.abc import Mapping

from millrace.connectors.file_system.table import bulk_formats
from millrace.connectors.file_system.table.bulk_formats import AvroTableFormat, OrcTableFormat, ParquetTableFormat
from millrace.connectors.file_system.table.line_formats import CSV_HEADER, MessageLines, MessageTableFormat, Quotes
from millrace.connectors.file_system.table.table_format import FileTableFormat
from millrace.connectors.file_system.table.table_layout import Layout
from millrace.formats.tables import raw_format
from millrace.formats.tables.format_options import check_names, format_factory, format_names, format_options
from millrace.formats.tables.message_reading import DEAD_LETTERS
from millrace.relational.sources import FormatContext, TableContext
from millrace.util.exceptions import TableException
from millrace.util.names import did_you_mean

_FILES = {
    "parquet": (ParquetTableFormat, bulk_formats.PARQUET_OPTIONS),
    "orc": (OrcTableFormat, bulk_formats.ORC_OPTIONS),
    "avro": (AvroTableFormat, bulk_formats.AVRO_OPTIONS),
}


def known_formats() -> list[str]:
    """All that 'format' can name."""
    return sorted({*_FILES, *format_names()})


def table_format(table: TableContext, layout: Layout) -> FileTableFormat:
    """The format that the table's options name, for the columns that its files have.

    :raises TableException: there is no such format, or an option of it is wrong.
    """
    name = table.options["format"]
    if name in _FILES:
        made, known = _FILES[name]
        options = _options_of_format(name, known, table.options, table.summary)
        if DEAD_LETTERS in table.options:
            raise TableException(
                f"table {table.summary}: '{DEAD_LETTERS}' is for formats of messages, one a line: a file of {name} "
                f"that is damaged has no single records that could be set aside"
            )
        try:
            return made(layout.in_files, options, table.summary)
        except ValueError as error:
            raise TableException(str(error)) from error
    if name not in format_names():
        formats = known_formats()
        raise TableException(
            f"table {table.summary}: there is no format '{name}'{did_you_mean(name, formats)}; there are "
            f"{', '.join(formats)}"
        )
    return _message_format(name, table, layout)


def _options_of_format(name: str, known: tuple[str, ...], given: Mapping[str, str], table: str) -> dict[str, str]:
    prefix = f"{name}."
    found = {key.removeprefix(prefix): value for key, value in given.items() if key.startswith(prefix)}
    check_names(found, known, f"table {table}: format '{name}'", prefix)
    return found


def _message_format(name: str, table: TableContext, layout: Layout) -> MessageTableFormat:
    factory = format_factory(name, table.summary)
    # The other lines are messages as ever: the format itself knows nothing of a header.
    given = {key: value for key, value in table.options.items() if key != CSV_HEADER}
    options = format_options(factory, name, given, table.summary)
    context = FormatContext(table.summary, layout.in_files, options, (), dict(table.configuration))
    lines = MessageLines(
        _quotes(options) if name == "csv" else None,
        blank=name == "raw",
        headless=has_header(table.options),
        marked=name != "raw" or raw_format.is_utf8(context),
        returns=name == "csv",
    )
    dead_letters = {key: value for key, value in table.options.items() if key == DEAD_LETTERS or key.startswith(name)}
    return MessageTableFormat(factory, context, name == "json", lines, dead_letters)


def has_header(options: Mapping[str, str]) -> bool:
    """Whether the first line of each file has the names of its columns."""
    text = options.get(CSV_HEADER, "false").lower()
    if text not in ("true", "false"):
        raise TableException(f"option '{CSV_HEADER}' is {text!r}, but has to be true or false")
    return options.get("format") == "csv" and text == "true"


def _quotes(options: Mapping[str, str]) -> Quotes | None:
    if options.get("disable-quote-character", "false").lower() == "true":
        return None
    escape = options.get("escape-character")
    return Quotes(options.get("quote-character", '"').encode(), escape.encode() if escape else None)
