"""JSON schemas as types."""

from __future__ import annotations

import json
from typing import Any

from millrace.common.typeinfo import TypeInformation, Types

__all__ = ["type_of_json_schema"]


def type_of_json_schema(text: str) -> TypeInformation:
    """The type that a JSON schema describes, as Flink maps it: integer to BIG_INT, number to BIG_DEC, ...

    :raises ValueError: for text that is not a JSON schema of an object, or uses what has no type (unions, ...).
    """
    try:
        root = json.loads(text)
    except ValueError as error:
        raise ValueError(f"not a JSON schema: {error}") from error
    if not isinstance(root, dict):
        raise ValueError(f"not a JSON schema: {text}")
    return _convert(root, root)


def _convert(node: dict[str, Any], root: dict[str, Any]) -> TypeInformation:
    if "$ref" in node:
        return _convert(_resolve(node["$ref"], root), root)
    kind = node.get("type")
    if isinstance(kind, list):  # ["string", "null"]: fields may be None anyway
        kinds = [name for name in kind if name != "null"]
        if len(kinds) != 1:
            raise ValueError(f"a JSON schema's union of types has no type here: {kind}")
        kind = kinds[0]
    if kind == "object":
        fields = node.get("properties", {})
        return Types.ROW_NAMED(list(fields), [_convert(field, root) for field in fields.values()])
    if kind == "array":
        return _array(node, root)
    if kind == "string":
        return _string(node)
    simple = {"boolean": Types.BOOLEAN, "integer": Types.BIG_INT, "number": Types.BIG_DEC}
    if kind not in simple:
        raise ValueError(f"a JSON schema's type {kind!r} has no type here: {node}")
    return simple[kind]()


def _array(node: dict[str, Any], root: dict[str, Any]) -> TypeInformation:
    items = node.get("items")
    if isinstance(items, dict):
        return Types.OBJECT_ARRAY(_convert(items, root))
    raise ValueError(f"an array in a JSON schema needs one schema for its items: {node}")


def _string(node: dict[str, Any]) -> TypeInformation:
    formats = {"date": Types.SQL_DATE, "time": Types.SQL_TIME, "date-time": Types.SQL_TIMESTAMP}
    if node.get("format") in formats:
        return formats[node["format"]]()
    if node.get("contentEncoding") == "base64":
        return Types.PRIMITIVE_ARRAY(Types.BYTE())
    return Types.STRING()


def _resolve(ref: str, root: dict[str, Any]) -> dict[str, Any]:
    node: Any = root
    for step in ref.removeprefix("#").strip("/").split("/"):
        node = node.get(step) if isinstance(node, dict) and step else node
    if not ref.startswith("#") or not isinstance(node, dict):
        raise ValueError(f"a JSON schema's reference leads nowhere: {ref}")
    return node
