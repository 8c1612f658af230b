"""FROM: tables, views, subqueries and what joins them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from millrace.relational.nodes import Field, Project, Rel, Values
from millrace.relational.rex import Ref
from millrace.table.sql import nodes
from millrace.table.sql.binding.block import Block, Environment
from millrace.table.sql.binding.dispatch import bind_rel
from millrace.table.sql.binding.problems import fail
from millrace.table.sql.binding.relations.hints import QueryHints, table_options
from millrace.table.sql.binding.relations.tables import find_table, table_plan
from millrace.table.sql.binding.scopes import Scope, scope_of
from millrace.util.modules import entered
from millrace.util.record import Record


class Source(Record):
    """A part of a FROM clause: its rows and what its columns are called."""

    plan: Rel
    scope: Scope


class From(Record):
    """Where a FROM clause stands."""

    environment: Environment
    outer: Block | None = None
    left: Source | None = None
    """what stands to the left of a LATERAL"""
    hints: QueryHints = ()
    """of the query"""
    where: nodes.Node | None = None
    """the condition of the query, which all rows have to meet"""

    def block(self, scope: Scope, place: str) -> Block:
        return Block(self.environment, scope, self.outer, place)


NOTHING = Source(Values((), ((),)), Scope())
"""One row without columns: what a query without FROM reads."""

RelationBinder: TypeAlias = Callable[[Any, From], Source]
_relations: dict[type[nodes.Node], RelationBinder] = {}


def binds_relation(*kinds: type[nodes.Node]) -> Callable[[RelationBinder], RelationBinder]:
    """Register the decorated function for these items of FROM."""
    return entered(_relations, *kinds)


def bind_relation(tree: nodes.Node, at: From) -> Source:
    """One item of FROM."""
    handler = _relations.get(type(tree))
    if handler is None:
        fail(tree, f"{type(tree).__name__} cannot stand in FROM")
    return handler(tree, at)


@binds_relation(nodes.Table)
def _table(tree: nodes.Table, at: From) -> Source:
    path = nodes.table_path(tree)
    if tree.version is not None:
        fail(
            tree,
            "FOR SYSTEM_TIME AS OF stands on the right side of a JOIN; reading a table as of a constant time is not "
            "supported",
        )
    if len(path) == 1 and path[0] in at.environment.ctes:
        if table_options(tree):
            fail(tree, f"the hint OPTIONS takes tables: '{path[0]}' is a query of WITH, which can have it")
        return aliased(tree, Source(plan := at.environment.ctes[path[0]], scope_of(path[0], plan.schema)))
    info = find_table(tree, at.environment, table_options(tree))
    plan = table_plan(info, at.environment)
    return aliased(tree, Source(plan, scope_of(info.path[-1], plan.schema, info.path)))


@binds_relation(nodes.Subquery)
def _subquery(tree: nodes.Subquery, at: From) -> Source:
    plan = bind_rel(tree, at.environment, at.outer)
    return aliased(tree, Source(plan, scope_of(None, plan.schema)))


def aliased(tree: nodes.Relation, source: Source) -> Source:
    """With the alias of this item and its names for the columns."""
    alias = tree.alias
    if alias is None:
        return source
    columns = source.plan.schema
    names = [each.name for each in alias.columns or []]
    if names and len(names) != len(columns):
        fail(alias, f"{len(names)} names for {len(columns)} columns ({', '.join(each.name for each in columns)})")
    if names:
        columns = tuple(replace(column, name=name) for column, name in zip(columns, names))
    return Source(source.plan, scope_of(alias.name, columns))


def renamed(plan: Rel, names: Sequence[str]) -> Rel:
    """A plan whose columns have other names."""
    if [column.name for column in plan.schema] == list(names):
        return plan
    if isinstance(plan, Project):
        return replace(plan, columns=tuple(replace(column, name=name) for name, column in zip(names, plan.columns)))
    columns = tuple(Field(name, column.type, column.time) for name, column in zip(names, plan.schema))
    return Project(plan, tuple(Ref(column.type, at) for at, column in enumerate(plan.schema)), columns)
