"""Queries as trees -> relational plans: names, types, subqueries as joins, joins as what their conditions make them.

bind_query(tree, resolver)              the plan of a query
bind_insert(statement, resolver)        the plan of an INSERT
computed_field(name, tree, columns, resolver)   the type of a computed column, for DDL
bind(tree, Block.of(columns, resolver))         an expression over columns: how the Table API binds its own
"""

from __future__ import annotations

import sys

from millrace.relational.nodes import Field, Schema
from millrace.table.sql import nodes
from millrace.table.sql.binding import from_clause
from millrace.table.sql.binding.insert import bind_insert
from millrace.table.sql.binding.scope import (
    Environment,
    Resolver,
    SinkInfo,
    TableInfo,
    UserFunction,
    reported,
)
from millrace.table.sql.binding.select import bind_query
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


def computed_field(name: str, tree: nodes.Node, columns: Schema, resolver: Resolver) -> Field:
    """The type of a computed column, for DDL: checks its expression against the columns of the table."""
    with reported(tree):
        return from_clause.computed_field(name, tree, columns, Environment(resolver))
