"""Avro for DataStreams: generic records, which are dicts in Python, in files; and rows as messages without their
schema, which reader and writer both have to know. Needs fastavro."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from millrace.common import Row, Types
from millrace.common.files.file_systems import absolute
from millrace.common.io import InputFormat, ResultTypeQueryable
from millrace.common.serialization import BulkWriter, BulkWriterFactory, DeserializationSchema, SerializationSchema
from millrace.common.typeinfo import TypeInformation
from millrace.connectors.file_system.file_format import BulkFormat, SplitRecords
from millrace.connectors.file_system.file_listing import FileEnumeratorProvider
from millrace.connectors.file_system.file_source import FileSource
from millrace.connectors.file_system.file_stream import FileSplit, RecordError
from millrace.formats.avro_blocks import UNREADABLE, is_recursive, reason
from millrace.formats.avro_records import AvroFileRecords, read_message, write_message

_ORDER = ("type", "name", "namespace", "doc", "fields", "items", "values", "symbols", "size", "default", "aliases")
"""Attributes of a schema that Java's Avro prints, in its order; the name of a field comes before its type."""


class AvroSchema:
    """A schema of Avro: ``AvroSchema.parse_string(...)`` or ``parse_file(...)``.

        >>> text = '{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "int"}]}'
        >>> schema = AvroSchema.parse_string(text)

    :raises ValueError: the text is no Avro schema.
    """

    def __init__(self, schema_string: str) -> None:
        try:
            import fastavro
        except ImportError:
            raise ImportError("AvroSchema needs fastavro: pip install 'millrace-streaming[avro]'") from None
        try:
            plain = json.loads(schema_string)
            fastavro.parse_schema(plain)
        except Exception as error:
            raise ValueError(f"this is no Avro schema: {error}") from error
        self._text = json.dumps(_ordered(plain), separators=(",", ":"), ensure_ascii=False)

    @staticmethod
    def parse_string(json_schema: str) -> AvroSchema:
        """A schema from its JSON."""
        return AvroSchema(json_schema)

    @staticmethod
    def parse_file(file_path: str) -> AvroSchema:
        """A schema from a file of JSON.

        >>> import pathlib
        >>> text = '{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "int"}]}'
        >>> _ = pathlib.Path("order.avsc").write_text(text)
        >>> schema = AvroSchema.parse_file("order.avsc")
        """
        return AvroSchema(Path(file_path).read_text("utf-8"))

    @cached_property
    def plain(self) -> Any:
        """The schema as Python's values of JSON."""
        return json.loads(self._text)

    @cached_property
    def parsed(self) -> Any:
        """The schema as fastavro takes it."""
        import fastavro

        return fastavro.parse_schema(self.plain)

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"AvroSchema({self._text!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AvroSchema) and other._text == self._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __reduce__(self) -> tuple[Any, ...]:
        return AvroSchema, (self._text,)


def _ordered(schema: Any, is_field: bool = False) -> Any:
    """A schema with its attributes in the order in which Java's Avro prints them."""
    if isinstance(schema, list):
        return [_ordered(each) for each in schema]
    if not isinstance(schema, Mapping):
        return schema
    first = ("name", "type") if is_field else ()
    names = [name for name in (*first, *_ORDER) if name in schema]
    names += [name for name in schema if name not in names]
    ordered = {name: schema[name] for name in names}
    for name in ("type", "items", "values"):
        if name in ordered:
            ordered[name] = _ordered(ordered[name])
    if "fields" in ordered:
        ordered["fields"] = [_ordered(each, True) for each in ordered["fields"]]
    return ordered


class GenericRecordAvroTypeInfo(TypeInformation):
    """The type of records of a schema; they are dicts.

    >>> text = '{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "int"}]}'
    >>> orders = env.from_collection([{"id": 1}], GenericRecordAvroTypeInfo(AvroSchema.parse_string(text)))
    >>> list(orders.execute_and_collect())
    [{'id': 1}]
    """

    __slots__ = ("_schema",)

    def __init__(self, schema: AvroSchema) -> None:
        if not isinstance(schema, AvroSchema):
            raise TypeError(f"GenericRecordAvroTypeInfo takes an AvroSchema, not a {type(schema).__name__}")
        self._schema = schema

    def _key(self) -> Any:
        return self._schema

    def __repr__(self) -> str:
        return f'GenericRecord("{self._schema}")'


class AvroInputFormat(InputFormat, FileSource[dict[str, Any]], ResultTypeQueryable):
    """The records of an Avro file, or of the files of a folder, for ``env.create_input``.

        >>> text = '{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "int"}]}'
        >>> orders = AvroInputFormat("orders.avro", AvroSchema.parse_string(text))

    :param path: the file or folder.
    :param schema: of the records; files are read by the schema that they were written with.
    """

    def __init__(self, path: str, schema: AvroSchema) -> None:
        self._schema = schema
        whole = FileEnumeratorProvider.default_non_splittable_file_enumerator()
        super().__init__(AvroFileFormat(schema), (absolute(path),), whole, None)

    def get_produced_type(self) -> GenericRecordAvroTypeInfo:
        return GenericRecordAvroTypeInfo(self._schema)


class AvroFileFormat(BulkFormat[dict[str, Any]]):
    """Avro files, read block by block."""

    def __init__(self, schema: AvroSchema) -> None:
        self._schema = schema

    def open(self, split: FileSplit) -> SplitRecords[dict[str, Any]]:
        return _AvroRecords(split)

    def get_produced_type(self) -> GenericRecordAvroTypeInfo:
        return GenericRecordAvroTypeInfo(self._schema)


class _AvroRecords(AvroFileRecords[dict[str, Any]]):
    def batch(self, records: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return records

    def problem(self, error: Exception, read: int) -> RecordError:
        place = f", after record {read}" if read else ""
        return RecordError(f"{self._path}{place}: not an Avro file: {reason(error)}")


class AvroBulkWriters:
    """Writers of Avro files for ``FileSink.for_bulk_format``.

    >>> text = '{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "int"}]}'
    >>> schema = AvroSchema.parse_string(text)
    >>> sink = FileSink.for_bulk_format("out", AvroBulkWriters.for_generic_record(schema)).build()
    >>> written = env.from_collection([{"id": 1}], GenericRecordAvroTypeInfo(schema)).sink_to(sink)
    >>> result = env.execute()
    """

    @staticmethod
    def for_generic_record(schema: AvroSchema) -> BulkWriterFactory:
        """Write dicts that fit the schema."""
        return _AvroWriterFactory(schema)


class _AvroWriterFactory(BulkWriterFactory):
    def __init__(self, schema: AvroSchema) -> None:
        self._schema = schema

    def create(self, stream: Any) -> BulkWriter:
        return _AvroWriter(stream, self._schema)


class _AvroWriter(BulkWriter):
    def __init__(self, stream: Any, schema: AvroSchema) -> None:
        from fastavro.write import Writer

        # In Avro's Python library, which PyFlink uses, a tuple is no name of a type with a value of it.
        self._writer = Writer(_Stream(stream), schema.parsed, options={"disable_tuple_notation": True})

    def add_element(self, element: Any) -> None:
        """:raises ValueError: it has no form in the schema."""
        try:
            self._writer.write(element)
        except (ValueError, TypeError, AttributeError, KeyError, OverflowError) as error:
            raise ValueError(f"{element!r} has no form in the Avro schema: {error}") from error

    def flush(self) -> None:
        self._writer.flush()

    def finish(self) -> None:
        self.flush()


class _Stream:
    """What fastavro writes to: a new file, whatever the stream below can do."""

    def __init__(self, stream: Any) -> None:
        self.write = stream.write

    def flush(self) -> None:
        """The stream's owner decides when."""

    def seekable(self) -> bool:
        return False


Convert = Callable[[Any], Any]

_SIMPLE: dict[str, Callable[[], TypeInformation]] = {
    "boolean": Types.BOOLEAN,
    "int": Types.INT,
    "long": Types.LONG,
    "float": Types.FLOAT,
    "double": Types.DOUBLE,
    "string": Types.STRING,
    "enum": Types.STRING,
    "bytes": lambda: Types.PRIMITIVE_ARRAY(Types.BYTE()),
    "fixed": lambda: Types.PRIMITIVE_ARRAY(Types.BYTE()),
}
_LOGICAL: dict[str, Callable[[], TypeInformation]] = {
    "decimal": Types.BIG_DEC,
    "date": Types.SQL_DATE,
    "time-millis": Types.SQL_TIME,
    "time-micros": Types.SQL_TIME,
    "timestamp-millis": Types.SQL_TIMESTAMP,
    "timestamp-micros": Types.SQL_TIMESTAMP,
}


class _Schema:
    """A schema of records.

    :raises TypeError: it is none of a record. :raises ValueError: it is no Avro schema.
    """

    def __init__(self, who: str, record_class: str | None, text: str | None) -> None:
        if record_class is not None:
            raise NotImplementedError(f"{who} can't take a record_class, which is Java's; nearest: avro_schema_string")
        if text is None:
            raise TypeError(f"{who} needs avro_schema_string")
        try:
            import fastavro
        except ImportError:
            raise ImportError(f"{who} needs fastavro: pip install 'millrace-streaming[avro]'") from None
        self.text = text
        try:
            self.parsed: Any = fastavro.parse_schema(json.loads(text))
        except Exception as error:
            raise ValueError(f"{who}: avro_schema_string is no Avro schema: {error}") from error
        if self.parsed.get("type") != "record":
            raise TypeError(f"{who} takes the schema of a record")
        self.named: dict[str, Any] = {}
        self._note(self.parsed)

    def _note(self, schema: Any) -> None:
        """Remember what is named, since a schema may name it again."""
        if isinstance(schema, list):
            for each in schema:
                self._note(each)
        elif isinstance(schema, Mapping):
            if "name" in schema:
                self.named[schema["name"]] = schema
            for each in schema.get("fields", ()):
                self._note(each["type"])
            for part in ("items", "values"):
                self._note(schema.get(part))

    def whole(self, schema: Any) -> Any:
        """The schema without the NULL of a union, and with named types replaced by their definitions."""
        if isinstance(schema, list):
            others = [each for each in schema if each != "null"]
            if len(others) != 1:
                raise TypeError(f"Avro's union {schema} is no type of a row: only one with null is")
            return self.whole(others[0])
        return self.named.get(schema, schema) if isinstance(schema, str) else schema

    def type_of(self, schema: Any) -> TypeInformation:
        found = self.whole(schema)
        kind = found if isinstance(found, str) else found["type"]
        if isinstance(found, Mapping) and found.get("logicalType") in _LOGICAL:
            return _LOGICAL[found["logicalType"]]()
        if kind == "record":
            names = [field["name"] for field in found["fields"]]
            return Types.ROW_NAMED(names, [self.type_of(field["type"]) for field in found["fields"]])
        if kind == "array":
            return Types.LIST(self.type_of(found["items"]))
        if kind == "map":
            return Types.MAP(Types.STRING(), self.type_of(found["values"]))
        return _SIMPLE[kind]()

    def converter(self, schema: Any, record: Callable[[list[tuple[str, Convert]]], Convert]) -> Convert:
        """:param record: makes the conversion of a record from those of its fields."""
        found = self.whole(schema)
        kind = found if isinstance(found, str) else found["type"]
        convert: Convert
        if kind == "record":
            convert = record([(each["name"], self.converter(each["type"], record)) for each in found["fields"]])
        elif kind == "array":
            item = self.converter(found["items"], record)
            convert = lambda value: [item(each) for each in value]
        elif kind == "map":
            part = self.converter(found["values"], record)
            convert = lambda value: {str(key): part(each) for key, each in value.items()}
        else:
            return _same
        return lambda value: None if value is None else convert(value)


def _same(value: Any) -> Any:
    return value


def _from_record(fields: list[tuple[str, Convert]]) -> Convert:
    names = [name for name, _ in fields]

    def convert(record: Any) -> Row:
        row = Row(*[part(record[name]) for name, part in fields])
        row.set_field_names(names)
        return row

    return convert


def _to_record(fields: list[tuple[str, Convert]]) -> Convert:
    def convert(value: Any) -> dict[str, Any]:
        given = [value.get(name) for name, _ in fields] if isinstance(value, Mapping) else list(value)
        if len(given) != len(fields):
            raise ValueError(f"{value!r} has {len(given)} fields, the Avro schema has {len(fields)}")
        return {name: part(each) for (name, part), each in zip(fields, given)}

    return convert


class AvroRowDeserializationSchema(DeserializationSchema):
    """Avro records as rows.

        >>> text = '{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "int"}]}'
        >>> AvroRowDeserializationSchema(avro_schema_string=text).deserialize(b"\\x02")
        Row(id=1)

    :param record_class: Java's; refused.
    :param avro_schema_string: the schema that messages were written with, as JSON.
    """

    def __init__(self, record_class: str | None = None, avro_schema_string: str | None = None) -> None:
        self._schema = _Schema(type(self).__name__, record_class, avro_schema_string)
        self._convert = self._schema.converter(self._schema.parsed, _from_record)
        self._recursive = is_recursive(self._schema.parsed)

    def deserialize(self, message: bytes) -> Row:
        """:raises ValueError: it is no record of the schema."""
        try:
            record = read_message(message, self._schema.parsed, self._recursive)
        except UNREADABLE as error:
            raise ValueError(f"no record of the Avro schema: {reason(error)}") from error
        row: Row = self._convert(record)
        return row

    def get_produced_type(self) -> TypeInformation:
        """The type of the rows."""
        return self._schema.type_of(self._schema.parsed)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (None, self._schema.text)


class AvroRowSerializationSchema(SerializationSchema):
    """Rows, tuples or dicts as Avro records, fields by their position (those of dicts by their names).

        >>> text = '{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "int"}]}'
        >>> AvroRowSerializationSchema(avro_schema_string=text).serialize(Row(id=1))
        b'\\x02'

    :param record_class: Java's; refused.
    :param avro_schema_string: the schema, as JSON.
    """

    def __init__(self, record_class: str | None = None, avro_schema_string: str | None = None) -> None:
        self._schema = _Schema(type(self).__name__, record_class, avro_schema_string)
        self._convert = self._schema.converter(self._schema.parsed, _to_record)

    def serialize(self, value: Any) -> bytes:
        """:raises ValueError: a value has no form in the schema."""
        try:
            return write_message(self._convert(value), self._schema.parsed)
        except (TypeError, AttributeError, KeyError) as error:
            raise ValueError(f"{value!r} has no form in the Avro schema: {error}") from error

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (None, self._schema.text)
