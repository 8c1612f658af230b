"""What may follow any query: WITH before it, ORDER BY, OFFSET and FETCH behind it."""

from __future__ import annotations

from collections.abc import Sequence

from millrace.relational.nodes import Rel, Sort
from millrace.relational.rex import Ref, Rex, SortKey
from millrace.table.sql import nodes
from millrace.table.sql.binding.block import Block, Environment
from millrace.table.sql.binding.dispatch import bind, bind_rel
from millrace.table.sql.binding.problems import fail
from millrace.table.sql.binding.queries.aggregates import sort_key
from millrace.table.sql.binding.relations.from_clause import renamed
from millrace.table.sql.binding.scopes import scope_of


def with_ctes(tree: nodes.Query, environment: Environment, outer: Block | None) -> Environment:
    """The environment with the queries that a WITH names; each sees those before it."""
    clause = tree.with_
    if clause is None:
        return environment
    if clause.recursive:
        fail(clause, "WITH RECURSIVE is not supported: Flink SQL has no recursive queries either")
    for cte in clause.expressions:
        alias = cte.alias
        plan = bind_rel(cte.this, environment, outer)
        names = [each.name for each in alias.columns or []]
        if names and len(names) != len(plan.schema):
            fail(alias, f"WITH {alias.name}: {len(names)} names for {len(plan.schema)} columns")
        environment = environment.with_cte(alias.name, renamed(plan, names or plan.names))
    return environment


def ordered_and_limited(tree: nodes.Query, plan: Rel, environment: Environment, outer: Block | None) -> Rel:
    """A query with its ORDER BY over the columns of its result."""
    order = tree.order
    items = [] if order is None else order.expressions
    block = Block(environment, scope_of(None, plan.schema), outer, "ORDER BY")
    return sort(tree, plan, [sort_key(item, _key(item.this, plan, block)) for item in items])


def _key(tree: nodes.Node, plan: Rel, block: Block) -> Rex:
    position = ordinal(tree, len(plan.schema))
    return bind(tree, block) if position is None else Ref(plan.schema[position].type, position)


def ordinal(tree: nodes.Node, columns: int) -> int | None:
    """The column that ORDER BY 2 means, counted from 0; None for anything but a whole number."""
    if not isinstance(tree, nodes.Literal) or tree.is_string or not tree.this.isdigit():
        return None
    position = int(tree.this)
    if not 1 <= position <= columns:
        fail(tree, f"ORDER BY {position}: the query has {columns} columns")
    return position - 1


def sort(tree: nodes.Query, plan: Rel, keys: Sequence[SortKey]) -> Rel:
    """The plan sorted and cut, if the query says so."""
    offset = _number(tree.offset, "OFFSET")
    fetch = _number(tree.limit, "LIMIT")
    if not keys and not offset and fetch is None:
        return plan
    return Sort(plan, tuple(keys), offset or 0, fetch)


def _number(clause: nodes.Limit | nodes.Offset | None, name: str) -> int | None:
    if clause is None:
        return None
    value = clause.expression
    if not isinstance(value, nodes.Literal) or value.is_string or not value.this.isdigit():
        fail(clause, f"{name} takes a whole number that is written in the query")
    return int(value.this)
