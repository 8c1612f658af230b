"""A table's schema as Kafka Connect writes it into messages of Debezium."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from millrace.connectors.cdc.schema import TableSchema
from millrace.relational import types as t
from millrace.relational.types import DataType

_NAMES: Mapping[type[DataType], str] = {
    t.BooleanType: "boolean",
    t.TinyIntType: "int16",
    t.SmallIntType: "int16",
    t.IntType: "int32",
    t.BigIntType: "int64",
    t.FloatType: "float",
    t.DoubleType: "double",
}
"""others are texts in the messages, as which the schema tells of them"""


@lru_cache(maxsize=256)
def connect_schema(schema: TableSchema) -> str:
    """``before`` and ``after``, as they are in the message."""
    sides = [_side(schema, name) for name in ("before", "after")]
    found: dict[str, Any] = {"type": "struct", "fields": sides, "optional": False}
    return json.dumps(found, ensure_ascii=False, separators=(",", ":"))


def _side(schema: TableSchema, name: str) -> dict[str, Any]:
    fields = []
    for column in schema.columns:
        kind = "double" if isinstance(column.type, t.DecimalType) else _NAMES.get(type(column.type), "string")
        fields.append({"type": kind, "optional": column.type.is_nullable, "field": column.name})
    return {"type": "struct", "fields": fields, "optional": True, "field": name}
