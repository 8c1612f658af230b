"""Calls of JSON functions. What was not said has Flink's default."""

from __future__ import annotations

from dataclasses import dataclass

from millrace.table.sql.nodes.base import Node
from millrace.table.sql.nodes.literals import TypeName


@dataclass(frozen=True, slots=True)
class JsonValue(Node):
    """JSON_VALUE. ``on_empty``, ``on_error``: NULL, ERROR, DEFAULT."""

    this: Node
    path: Node
    returning: TypeName | None = None
    on_empty: str = "NULL"
    empty_default: Node | None = None
    on_error: str = "NULL"
    error_default: Node | None = None


@dataclass(frozen=True, slots=True)
class JsonQuery(Node):
    """JSON_QUERY. ``wrapper``: WITHOUT, CONDITIONAL, UNCONDITIONAL."""

    this: Node
    path: Node
    returning: TypeName | None = None
    wrapper: str = "WITHOUT"
    on_empty: str = "NULL"
    on_error: str = "NULL"


@dataclass(frozen=True, slots=True)
class JsonExists(Node):
    """JSON_EXISTS."""

    this: Node
    path: Node
    on_error: str | None = "FALSE"


@dataclass(frozen=True, slots=True)
class JsonEntry(Node):
    """A key and its value."""

    this: Node
    expression: Node


@dataclass(frozen=True, slots=True)
class JsonObject(Node):
    """JSON_OBJECT. ``on_null``: NULL or ABSENT."""

    expressions: tuple[JsonEntry, ...] = ()
    on_null: str = "NULL"


@dataclass(frozen=True, slots=True)
class JsonObjectAgg(Node):
    """JSON_OBJECTAGG."""

    this: JsonEntry
    on_null: str = "NULL"


@dataclass(frozen=True, slots=True)
class JsonArray(Node):
    """JSON_ARRAY."""

    expressions: tuple[Node, ...] = ()
    on_null: str = "ABSENT"


@dataclass(frozen=True, slots=True)
class JsonArrayAgg(Node):
    """JSON_ARRAYAGG."""

    this: Node
    on_null: str = "ABSENT"
