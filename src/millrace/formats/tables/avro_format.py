"""``avro``: a row is an Avro record, without its schema, which follows from the columns. fastavro is needed for the
records, not for the schema.
"""

from __future__ import annotations

import datetime as dt
import io
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.formats.avro_blocks import UNREADABLE, reason
from millrace.formats.avro_records import read_message, write_message
from millrace.formats.tables.format_options import Options, malformed
from millrace.formats.text_columns import NoForm
from millrace.relational import types as t
from millrace.relational.nodes import Schema
from millrace.relational.precision import canonical, fit
from millrace.relational.rows import Rows, record_batch
from millrace.relational.sources import Decoded, DecodingFormat, EncodingFormat, FormatContext, FormatFactory
from millrace.relational.type_table import ByFamily, Family, arrow_type, family_of, parts_of, row_of
from millrace.relational.types import DataType
from millrace.relational.values import plain_values

RECORD = "org.apache.flink.avro.generated.record"
"""the name of the record; readers in Java look at it"""
_NAME = re.compile("[A-Za-z_][A-Za-z0-9_]*")
_MOMENTS = (Family.TIMESTAMP, Family.INSTANT)
_AS_IT_IS = {Family.BOOLEAN, Family.INTEGER, Family.APPROXIMATE, Family.BYTES, Family.DATE, *_MOMENTS}
_UTC = dt.timezone.utc

Convert = Callable[[Any], Any]


def avro_schema(columns: Schema, legacy_timestamps: bool = True, name: str = RECORD) -> dict[str, Any]:
    """The schema of a record with these columns, as Flink derives it.

    :param legacy_timestamps: TIMESTAMP as an instant, and no TIMESTAMP_LTZ; otherwise TIMESTAMP as a local timestamp.
    :raises NoForm: a type or a name that Avro does not have; says which column.
    """
    fields = []
    for column in columns:
        try:
            fields.append(_field(column.name, column.type, name, legacy_timestamps))
        except NoForm as error:
            raise NoForm(f"column '{column.name}': {error}") from error
    return {"type": "record", "name": name, "fields": fields}


def _field(name: str, kind: DataType, record: str, legacy: bool) -> dict[str, Any]:
    if _NAME.fullmatch(name) is None:
        raise NoForm(f"'{name}' is no name in Avro: only letters, digits and _ are")
    found: dict[str, Any] = {"name": name, "type": _type(kind, f"{record}_{name}", legacy)}
    return {**found, "default": None} if kind.is_nullable else found


def _type(kind: DataType, record: str, legacy: bool) -> Any:
    row = row_of(kind)
    if row.family is Family.NULL:
        return "null"
    make = _TYPES.get(row.family)
    if make is None and not row.avro:
        raise NoForm(f"values of {kind} have no form in Avro")
    found = row.avro if make is None else make(kind, record, legacy)
    return ["null", found] if kind.is_nullable else found


def _record(kind: t.RowType, record: str, legacy: bool) -> dict[str, Any]:
    fields = [_field(field.name, field.data_type, record, legacy) for field in kind]
    return {"type": "record", "name": record, "fields": fields}


def _array(kind: DataType, record: str, legacy: bool) -> dict[str, Any]:
    return {"type": "array", "items": _type(parts_of(kind)[0], record, legacy)}


def _map(kind: DataType, record: str, legacy: bool) -> dict[str, Any]:
    key, item = parts_of(kind)
    if family_of(key) is not Family.TEXT:
        raise NoForm(f"keys in Avro are text, so that {kind} has no form in it")
    return {"type": "map", "values": _type(item, record, legacy)}


def _decimal(kind: t.DecimalType, record: str, legacy: bool) -> dict[str, Any]:
    return {"type": "bytes", "logicalType": "decimal", "precision": kind.precision, "scale": kind.scale}


def _time(kind: t.TimeType, record: str, legacy: bool) -> dict[str, Any]:
    if kind.precision > 3:
        raise NoForm(f"times in Avro have at most 3 digits after the second, {kind} has more: use TIME(3)")
    return {"type": "int", "logicalType": "time-millis"}


def _timestamp(kind: t.TimestampType | t.LocalZonedTimestampType, record: str, legacy: bool) -> dict[str, Any]:
    zoned = family_of(kind) is Family.INSTANT
    if legacy and (zoned or kind.precision > 3):
        raise NoForm(
            f"{kind} has no form in Avro with 'avro.timestamp_mapping.legacy' = 'true', which is the default: set "
            "it to 'false'" + ("" if zoned else ", or use TIMESTAMP(3)")
        )
    unit = "millis" if kind.precision <= 3 else "micros"
    return {"type": "long", "logicalType": f"{'' if zoned or legacy else 'local-'}timestamp-{unit}"}


_TYPES: ByFamily = {
    Family.ROW: _record,
    Family.ARRAY: _array,
    Family.MAP: _map,
    Family.DECIMAL: _decimal,
    Family.DATE: lambda kind, record, legacy: {"type": "int", "logicalType": "date"},
    Family.TIME: _time,
    **dict.fromkeys(_MOMENTS, _timestamp),
}


def avro_records(rows: Rows, columns: Schema) -> list[dict[str, Any]]:
    """Rows as the records that fastavro writes."""
    names = [column.name for column in columns]
    values = []
    for array, column in zip(rows.columns, columns):
        convert = _writer(column.type)
        plain = plain_values(array)
        values.append(plain if convert is None else [None if each is None else convert(each) for each in plain])
    return [dict(zip(names, each)) for each in zip(*values)]


def _writer(kind: DataType) -> Convert | None:
    """The function from Arrow's values to fastavro's; None: they are the same."""
    make = _WRITERS.get(family_of(kind))
    return make and make(kind)


def _array_writer(kind: DataType) -> Convert:
    element = _inner(_writer(*parts_of(kind)))
    return lambda value: list(map(element, value))


def _map_writer(kind: DataType) -> Convert:
    item = _inner(_writer(parts_of(kind)[1]))
    return lambda value: {name: item(part) for name, part in value}


def _record_writer(kind: t.RowType) -> Convert:
    parts = {name: _inner(_writer(each)) for name, each in zip(kind.names, kind.field_types())}
    return lambda value: {name: parts[name](part) for name, part in value.items()}


_WRITERS: ByFamily = {
    # A local time; fastavro would take one without zone as one of this machine.
    Family.TIMESTAMP: lambda kind: lambda value: value.replace(tzinfo=_UTC),
    Family.ARRAY: _array_writer,
    Family.MAP: _map_writer,
    Family.ROW: _record_writer,
}


def avro_columns(records: Iterable[Mapping[str, Any]], columns: Schema) -> list[pa.Array]:
    """What fastavro has read, as columns, found by their names; NULL for those that the records do not have.

    Logical types may be others than those of ``avro_schema``: a TIMESTAMP(3) also takes microseconds, a DECIMAL other
    digits, STRING an enum or a UUID.

    :raises ValueError: a value that does not fit the type of its column.
    """
    whole = list(records)
    found = []
    for column in columns:
        values = [record.get(column.name) for record in whole]
        try:
            found.append(_column(values, column.type))
        except (pa.ArrowException, ValueError, TypeError, AttributeError) as error:
            raise ValueError(f"column '{column.name}' of type {column.type}: {error}") from error
    return found


def _column(values: list[Any], kind: DataType) -> pa.Array:
    family = family_of(kind)
    # Arrow brings what has a zone to UTC.
    plain = family in _AS_IT_IS or (family is Family.TEXT and set(map(type, values)) <= {str, type(None)})
    found = values if plain else list(map(_inner(_reader(kind)), values))
    return canonical(pa.array(found, arrow_type(kind)), kind)


def _reader(kind: DataType) -> Convert:
    """The function from fastavro's values to Arrow's."""
    make = _READERS.get(family_of(kind))
    found: Convert = _same if make is None else make(kind)
    return found


def _array_reader(kind: DataType) -> Convert:
    element = _inner(_reader(*parts_of(kind)))
    return lambda value: list(map(element, value))


def _map_reader(kind: DataType) -> Convert:
    item = _inner(_reader(parts_of(kind)[1]))
    return lambda value: [(str(name), item(part)) for name, part in value.items()]


def _record_reader(kind: t.RowType) -> Convert:
    parts = {name: _inner(_reader(each)) for name, each in zip(kind.names, kind.field_types())}
    return lambda value: {name: part(value.get(name)) for name, part in parts.items()}


def _time_reader(kind: t.TimeType) -> Convert:
    unit = 10 ** max(6 - kind.precision, 0)
    return lambda value: value.replace(microsecond=value.microsecond // unit * unit)


def _moment_reader(kind: t.TimestampType | t.LocalZonedTimestampType) -> Convert:
    zone = _UTC if family_of(kind) is Family.INSTANT else None
    unit = 10 ** max(6 - kind.precision, 0)
    return lambda value: _moment(value, zone, unit)


_READERS: ByFamily = {
    Family.TEXT: lambda kind: str,
    **dict.fromkeys(_MOMENTS, _moment_reader),
    Family.TIME: _time_reader,
    Family.DECIMAL: lambda kind: lambda value: fit(value, kind.precision, kind.scale),
    Family.ARRAY: _array_reader,
    Family.MAP: _map_reader,
    Family.ROW: _record_reader,
}


def _moment(value: dt.datetime, zone: dt.tzinfo | None, unit: int) -> dt.datetime:
    """A time without the digits that the type does not have."""
    instant = value.astimezone(_UTC) if value.tzinfo is not None else value
    return instant.replace(tzinfo=zone, microsecond=instant.microsecond // unit * unit)


def _inner(convert: Convert | None) -> Convert:
    """The schema of the values other than NULL of a nullable value."""
    return _same if convert is None else lambda value: None if value is None else convert(value)


def _same(value: Any) -> Any:
    return value


ENCODING = "encoding"
LEGACY_TIMESTAMPS = "timestamp_mapping.legacy"
BINARY, JSON = "binary", "json"


class AvroFormatFactory(FormatFactory):
    identifier = "avro"
    optional = (ENCODING, LEGACY_TIMESTAMPS)

    def decoding(self, table: FormatContext) -> DecodingFormat:
        schema, as_json = _schema(Options(self.identifier, table))
        return AvroDecoding(table.table, table.columns, schema, as_json)

    def encoding(self, table: FormatContext) -> EncodingFormat:
        schema, as_json = _schema(Options(self.identifier, table))
        return AvroEncoding(table.table, table.columns, schema, as_json)


def _schema(options: Options) -> tuple[dict[str, Any], bool]:
    """The schema of the messages, and whether they are Avro's JSON."""
    try:
        import fastavro  # noqa: F401
    except ImportError:
        raise options.problem("format 'avro' needs fastavro: pip install 'millrace-streaming[avro]'") from None
    as_json = options.one_of(ENCODING, (BINARY, JSON), BINARY) == JSON
    try:
        return avro_schema(options.table.columns, options.flag(LEGACY_TIMESTAMPS, True)), as_json
    except NoForm as error:
        raise options.problem(f"format 'avro', {error}") from error


@dataclass(frozen=True)
class _Avro:
    """Messages of a table."""

    table: str
    columns: Schema
    schema: dict[str, Any]
    as_json: bool
    """Avro's JSON instead of its binary form"""


class AvroDecoding(_Avro, DecodingFormat):
    def decode(self, messages: pa.Array) -> Decoded:
        import fastavro

        schema = fastavro.parse_schema(self.schema)
        read = self._json if self.as_json else self._binary
        records, numbers = [], []
        for number, message in enumerate(messages.to_pylist()):
            if message is None:
                continue
            try:
                records.append(read(message, schema))
            except UNREADABLE as error:
                text = f"not a record of the table's Avro schema: {reason(error)}"
                raise malformed(self.table, number, message, text) from error
            numbers.append(number)
        columns = avro_columns(records, self.columns)
        return Decoded(Rows(record_batch(columns, len(records))), np.array(numbers, np.int64))

    @staticmethod
    def _binary(message: bytes, schema: Any) -> Any:
        return read_message(message, schema, recursive=False)

    @staticmethod
    def _json(message: bytes, schema: Any) -> Any:
        import fastavro

        # The reader takes a record a line.
        text = json.dumps(json.loads(message))
        return next(iter(fastavro.json_reader(io.StringIO(text), schema)))


class AvroEncoding(_Avro, EncodingFormat):
    def encode(self, rows: Rows) -> pa.Array:
        import fastavro

        schema = fastavro.parse_schema(self.schema)
        write = self._json if self.as_json else write_message
        try:
            messages = [write(record, schema) for record in avro_records(rows, self.columns)]
        except (ValueError, TypeError) as error:
            raise ValueError(f"table {self.table}: a row has no form in the table's Avro schema: {error}") from error
        return pa.array(messages, pa.binary())

    @staticmethod
    def _json(record: dict[str, Any], schema: Any) -> bytes:
        import fastavro

        stream = io.StringIO()
        fastavro.json_writer(stream, schema, [record])
        return stream.getvalue().strip().encode("utf-8")
