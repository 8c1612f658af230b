"""Queries inside of expressions."""

from __future__ import annotations

from collections.abc import Sequence

from millrace.relational.casting import cast_to, common_type
from millrace.relational.nodes import Field, Project, Rel
from millrace.relational.rex import Ref, Rex, Subquery
from millrace.relational.types import BooleanType
from millrace.table.sql import nodes
from millrace.table.sql.binding.block import Block
from millrace.table.sql.binding.dispatch import bind, bind_rel, binds
from millrace.table.sql.binding.problems import fail


@binds(nodes.Exists)
def _exists(tree: nodes.Exists, block: Block) -> Rex:
    return bind_exists(tree, block, negated=False)


def bind_exists(tree: nodes.Exists, block: Block, negated: bool) -> Rex:
    """``[NOT] EXISTS (SELECT ...)``."""
    plan = bind_rel(tree.this, block.environment, block)
    return Subquery(BooleanType(False), "EXISTS", plan, negated=negated)


@binds(nodes.Subquery)
def bind_scalar(tree: nodes.Subquery, block: Block) -> Rex:
    """A query that gives one value: one column, at most one row; NULL of no row."""
    plan = bind_rel(tree, block.environment, block)
    if len(plan.schema) != 1:
        fail(tree, f"a subquery inside an expression must have one column, and this has {len(plan.schema)}")
    return Subquery(plan.schema[0].type.nullable(), "SCALAR", plan)


def bind_in_query(tree: nodes.In, operands: Sequence[Rex], block: Block, negated: bool) -> Rex:
    """``x [NOT] IN (SELECT ...)``, ``(x, y) IN (SELECT ...)``."""
    assert tree.query is not None
    plan = bind_rel(tree.query, block.environment, block)
    if len(plan.schema) != len(operands):
        fail(tree, f"IN compares {len(operands)} values with a query of {len(plan.schema)} columns")
    return _in(tree, operands, plan, negated)


def _in(tree: nodes.Node, operands: Sequence[Rex], plan: Rel, negated: bool) -> Rex:
    return _compared(tree, "IN", operands, plan, negated)


def _compared(tree: nodes.Node, kind: str, operands: Sequence[Rex], plan: Rel, negated: bool = False) -> Rex:
    """Operands and the columns of a query in the types that they are compared in."""
    wanted = [common_type([each.type, column.type]) for each, column in zip(operands, plan.schema)]
    for found, each, column in zip(wanted, operands, plan.schema):
        if found is None:
            fail(
                tree, f"{kind} cannot compare {each.type} with {column.type} (column '{column.name}'): CAST one of them"
            )
    types = [each for each in wanted if each is not None]
    columns = [cast_to(Ref(column.type, at), kind) for at, (column, kind) in enumerate(zip(plan.schema, types))]
    if any(not isinstance(each, Ref) for each in columns):
        names = [Field(old.name, new.type) for old, new in zip(plan.schema, columns)]
        plan = Project(plan, tuple(columns), tuple(names))
    cast = tuple(cast_to(each, kind) for each, kind in zip(operands, types))
    nullable = any(each.type.is_nullable for each in (*cast, *columns))
    return Subquery(BooleanType(nullable), kind, plan, cast, negated)


def bind_quantified(tree: nodes.BuiltIn, right: nodes.All | nodes.Any, block: Block) -> Rex:
    """``x > ALL (SELECT ...)`` and the like; ``= ANY`` and ``<> ALL`` are IN and NOT IN."""
    operand = bind(tree.expressions[0], block)
    sign, word = tree.this, "ALL" if isinstance(right, nodes.All) else "ANY"
    assert right.query is not None
    plan = bind_rel(right.query, block.environment, block)
    if len(plan.schema) != 1:
        fail(tree, f"the subquery must have one column, and this has {len(plan.schema)}")
    if (sign, word) in (("=", "ANY"), ("<>", "ALL")):
        return _in(tree, [operand], plan, negated=word == "ALL")
    return _compared(tree, f"{sign} {word}", [operand], plan)
