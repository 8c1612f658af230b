"""Names and options that several nodes together say."""

from __future__ import annotations

from millrace.table.sql.nodes.base import Node
from millrace.table.sql.nodes.clauses import HintCall, PropertyEQ
from millrace.table.sql.nodes.names import Column, Dot, Identifier, Star
from millrace.table.sql.nodes.relations import Table


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
    return (call.name,)


def _dotted(node: Node) -> tuple[str, ...]:
    return (*_dotted(node.this), node.expression.name) if isinstance(node, Dot) else (node.name,)


def hint_options(hint: HintCall) -> dict[str, str]:
    """The keys and values of OPTIONS, STATE_TTL, LOOKUP."""
    pairs = (part for part in hint.expressions if isinstance(part, PropertyEQ))
    return {pair.this.name: pair.expression.name for pair in pairs}


def hint_names(hint: HintCall) -> tuple[str, ...]:
    """The tables that BROADCAST and its like name."""
    return tuple(part.name for part in hint.expressions if not isinstance(part, PropertyEQ))
