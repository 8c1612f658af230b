"""Values of SQL as JSON text, for the aggregates that make JSON."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

from millrace.relational import types as t
from millrace.relational.types import DataType


def as_json(value: Any, data_type: DataType) -> str:
    """One value, in the form that Arrow has for its type."""
    if isinstance(data_type, t.VariantType) and value is not None:
        return str(value)  # it is JSON already
    return json.dumps(_plain(value, data_type), ensure_ascii=False, separators=(",", ":"))


def as_json_object(members: Mapping[str, str]) -> str:
    """An object of members that are JSON already."""
    return "{" + ",".join(f"{json.dumps(key, ensure_ascii=False)}:{text}" for key, text in members.items()) + "}"


def as_json_array(items: Sequence[str]) -> str:
    """An array of items that are JSON already."""
    return "[" + ",".join(items) + "]"


def _plain(value: Any, data_type: DataType) -> Any:
    if value is None:
        return None
    if isinstance(data_type, t.ArrayType):
        return [_plain(each, data_type.element_type) for each in value]
    if isinstance(data_type, t.MapType):
        return {str(key): _plain(item, data_type.value_type) for key, item in value}
    if isinstance(data_type, t.MultisetType):
        return {str(key): count for key, count in value}
    if isinstance(data_type, t.RowType):
        return {field.name: _plain(value[field.name], field.data_type) for field in data_type.fields}
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, datetime):
        text = value.replace(tzinfo=None).isoformat()
        return text if value.tzinfo is None else text + "Z"
    if isinstance(value, (date, time)):
        return value.isoformat()
    return value
