"""The columns of a table of files that declares none: those of its first file that is not empty.

Parquet, ORC and Avro say them; for CSV and JSON the types are found in the beginning of the file. Imported only when a
table needs it.
"""

from __future__ import annotations

import contextlib
import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from millrace.common.files.file_systems import open_file_system
from millrace.connectors.file_system.file_listing import FileEnumeratorProvider, FoundFile
from millrace.connectors.file_system.file_stream import decompressed, utf8_of
from millrace.connectors.file_system.table.format_registry import has_header
from millrace.connectors.file_system.table.line_formats import CSV_HEADER
from millrace.formats.avro_blocks import written_schema
from millrace.formats.csv_schema import CsvDialect
from millrace.relational import types as t
from millrace.relational.nodes import Field
from millrace.relational.sources import Inferred
from millrace.relational.type_table import from_arrow_type
from millrace.relational.types import DataType
from millrace.util.exceptions import TableException

_PLAIN: dict[str, DataType] = {
    "boolean": t.BooleanType(),
    "int": t.IntType(),
    "long": t.BigIntType(),
    "float": t.FloatType(),
    "double": t.DoubleType(),
    "bytes": t.VarBinaryType(t.MAX_LENGTH),
    "string": t.string(),
    "enum": t.string(),
}
_LOGICAL: dict[str, DataType] = {
    "date": t.DateType(),
    "time-millis": t.TimeType(3),
    "timestamp-millis": t.TimestampType(3),
    "timestamp-micros": t.TimestampType(6),
    "local-timestamp-millis": t.TimestampType(3),
    "local-timestamp-micros": t.TimestampType(6),
}


def avro_columns(schema: Any) -> list[Field]:
    """The columns of a record, all of which may be NULL.

    :raises ValueError: a type that has no counterpart.
    """
    if not isinstance(schema, dict) or schema.get("type") != "record":
        raise ValueError("its schema is not a record")
    return [Field(each["name"], _avro_type(each["type"])) for each in schema["fields"]]


def _avro_type(schema: Any) -> DataType:
    if isinstance(schema, list):
        kinds = [each for each in schema if each != "null"]
        if len(kinds) != 1:
            raise ValueError(f"a union of {len(kinds)} types has no counterpart: {schema}")
        return _avro_type(kinds[0])
    if not isinstance(schema, dict):
        if schema not in _PLAIN:
            raise ValueError(f"the type {schema!r} has no counterpart")
        return _PLAIN[schema]
    kind, logical = schema["type"], schema.get("logicalType")
    if logical == "decimal":
        return t.DecimalType(schema["precision"], schema.get("scale", 0))
    if logical in _LOGICAL:
        return _LOGICAL[logical]
    if kind == "record":
        return t.RowType([t.RowField(each["name"], _avro_type(each["type"])) for each in schema["fields"]])
    if kind == "array":
        return t.ArrayType(_avro_type(schema["items"]))
    if kind == "map":
        return t.MapType(t.VarCharType(t.MAX_LENGTH, False), _avro_type(schema["values"]))
    if kind == "fixed":
        return t.BinaryType(schema["size"])
    return _avro_type(kind)


_INTEGER = re.compile(r"-?(0|[1-9]\d{0,17})")
"""Not with a zero in front: that is a code and no number."""
_NUMBER = re.compile(r"-?(0|[1-9]\d*)?(\.\d+)?([eE][+-]?\d+)?")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,9})?")
_NAME = re.compile(r"[^\W\d][\w .-]*")


def csv_columns(text: str, dialect: CsvDialect, header: bool | None) -> tuple[list[Field], bool]:
    """The columns, and whether the first line has their names.

    :param text: whole lines.
    :param header: None: to be found out.
    """
    rows = [row for row in _csv_rows(text, dialect) if row]
    if not rows:
        return [], bool(header)
    first, rest = rows[0], rows[1:]
    named = _is_header(first, rest, dialect) if header is None else header
    values = rest if named else rows
    names = _unique(first) if named else [f"f{number}" for number in range(len(first))]
    return [Field(name, _narrowest_type(_csv_cells(values, at, dialect))) for at, name in enumerate(names)], named


def _csv_rows(text: str, dialect: CsvDialect) -> Iterator[list[str]]:
    lines = io.StringIO(text, newline="")
    if dialect.allow_comments:
        lines = io.StringIO("".join(line for line in lines if not line.lstrip().startswith("#")), newline="")
    return csv.reader(
        lines,
        delimiter=dialect.column_separator,
        quotechar=dialect.quote_char or '"',
        escapechar=dialect.escape_char,
        quoting=csv.QUOTE_NONE if dialect.quote_char is None else csv.QUOTE_MINIMAL,
    )


def _is_header(first: Sequence[str], rest: Sequence[Sequence[str]], dialect: CsvDialect) -> bool:
    """Whether the first line is made of names, and what follows does not look the same."""
    if len(set(first)) < len(first) or not all(_NAME.fullmatch(cell.strip()) for cell in first):
        return False
    if any(not isinstance(_narrowest_type([cell]), t.VarCharType) for cell in first):
        return False  # true, false: values
    columns = (_narrowest_type(_csv_cells(rest, at, dialect)) for at in range(len(first)))
    # Nothing but texts: names rarely come again as a value.
    return any(not isinstance(each, t.VarCharType) for each in columns) or (
        bool(rest) and all(cell not in _csv_cells(rest, at, dialect) for at, cell in enumerate(first))
    )


def _unique(names: Sequence[str]) -> list[str]:
    """Names of columns: those that are missing or come twice get a number."""
    found: list[str] = []
    for place, name in enumerate(names):
        wanted = name.strip() or f"f{place}"
        found.append(wanted if wanted not in found else f"{wanted}_{place}")
    return found


def _csv_cells(rows: Sequence[Sequence[str]], at: int, dialect: CsvDialect) -> list[str]:
    cells = (row[at].strip() for row in rows if at < len(row))
    return [cell for cell in cells if cell and cell != dialect.null_value]


def _narrowest_type(cells: Sequence[str]) -> DataType:
    """The narrowest type that all cells fit in; text for none."""
    if not cells:
        return t.string()
    if all(cell.lower() in ("true", "false") for cell in cells):
        return t.BooleanType()
    if all(map(_INTEGER.fullmatch, cells)):
        return t.BigIntType()
    if all(_NUMBER.fullmatch(cell) and any(map(str.isdigit, cell)) for cell in cells):
        return t.DoubleType()
    if all(map(_DATE.fullmatch, cells)):
        return t.DateType()
    if all(map(_TIMESTAMP.fullmatch, cells)):
        digits = max(len(cell.partition(".")[2]) for cell in cells)
        return t.TimestampType(next(each for each in (3, 6, 9) if digits <= each))
    return t.string()


def json_columns(text: bytes) -> list[Field]:
    """The columns of JSON objects, one a line: all names that occur. Times are text.

    :raises ValueError: a name has values of several kinds.
    """
    import pyarrow.json

    try:
        found = pyarrow.json.read_json(io.BytesIO(text)).schema
    except pa.ArrowException as error:
        raise ValueError(str(error)) from error
    return [Field(each.name, from_arrow_type(_without_times(each.type))) for each in found]


def _without_times(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_timestamp(kind) or pa.types.is_null(kind):
        return pa.string()
    if pa.types.is_list(kind):
        return pa.list_(_without_times(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(each.name, _without_times(each.type)) for each in kind])
    return kind


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
    file = _first_file(path, table)
    more: dict[str, str] = {}
    try:
        if format == "csv":
            header = has_header(options) if CSV_HEADER in options else None
            columns, named = csv_columns(_first_lines(file).decode(), _dialect(options), header)
            more = {CSV_HEADER: "true"} if named else {}
        elif format == "json":
            columns = json_columns(_first_lines(file))
        elif format == "avro":
            columns = avro_columns(_avro_schema(file))
        else:
            columns = [_arrow_column(each) for each in _arrow_schema(file, format)]
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


def _arrow_column(field: Any) -> Field:
    return Field(field.name, from_arrow_type(field.type))


def _first_file(path: str, table: str) -> FoundFile:
    try:
        found = FileEnumeratorProvider().files((path,), False)
    except OSError as error:
        raise TableException(f"table {table} has no columns, and there is no file to know them from: {path}") from error
    for file in found:
        if file.size:
            return file
    raise TableException(f"table {table} has no columns, and no file to know them from is at {path}")


def _first_lines(file: FoundFile) -> bytes:
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
        from millrace.formats.orc import OrcRows

        with contextlib.closing(OrcRows(stream)) as rows:
            return rows.schema


def _avro_schema(file: FoundFile) -> Any:
    try:
        import fastavro
    except ImportError:
        raise ValueError("it needs fastavro: pip install 'millrace-streaming[avro]'") from None
    with open_file_system(file.root)[0].open_input_stream(file.path) as stream:
        return fastavro.parse_schema(written_schema(stream))
