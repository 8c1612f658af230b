"""Names and options that several nodes together say."""

from __future__ import annotations

from typing import TypeAlias

from millrace.table.sql.nodes.base import Node
from millrace.table.sql.nodes.clauses import HintCall, PropertyEQ
from millrace.table.sql.nodes.literals import Literal
from millrace.table.sql.nodes.names import Column, Dot, Identifier, Star, Var
from millrace.table.sql.nodes.patterns import MatchRecognize
from millrace.table.sql.nodes.queries import Subquery
from millrace.table.sql.nodes.relations import Lateral, Table, TableFunction, Unnest

Relation: TypeAlias = "Table | Lateral | TableFunction | Unnest | Subquery | MatchRecognize"
"""an item of FROM that may have an alias"""


def name_of(node: Node) -> str:
    """The name or the text that a node consists of or begins with; an empty text if there is none."""
    if isinstance(node, Star):
        return node.name
    first = getattr(node, "this", "")
    if isinstance(first, Node):
        return name_of(first) if isinstance(first, (Identifier, Literal, Var, Star)) else ""
    return str(first)


def table_path(table: Table) -> tuple[str, ...]:
    """The names of a table as written: one to three."""
    return tuple(part.name for part in (table.catalog, table.db, table.this) if part)


def column_parts(column: Column | Dot) -> tuple[Identifier | Star, ...]:
    """The names of ``a.b.c`` in their order.

    :raises ValueError: a field of something that is not a name.
    """
    if isinstance(column, Dot):
        if not isinstance(column.this, (Column, Dot)):
            raise ValueError(f"{column.this!r} is not a name")
        assert isinstance(column.expression, (Identifier, Star))
        return (*column_parts(column.this), column.expression)
    return tuple(part for part in (column.catalog, column.db, column.table, column.this) if part is not None)


def call_path(call: Node) -> tuple[str, ...]:
    """The names of ``cat.db.f`` in their order, of a call or of what qualifies one."""
    if isinstance(call, Dot):
        return (*_dotted(call.this), *call_path(call.expression))
    return (name_of(call),)


def _dotted(node: Node) -> tuple[str, ...]:
    return (*_dotted(node.this), name_of(node.expression)) if isinstance(node, Dot) else (name_of(node),)


def hint_options(hint: HintCall) -> dict[str, str]:
    """The keys and values of OPTIONS, STATE_TTL, LOOKUP."""
    pairs = (part for part in hint.expressions if isinstance(part, PropertyEQ))
    return {name_of(pair.this): name_of(pair.expression) for pair in pairs}


def hint_names(hint: HintCall) -> tuple[str, ...]:
    """The tables that BROADCAST and its like name."""
    return tuple(name_of(part) for part in hint.expressions if not isinstance(part, PropertyEQ))
