"""Rows of a DataStream as Avro records without their schema, which both sides know. Needs fastavro."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from typing import Any

from millrace.common import Row, Types
from millrace.common.serialization import DeserializationSchema, SerializationSchema
from millrace.common.typeinfo import TypeInformation
from millrace.formats.avro_safe import UNREADABLE, is_recursive, read_message, reason

__all__ = ["AvroRowDeserializationSchema", "AvroRowSerializationSchema"]

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
        """Without the NULL of a union, and names as what they stand for."""
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
        stream = io.BytesIO(message)
        try:
            record = read_message(stream, self._schema.parsed, self._recursive)
        except UNREADABLE as error:
            raise ValueError(f"no record of the Avro schema: {reason(error)}") from error
        if stream.tell() != len(message):
            raise ValueError(f"no record of the Avro schema: {len(message) - stream.tell()} bytes are left over")
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
        import fastavro

        stream = io.BytesIO()
        try:
            fastavro.schemaless_writer(stream, self._schema.parsed, self._convert(value))
        except (TypeError, AttributeError, KeyError) as error:
            raise ValueError(f"{value!r} has no form in the Avro schema: {error}") from error
        return stream.getvalue()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (None, self._schema.text)
