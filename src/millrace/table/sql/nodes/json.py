"""Calls of JSON functions. What was not said has Flink's default."""

from __future__ import annotations

from millrace.table.sql.nodes.base import Node
from millrace.table.sql.nodes.literals import TypeName


class JsonValue(Node):
    """JSON_VALUE. ``on_empty``, ``on_error``: NULL, ERROR, DEFAULT."""

    this: Node
    path: Node
    returning: TypeName | None = None
    on_empty: str = "NULL"
    empty_default: Node | None = None
    on_error: str = "NULL"
    error_default: Node | None = None


class JsonQuery(Node):
    """JSON_QUERY. ``wrapper``: WITHOUT, CONDITIONAL, UNCONDITIONAL."""

    this: Node
    path: Node
    returning: TypeName | None = None
    wrapper: str = "WITHOUT"
    on_empty: str = "NULL"
    on_error: str = "NULL"


class JsonExists(Node):
    """JSON_EXISTS."""

    this: Node
    path: Node
    on_error: str | None = "FALSE"


class JsonEntry(Node):
    """A key and its value."""

    this: Node
    expression: Node


class JsonObject(Node):
    """JSON_OBJECT. ``on_null``: NULL or ABSENT."""

    expressions: tuple[JsonEntry, ...] = ()
    on_null: str = "NULL"


class JsonObjectAgg(Node):
    """JSON_OBJECTAGG."""

    this: JsonEntry
    on_null: str = "NULL"


class JsonArray(Node):
    """JSON_ARRAY."""

    expressions: tuple[Node, ...] = ()
    on_null: str = "ABSENT"


class JsonArrayAgg(Node):
    """JSON_ARRAYAGG."""

    this: Node
    on_null: str = "ABSENT"
