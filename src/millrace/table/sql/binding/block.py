"""What the parts of one query block are bound against."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, replace

from millrace.relational.nodes import Rel, Schema
from millrace.relational.rex import Ref, Rex
from millrace.table.sql import nodes
from millrace.table.sql.binding.resolver import Resolver
from millrace.table.sql.binding.scopes import Scope, scope_of
from millrace.util.record import Record

Intercept = Callable[[nodes.Node], "Rex | None"]


class Environment(Record):
    """The session and the names that WITH clauses around a query give."""

    resolver: Resolver
    ctes: Mapping[str, Rel] = field(default_factory=dict)

    def with_cte(self, name: str, plan: Rel) -> Environment:
        return replace(self, ctes={**self.ctes, name: plan})


class Block(Record):
    """Where an expression stands: what its names mean, and which functions it may call."""

    environment: Environment
    scope: Scope
    outer: Block | None = None
    """the query around a subquery"""
    place: str = "an expression"
    """the clause, for errors"""
    intercept: Intercept | None = None
    """looks at every part first and may bind it in its own way: aggregates, OVER"""
    expose: Callable[[Rex, nodes.Node], Rex] | None = None
    """of a grouped query: its columns as they are after grouping, for the subqueries in it"""

    @staticmethod
    def of(columns: Schema, resolver: Resolver) -> Block:
        """Expressions over the columns of one table."""
        return Block(Environment(resolver), scope_of(None, columns))

    @property
    def columns(self) -> Schema:
        """All columns that names can mean."""
        return self.scope.fields

    @property
    def zone(self) -> str:
        """The time zone of the session."""
        return self.environment.resolver.zone

    def ref(self, index: int) -> Ref:
        """A column by its place."""
        return Ref(self.columns[index].type, index)

    def over(self, columns: Schema) -> Block:
        """The same place over the columns of one other table."""
        return replace(self, scope=scope_of(None, columns))

    def at(self, place: str) -> Block:
        """The same names in another clause, without aggregates and OVER."""
        return replace(self, place=place, intercept=None)

    def named(self, place: str) -> Block:
        """The same block, called something else in errors."""
        return replace(self, place=place)
