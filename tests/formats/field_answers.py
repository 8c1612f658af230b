"""What our formats make of the messages of ``tests.flink.fields``, printed as the recorder prints Flink's values."""

from __future__ import annotations

import datetime as dt
import tempfile
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
from tests.flink.fields.facts import Fact
from tests.formats.tables.driving import decode, encode, schema

from millrace.common.text import double_text, float_text
from millrace.common.time import Instant
from millrace.common.typeinfo import TypeInformation, Types
from millrace.connectors.file_system.file_stream import FileSplit
from millrace.datastream.formats.csv import (
    CsvBulkWriters,
    CsvReaderFormat,
    CsvRowDeserializationSchema,
    CsvRowSerializationSchema,
    CsvSchema,
)
from millrace.datastream.formats.json import JsonRowDeserializationSchema, JsonRowSerializationSchema
from millrace.relational import types as t
from millrace.relational.type_table import Family, family_of, parts_of
from millrace.relational.types import DataType
from millrace.table.sql.grammar.parser import parse_type

Rows = list[list[Any]] | None
"""printed rows; None: the message was refused"""
Answer = tuple[Rows, list[str]]
"""rows, and how they are written"""

_OPTIONS = {
    "null": "null-literal",
    "elements": "array-element-delimiter",
    "comments": "allow-comments",
    "separator": "field-delimiter",
    "escape": "escape-character",
    "quote": "quote-character",
    "unquoted": "disable-quote-character",
    "lenient": "ignore-parse-errors",
    "strict": "fail-on-missing-field",
}
_OF_READERS = ("allow-comments", "ignore-parse-errors", "fail-on-missing-field")


def of_table(fact: Fact) -> Answer:
    """The table format's, of which few and many messages give the same."""
    identifier = fact.door.partition("-")[0]
    kind = parse_type(fact.type)
    columns = schema(f=kind, last=t.VarCharType())
    options = {_OPTIONS[key]: _text(value) for key, value in fact.options.items() if key in _OPTIONS}
    if fact.options.get("iso"):
        options["timestamp-format.standard"] = "ISO-8601"
    try:
        rows = decode(identifier, columns, [fact.message], options)
    except ValueError:
        return None, []
    writing = {key: value for key, value in options.items() if key not in _OF_READERS}
    if fact.options.get("plain"):
        writing["write-bigdecimal-in-scientific-notation"] = "false"
    written = [message.decode() for message in encode(identifier, columns, rows, writing) if message is not None]
    return [[printed(row[0], kind), row[1]] for row in rows], written


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def of_csv_reader(fact: Fact) -> Answer:
    """``CsvReaderFormat``'s, of one record and of as many as make a block, and what ``CsvBulkWriters`` writes."""
    kind = parse_type(fact.type)
    dialect = _csv_schema(kind, fact.options)
    format = CsvReaderFormat.for_schema(dialect)
    if fact.options.get("lenient"):
        format = format.with_ignore_parse_errors()
    with tempfile.TemporaryDirectory(prefix="millrace-fields-") as folder:
        path = Path(folder) / "x.csv"
        path.write_bytes(fact.message.encode())
        records = format.open(FileSplit(str(path), 0, path.stat().st_size))
        rows: list[Any] = []
        try:
            while (batch := records.read_batch()) is not None:
                rows += batch
        except ValueError:
            return None, []
        finally:
            records.close()
        out = Path(folder) / "out"
        with out.open("wb") as stream:
            writer = CsvBulkWriters.for_schema(dialect).create(stream)
            for row in rows:
                writer.add_element(row)
            writer.finish()
        written = out.read_bytes().decode().splitlines(True) if len(rows) > 1 else [out.read_bytes().decode()]
    return [[printed(row[0], kind), row[1]] for row in rows], written if rows else []


def _csv_schema(kind: DataType, options: dict[str, Any]) -> CsvSchema:
    builder = CsvSchema.builder()
    family = family_of(kind)
    if family is Family.TEXT:
        builder.add_string_column("f")
    elif family is Family.BOOLEAN:
        builder.add_boolean_column("f")
    elif family is Family.ARRAY:
        builder.add_array_column("f", options.get("elements", ";"), parts_of(kind)[0])
    else:
        builder.add_number_column("f", kind)
    builder.add_string_column("last").set_allow_comments(bool(options.get("comments")))
    for key, change in (
        ("null", builder.set_null_value),
        ("separator", builder.set_column_separator),
        ("escape", builder.set_escape_char),
        ("quote", builder.set_quote_char),
    ):
        if key in options:
            change(options[key])
    return (builder.disable_quote_char() if options.get("unquoted") else builder).build()


def of_csv_row(fact: Fact) -> Answer:
    row_type = Types.ROW_NAMED(["f", "last"], [_info(fact.type), Types.STRING()])
    reader, writer = CsvRowDeserializationSchema.Builder(row_type), CsvRowSerializationSchema.Builder(row_type)
    reader.set_ignore_parse_errors(bool(fact.options.get("lenient")))
    reader.set_allow_comments(bool(fact.options.get("comments")))
    writer.set_line_delimiter("")
    for each in (reader, writer):
        for key, change in (
            ("null", each.set_null_literal),
            ("separator", each.set_field_delimiter),
            ("escape", each.set_escape_character),
            ("quote", each.set_quote_character),
            ("elements", each.set_array_element_delimiter),
        ):
            if key in fact.options:
                change(fact.options[key])
    return _of_schemas(fact, reader.build().deserialize, writer.build().serialize)


def of_json_row(fact: Fact) -> Answer:
    row_type = Types.ROW_NAMED(["f", "last"], [_info(fact.type), Types.STRING()])
    builder = JsonRowDeserializationSchema.builder().type_info(row_type)
    if fact.options.get("lenient"):
        builder.ignore_parse_errors()
    if fact.options.get("strict"):
        builder.fail_on_missing_field()
    writer = JsonRowSerializationSchema.builder().with_type_info(row_type).build()
    return _of_schemas(fact, builder.build().deserialize, writer.serialize)


def _of_schemas(fact: Fact, read: Callable[[bytes], Any], write: Callable[[Any], bytes]) -> Answer:
    try:
        row = read(fact.message.encode())
    except ValueError:
        return None, []
    if row is None:
        return [], []
    return [[_printed_value(row[0], fact.type), row[1]]], [write(row).decode()]


def _info(name: str) -> TypeInformation:
    if name.startswith("ARRAY<"):
        return Types.OBJECT_ARRAY(_info(name[6:-1]))
    if name.startswith("MAP<"):
        return Types.MAP(Types.STRING(), _info(name[4:-1]))
    if name.startswith("ROW<"):
        parts = name[4:-1].split(" ")
        return Types.ROW_NAMED([chr(ord("a") + at) for at in range(len(parts))], list(map(_info, parts)))
    if name == "BYTES":
        return Types.PRIMITIVE_ARRAY(Types.BYTE())
    others = {"LOCAL_DATE": Types.SQL_DATE, "LOCAL_TIME": Types.SQL_TIME, "LOCAL_DATE_TIME": Types.SQL_TIMESTAMP}
    make: Callable[[], TypeInformation] = others.get(name) or getattr(Types, name)
    return make()


def _printed_value(value: Any, name: str) -> Any:
    """A value of a stream's row."""
    if value is None:
        return None
    inner = name.partition("<")[2][:-1]
    if name.startswith("ARRAY<"):
        return [_printed_value(each, inner) for each in value]
    if name.startswith("MAP<"):
        return {key: _printed_value(each, inner) for key, each in value.items()}
    if name.startswith("ROW<"):
        return [_printed_value(each, part) for each, part in zip(value, inner.split(" "), strict=True)]
    if name in _AS_JAVA:
        return _AS_JAVA[name](value)
    return _plain(value)


_AS_JAVA: dict[str, Callable[[Any], str]] = {
    "FLOAT": float_text,
    "BIG_DEC": str,
    "INSTANT": lambda value: f"{_plain(value)}Z",
}


def printed(value: Any, kind: DataType) -> Any:
    """A value of a table's row."""
    if value is None:
        return None
    family, parts = family_of(kind), parts_of(kind)
    if family is Family.ARRAY:
        return [printed(each, parts[0]) for each in value]
    if family is Family.ROW:
        return [printed(each, part) for each, part in zip(value, parts, strict=True)]
    if family is Family.MAP:
        return {str(key): printed(each, parts[1]) for key, each in value.items()}
    return float_text(value) if isinstance(kind, t.FloatType) else _plain(value)


def _plain(value: Any) -> Any:
    if isinstance(value, Instant):
        value = dt.datetime(1970, 1, 1) + dt.timedelta(seconds=value.seconds, microseconds=value.nanos // 1000)
    for kind, text in _PRINTED:
        if isinstance(value, kind):
            return text(value)
    return str(value)


def _clock(time: dt.time | dt.datetime) -> str:
    """As Java's ``LocalTime``."""
    seconds = f":{time.second:02}" if time.second or time.microsecond else ""
    millis, micros = divmod(time.microsecond, 1000)
    fraction = "" if not time.microsecond else f".{millis:03}" if not micros else f".{time.microsecond:06}"
    return f"{time.hour:02}:{time.minute:02}{seconds}{fraction}"


_PRINTED: Sequence[tuple[type, Callable[[Any], Any]]] = (
    (bool, lambda value: value),
    (bytes, bytes.hex),
    (float, double_text),
    (Decimal, lambda value: format(value, "f")),
    (dt.datetime, lambda value: f"{value.year:04}-{value.month:02}-{value.day:02}T{_clock(value)}"),
    (dt.date, dt.date.isoformat),
    (dt.time, _clock),
    (pa.Scalar, lambda value: _plain(value.as_py())),
)
