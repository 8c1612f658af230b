"""Parquet files of Avro records, which are dicts in Python: schemas and values of Avro and Arrow in both directions.
Needs fastavro.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from millrace.common.serialization import BulkWriter, BulkWriterFactory
from millrace.connectors.file_system.file_format import SplitRecords, StreamFormat
from millrace.connectors.file_system.file_stream import FileSplit, RecordError
from millrace.formats.avro import AvroSchema, GenericRecordAvroTypeInfo
from millrace.formats.parquet import ROW_GROUP, ParquetBatches

_Convert = Callable[[Any], Any]
_SIMPLE = {
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "bytes": pa.binary(),
    "enum": pa.string(),
    "null": pa.null(),
}
_LOGICAL = {
    "date": pa.date32(),
    "time-millis": pa.time32("ms"),
    "time-micros": pa.time64("us"),
    "timestamp-millis": pa.timestamp("ms", "UTC"),
    "timestamp-micros": pa.timestamp("us", "UTC"),
    "local-timestamp-millis": pa.timestamp("ms"),
    "local-timestamp-micros": pa.timestamp("us"),
}
_NOTHING = object()
"""stands for a default that is not there"""


@dataclass(frozen=True)
class _Form:
    """How values of a schema are in Arrow."""

    type: Any
    to_arrow: _Convert
    from_arrow: _Convert
    nullable: bool = False


class ArrowRecords:
    """The records of a schema as Arrow has them.

    A union of several types is a struct of members of which one is there, as Java's Parquet library writes it.

    :raises TypeError: the schema is none of a record.
    """

    def __init__(self, schema: AvroSchema) -> None:
        if not isinstance(schema, AvroSchema):
            raise TypeError(f"an AvroSchema is expected, not a {type(schema).__name__}")
        if not isinstance(schema.plain, Mapping) or schema.plain.get("type") != "record":
            raise TypeError("Parquet files have records: the Avro schema must be that of a record")
        self._named: dict[str, Any] = {}
        form = self._form(schema.parsed)
        self.schema = pa.schema(list(form.type))
        self._form_of_all = form

    def to_row(self, record: Any) -> dict[str, Any]:
        """:raises ValueError: it has no form in the schema."""
        try:
            row: dict[str, Any] = self._form_of_all.to_arrow(record)
        except (TypeError, AttributeError) as error:
            raise ValueError(f"{record!r} has no form in the Avro schema: {error}") from error
        return row

    def from_batch(self, batch: Any) -> list[dict[str, Any]]:
        """:raises ValueError: a field is NULL that may not be, and has no default."""
        return [self._form_of_all.from_arrow(row) for row in batch.to_pylist()]

    def _form(self, schema: Any) -> _Form:
        if isinstance(schema, list):
            return self._union(schema)
        if isinstance(schema, str):
            return self._form(self._named[schema]) if schema in self._named else _same(_SIMPLE[schema])
        kind = schema["type"]
        if "name" in schema:
            self._named[schema["name"]] = schema
        if kind == "record":
            return self._record(schema)
        if kind == "array":
            item = self._form(schema["items"])
            to_arrow, from_arrow = _checked("an array's item", item)
            return _Form(
                pa.list_(pa.field("element", item.type, item.nullable)),
                lambda value: [to_arrow(each) for each in value],
                lambda value: [from_arrow(each) for each in value],
            )
        if kind == "map":
            part = self._form(schema["values"])
            to_arrow, from_arrow = _checked("a map's value", part)
            return _Form(
                pa.map_(pa.string(), pa.field("value", part.type, part.nullable)),
                lambda value: [(str(key), to_arrow(each)) for key, each in value.items()],
                lambda value: {key: from_arrow(each) for key, each in value},
            )
        if kind == "enum":
            return _enum(schema)
        logical = schema.get("logicalType")
        if logical == "decimal":
            return _same(pa.decimal128(schema["precision"], schema.get("scale", 0)))
        if logical in _LOGICAL:
            return _same(_LOGICAL[logical])
        return _same(pa.binary(schema["size"])) if kind == "fixed" else self._form(kind)

    def _record(self, schema: Any) -> _Form:
        fields = schema["fields"]
        forms = [(field["name"], self._form(field["type"]), field.get("default", _NOTHING)) for field in fields]
        convert = [(name, *_checked(f"field '{name}'", form, default)) for name, form, default in forms]
        names = {name for name, _, _ in forms}

        def to_arrow(value: Any) -> dict[str, Any]:
            if unknown := [name for name in value if name not in names]:
                raise ValueError(f"{value!r} has a field '{unknown[0]}', which the Avro schema has not")
            return {name: to(value.get(name)) for name, to, _ in convert}

        return _Form(
            pa.struct([pa.field(name, form.type, form.nullable) for name, form, _ in forms]),
            to_arrow,
            lambda value: {name: back(value[name]) for name, _, back in convert},
        )

    def _union(self, schema: list[Any]) -> _Form:
        others = [each for each in schema if each != "null"]
        forms = [self._form(each) for each in others]
        nullable = len(others) < len(schema)
        if not forms:
            return _Form(pa.null(), _unchanged, _unchanged, True)
        if len(forms) == 1:
            return _Form(forms[0].type, forms[0].to_arrow, forms[0].from_arrow, nullable)
        members = [f"member{at}" for at in range(len(forms))]
        known = dict(self._named)

        def to_arrow(value: Any) -> dict[str, Any]:
            at = _branch(value, others, known)
            return {name: forms[at].to_arrow(value) if at == each else None for each, name in enumerate(members)}

        def from_arrow(value: Any) -> Any:
            for name, form in zip(members, forms):
                if value[name] is not None:
                    return form.from_arrow(value[name])
            return None

        fields = [pa.field(name, form.type, True) for name, form in zip(members, forms)]
        return _Form(pa.struct(fields), to_arrow, from_arrow, nullable)


def _same(arrow: Any) -> _Form:
    return _Form(arrow, _unchanged, _unchanged, pa.types.is_null(arrow))


def _unchanged(value: Any) -> Any:
    return value


def _enum(schema: Any) -> _Form:
    symbols = frozenset(schema["symbols"])

    def to_arrow(value: Any) -> Any:
        if value not in symbols:
            raise ValueError(f"{value!r} is no symbol of the enum {schema['name']}")
        return value

    return _Form(pa.string(), to_arrow, _unchanged)


def _checked(what: str, form: _Form, default: Any = _NOTHING) -> tuple[_Convert, _Convert]:
    """The conversions in both directions, with a check for None: a missing value becomes the default, or None where
    that is allowed, else the conversion raises ``ValueError``."""
    absent = None if form.nullable and default is _NOTHING else default

    def convert(change: _Convert, missing: Any) -> _Convert:
        def checked(value: Any) -> Any:
            if value is not None:
                return change(value)
            if missing is _NOTHING:
                raise ValueError(f"{what} is None, which the Avro schema does not allow")
            return missing

        return checked

    written = None if form.nullable else absent
    to_arrow = convert(form.to_arrow, _NOTHING if written is _NOTHING else written)
    return to_arrow, convert(form.from_arrow, None if form.nullable else absent)


def _branch(value: Any, schemas: list[Any], named: dict[str, Any]) -> int:
    """Which schema of a union a value has."""
    from fastavro.validation import validate

    for at, schema in enumerate(schemas):
        whole = named.get(schema, schema) if isinstance(schema, str) else schema
        if validate(value, whole, raise_errors=False, disable_tuple_notation=True):
            return at
    raise ValueError(f"{value!r} has none of the types of the union {schemas}")


BATCH = 8192
"""rows that are read at once"""
SCHEMA_KEY = "parquet.avro.schema"
"""under which readers in Java find the schema in a file"""


class AvroParquetReaders:
    """Readers of Parquet files for ``FileSource.for_record_stream_format``.

    >>> text = '{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "int"}]}'
    >>> format = AvroParquetReaders.for_generic_record(AvroSchema.parse_string(text))
    >>> builder = FileSource.for_record_stream_format(format, "orders.parquet")
    """

    @staticmethod
    def for_generic_record(schema: AvroSchema) -> StreamFormat[dict[str, Any]]:
        """Read records as dicts. A field that a file lacks has the schema's default.

        :raises TypeError: the schema is none of a record.
        """
        return _AvroParquetFormat(schema)


class _AvroParquetFormat(StreamFormat[dict[str, Any]]):
    def __init__(self, schema: AvroSchema) -> None:
        ArrowRecords(schema)
        self._schema = schema

    def is_splittable(self, path: str) -> bool:
        return True

    def open(self, split: FileSplit) -> SplitRecords[dict[str, Any]]:
        return _AvroParquetRecords(split, ArrowRecords(self._schema))

    def get_produced_type(self) -> GenericRecordAvroTypeInfo:
        return GenericRecordAvroTypeInfo(self._schema)


class _AvroParquetRecords(ParquetBatches[dict[str, Any]]):
    def __init__(self, split: FileSplit, records: ArrowRecords) -> None:
        super().__init__(split, records.schema, BATCH, True)
        self._records = records

    def _elements(self, batch: Any) -> list[dict[str, Any]]:
        try:
            return self._records.from_batch(batch)
        except ValueError as error:
            raise RecordError(f"{self._split.path}: {error}") from error


class AvroParquetWriters:
    """Writers of Parquet files for ``FileSink.for_bulk_format``.

    >>> text = '{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "int"}]}'
    >>> writers = AvroParquetWriters.for_generic_record(AvroSchema.parse_string(text))
    >>> sink = FileSink.for_bulk_format("out", writers).build()
    """

    @staticmethod
    def for_generic_record(schema: AvroSchema) -> BulkWriterFactory:
        """Write dicts that fit the schema.

        :raises TypeError: the schema is none of a record.
        """
        ArrowRecords(schema)
        return _AvroParquetWriterFactory(schema)


class _AvroParquetWriterFactory(BulkWriterFactory):
    def __init__(self, schema: AvroSchema) -> None:
        self._schema = schema

    def create(self, stream: Any) -> BulkWriter:
        return _AvroParquetWriter(stream, self._schema)


class _AvroParquetWriter(BulkWriter):
    def __init__(self, stream: Any, schema: AvroSchema) -> None:
        self._records = ArrowRecords(schema)
        self._file = pq.ParquetWriter(stream, self._records.schema.with_metadata({SCHEMA_KEY: str(schema)}))
        self._rows: list[dict[str, Any]] = []

    def add_element(self, element: Any) -> None:
        """:raises ValueError: it has no form in the schema."""
        self._rows.append(self._records.to_row(element))
        if len(self._rows) >= ROW_GROUP:
            self.flush()

    def flush(self) -> None:
        if self._rows:
            self._file.write_batch(pa.RecordBatch.from_pylist(self._rows, self._records.schema))
            self._rows = []

    def finish(self) -> None:
        self.flush()
        self._file.close()
