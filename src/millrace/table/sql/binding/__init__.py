"""Queries as trees -> relational plans: names, types, subqueries as joins, joins as what their conditions make them.

bind_query(tree, resolver)              the plan of a query
bind_insert(statement, resolver)        the plan of an INSERT
computed_field(name, tree, columns, resolver)   the type of a computed column, for DDL
bind(tree, Block.of(columns, resolver))         an expression over columns: how the Table API binds its own
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence

from millrace.relational.nodes import Field, Rel, Schema
from millrace.table.sql import nodes
from millrace.table.sql.binding import from_clause
from millrace.table.sql.binding.from_clause import renamed
from millrace.table.sql.binding.insert import bind_insert
from millrace.table.sql.binding.scope import (
    Environment,
    Resolver,
    SinkInfo,
    TableInfo,
    UserFunction,
    bind_rel,
    reported,
)
from millrace.util.names import import_modules

import_modules(sys.modules[__name__])

__all__ = [
    "Resolver",
    "SinkInfo",
    "TableInfo",
    "UserFunction",
    "bind_insert",
    "bind_query",
    "computed_field",
]


def bind_query(tree: nodes.Node, resolver: Resolver) -> Rel:
    """The plan of a query. Columns with the same name get a number: ``a``, ``a0``.

    :raises SqlValidationError: names or types are wrong, or it needs what is not supported.
    """
    with reported(tree):
        plan = bind_rel(tree, Environment(resolver))
    return renamed(plan, unique_names(plan.names))


def computed_field(name: str, tree: nodes.Node, columns: Schema, resolver: Resolver) -> Field:
    """The type of a computed column, for DDL: checks its expression against the columns of the table."""
    with reported(tree):
        return from_clause.computed_field(name, tree, columns, Environment(resolver))


def unique_names(names: Sequence[str]) -> list[str]:
    """Names of which no two are equal: a number is appended where one comes again."""
    taken = set(names)
    seen: Counter[str] = Counter()
    unique = []
    for name in names:
        new = name
        if seen[name]:
            at = 0
            while (new := f"{name}{at}") in taken:
                at += 1
            taken.add(new)
        seen[name] += 1
        unique.append(new)
    return unique
