"""UNION, INTERSECT, EXCEPT, and queries in brackets."""

from __future__ import annotations

from millrace.relational.casting import cast_to, common_type
from millrace.relational.nodes import Field, Project, Rel, Schema, SetOp
from millrace.relational.rex import Ref
from millrace.table.sql import nodes
from millrace.table.sql.binding.block import Block, Environment
from millrace.table.sql.binding.dispatch import bind_rel, binds_query
from millrace.table.sql.binding.problems import fail
from millrace.table.sql.binding.queries.tail import ordered_and_limited, with_ctes
from millrace.table.sql.binding.scopes import field_of

_KINDS: dict[type[nodes.Node], str] = {nodes.Union: "UNION", nodes.Intersect: "INTERSECT", nodes.Except: "EXCEPT"}


@binds_query(nodes.Subquery)
def bind_brackets(tree: nodes.Subquery, environment: Environment, outer: Block | None) -> Rel:
    """A query in brackets."""
    environment = with_ctes(tree, environment, outer)
    return ordered_and_limited(tree, bind_rel(tree.this, environment, outer), environment, outer)


@binds_query(nodes.Union, nodes.Intersect, nodes.Except)
def bind_set_operation(tree: nodes.SetOperation, environment: Environment, outer: Block | None) -> Rel:
    """A set operation: branches are cast to common types, names are those of the first."""
    environment = with_ctes(tree, environment, outer)
    kind, keep = _KINDS[type(tree)], not tree.distinct
    branches: list[Rel] = []
    for part in (tree.this, tree.expression):
        branch = bind_rel(part, environment, outer)
        same = isinstance(branch, SetOp) and (branch.kind, branch.all) == (kind, keep) and kind == "UNION"
        branches += branch.inputs if same else (branch,)
    columns = _columns(tree, kind, keep, branches)
    plan = SetOp(kind, keep, tuple(_cast(branch, columns) for branch in branches), columns)
    return ordered_and_limited(tree, plan, environment, outer)


def _columns(tree: nodes.SetOperation, kind: str, keep: bool, branches: list[Rel]) -> Schema:
    first = branches[0].schema
    for branch in branches[1:]:
        if len(branch.schema) != len(first):
            fail(
                tree.expression,
                f"{kind} needs queries with equally many columns: {len(first)} and {len(branch.schema)}",
            )
    return tuple(_column(tree, kind, keep, at, branches) for at in range(len(first)))


def _column(tree: nodes.SetOperation, kind: str, keep: bool, at: int, branches: list[Rel]) -> Field:
    columns = [branch.schema[at] for branch in branches]
    common = common_type([column.type for column in columns])
    if common is None:
        types = ", ".join(str(column.type) for column in columns)
        fail(
            tree.expression, f"column {at + 1} ('{columns[0].name}') of {kind} has types without a common one: {types}"
        )
    # Only UNION ALL hands rows on as they come; the others keep a row until they know whether it is in the result.
    times = {column.time for column in columns}
    return Field(columns[0].name, common, times.pop() if kind == "UNION" and keep and len(times) == 1 else None)


def _cast(branch: Rel, columns: Schema) -> Rel:
    expressions = tuple(
        cast_to(Ref(old.type, at), new.type) for at, (old, new) in enumerate(zip(branch.schema, columns))
    )
    if all(isinstance(each, Ref) for each in expressions):
        return branch
    fields = tuple(field_of(new.name, each, branch.schema) for new, each in zip(columns, expressions))
    return Project(branch, expressions, fields)
