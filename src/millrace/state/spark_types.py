"""Arrow types as Spark has them, and their names in its DDL."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyarrow import types

__all__ = ["ddl_of", "spark_type", "type_name"]

_SIMPLER = {
    pa.large_string(): pa.string(),
    pa.large_binary(): pa.binary(),
    pa.time64("us"): pa.string(),
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
}
_NAMES = {
    pa.bool_(): "BOOLEAN",
    pa.int8(): "TINYINT",
    pa.int16(): "SMALLINT",
    pa.int32(): "INT",
    pa.int64(): "BIGINT",
    pa.float32(): "FLOAT",
    pa.float64(): "DOUBLE",
    pa.decimal128(20, 0): "DECIMAL(20, 0)",
    pa.string(): "STRING",
    pa.binary(): "BINARY",
    pa.date32(): "DATE",
    pa.timestamp("us"): "TIMESTAMP_NTZ",
    pa.timestamp("us", "UTC"): "TIMESTAMP",
    pa.duration("us"): "INTERVAL DAY TO SECOND",
}


def spark_type(type: Any) -> Any:
    """The nearest type that Spark has: times of day become text, numbers without sign wider ones."""
    if types.is_struct(type):
        return pa.struct([field.with_type(spark_type(field.type)) for field in type.fields])
    if types.is_large_list(type):
        return pa.list_(spark_type(type.value_type))
    if types.is_map(type):
        return pa.map_(spark_type(type.key_type), spark_type(type.item_type))
    return _SIMPLER.get(type, type)


def ddl_of(schema: Any) -> str:
    """A schema of types that ``spark_type`` gives."""
    return ", ".join(f"{_quoted(field.name)} {type_name(field.type)}" for field in schema)


def type_name(type: Any) -> str:
    """The name of a type that ``spark_type`` gives."""
    if types.is_struct(type):
        return f"STRUCT<{', '.join(f'{_quoted(field.name)}: {type_name(field.type)}' for field in type.fields)}>"
    if types.is_list(type):
        return f"ARRAY<{type_name(type.value_type)}>"
    if types.is_map(type):
        return f"MAP<{type_name(type.key_type)}, {type_name(type.item_type)}>"
    return _NAMES[type]


def _quoted(name: str) -> str:
    escaped = name.replace("`", "``")
    return f"`{escaped}`"
