"""The types of columns of an Avro schema."""

from __future__ import annotations

from typing import Any

from millrace.relational import types as t
from millrace.relational.nodes import Field
from millrace.relational.types import DataType

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
    return [Field(each["name"], _type(each["type"])) for each in schema["fields"]]


def _type(schema: Any) -> DataType:
    if isinstance(schema, list):
        kinds = [each for each in schema if each != "null"]
        if len(kinds) != 1:
            raise ValueError(f"a union of {len(kinds)} types has no counterpart: {schema}")
        return _type(kinds[0])
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
        return t.RowType([t.RowField(each["name"], _type(each["type"])) for each in schema["fields"]])
    if kind == "array":
        return t.ArrayType(_type(schema["items"]))
    if kind == "map":
        return t.MapType(t.VarCharType(t.MAX_LENGTH, False), _type(schema["values"]))
    if kind == "fixed":
        return t.BinaryType(schema["size"])
    return _type(kind)
