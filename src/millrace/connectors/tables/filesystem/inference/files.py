"""The columns of a table of files: those of its first file that is not empty."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from millrace.common.files.file_systems import open_file_system
from millrace.connectors.file_system.compression import decompressed
from millrace.connectors.file_system.enumerate import FileEnumeratorProvider
from millrace.connectors.file_system.listing import FoundFile
from millrace.connectors.file_system.text_stream import utf8_of
from millrace.connectors.tables.filesystem.formats.by_name import has_header
from millrace.connectors.tables.filesystem.formats.messages import CSV_HEADER
from millrace.connectors.tables.filesystem.inference.avro_types import avro_columns
from millrace.connectors.tables.filesystem.inference.texts import csv_columns, json_columns
from millrace.formats.avro_blocks import written_schema
from millrace.formats.csv_schema import CsvDialect
from millrace.relational.from_arrow import from_arrow_type
from millrace.relational.nodes import Field
from millrace.relational.sources import Inferred
from millrace.util.exceptions import TableException

SAMPLE = 1 << 20
"""Bytes of a text file that are looked at."""
_MAGIC = {b"PAR1": "parquet", b"ORC": "orc", b"Obj\x01": "avro", b"{": "json"}
_MAGIC_BYTES = 4
FORMATS = ("avro", "csv", "json", "orc", "parquet")


def inferred(options: Mapping[str, str], table: str) -> Inferred:
    """Columns, and options that go with them.

    :raises TableException: there is no file, or its columns can't be known from it.
    """
    path, format = options["path"], options["format"]
    if format not in FORMATS:
        known = ", ".join(FORMATS)
        raise TableException(f"table {table}: columns can't be inferred from files of {format!r}, only of {known}")
    file = _first(path, table)
    more: dict[str, str] = {}
    try:
        if format == "csv":
            header = has_header(options) if CSV_HEADER in options else None
            columns, named = csv_columns(_text(file).decode(), _dialect(options), header)
            more = {CSV_HEADER: "true"} if named else {}
        elif format == "json":
            columns = json_columns(_text(file))
        elif format == "avro":
            columns = avro_columns(_avro_schema(file))
        else:
            columns = [_column(each) for each in _arrow_schema(file, format)]
    except (ValueError, TypeError, pa.ArrowException) as error:
        raise TableException(f"table {table}: the columns of {file.path} can't be inferred: {error}") from error
    if not columns:
        raise TableException(f"table {table}: {file.path} has no columns")
    return Inferred(tuple(columns), more)


def format_at(path: str) -> str | None:
    """The format of the first file at a path, by its first bytes; None: they do not say it, or no file is there."""
    try:
        file = next((each for each in FileEnumeratorProvider().files((path,), False) if each.size), None)
        beginning = b"" if file is None else _beginning(file, _MAGIC_BYTES)
    except (OSError, EOFError, pa.ArrowException):  # what is wrong is said when it is read
        return None
    return next((format for magic, format in _MAGIC.items() if beginning.startswith(magic)), None)


def _dialect(options: Mapping[str, str]) -> CsvDialect:
    """How lines are cut; what is wrong with these options is told when the table is read."""

    def given(name: str, default: str | None) -> str | None:
        return options.get(f"csv.{name}", default)

    quoted = given("disable-quote-character", "false") != "true"
    return CsvDialect(
        column_separator=given("field-delimiter", ",") or ",",
        quote_char=given("quote-character", '"') if quoted else None,
        escape_char=given("escape-character", None),
        null_value=given("null-literal", None),
        allow_comments=given("allow-comments", "false") == "true",
    )


def _column(field: Any) -> Field:
    return Field(field.name, from_arrow_type(field.type))


def _first(path: str, table: str) -> FoundFile:
    try:
        found = FileEnumeratorProvider().files((path,), False)
    except OSError as error:
        raise TableException(f"table {table} has no columns, and there is no file to know them from: {path}") from error
    for file in found:
        if file.size:
            return file
    raise TableException(f"table {table} has no columns, and no file to know them from is at {path}")


def _text(file: FoundFile) -> bytes:
    """Whole lines from the beginning of a file, as UTF-8."""
    found = _beginning(file, SAMPLE)
    text = utf8_of(found)
    return text if len(found) < SAMPLE else text[: text.rfind(b"\n") + 1] or text


def _beginning(file: FoundFile, size: int) -> bytes:
    stream = decompressed(file.path, open_file_system(file.root)[0].open_input_stream(file.path, compression=None))
    try:
        found = b""
        while len(found) < size and (block := stream.read(size - len(found))):
            found += block
    finally:
        stream.close()
    return found


def _arrow_schema(file: FoundFile, format: str) -> pa.Schema:
    with open_file_system(file.root)[0].open_input_file(file.path) as stream:
        if format == "parquet":
            import pyarrow.parquet

            return pyarrow.parquet.read_schema(stream)
        from millrace.formats.orc_files.reading import OrcRows

        with contextlib.closing(OrcRows(stream)) as rows:
            return rows.schema


def _avro_schema(file: FoundFile) -> Any:
    try:
        import fastavro
    except ImportError:
        raise ValueError("it needs fastavro: pip install 'millrace-streaming[avro]'") from None
    with open_file_system(file.root)[0].open_input_stream(file.path) as stream:
        return fastavro.parse_schema(written_schema(stream))


