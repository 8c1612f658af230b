"""VALUES."""

from __future__ import annotations

from collections.abc import Sequence

from millrace.relational.casting import cast_to, common_type
from millrace.relational.nodes import Field, Project, Rel, Schema, SetOp, Values
from millrace.relational.rex import Literal, Rex
from millrace.table.sql import nodes
from millrace.table.sql.binding.block import Block, Environment
from millrace.table.sql.binding.constants import fold
from millrace.table.sql.binding.dispatch import bind_all, binds_query
from millrace.table.sql.binding.problems import fail
from millrace.table.sql.binding.queries.tail import ordered_and_limited, with_ctes
from millrace.table.sql.binding.relations.from_clause import NOTHING
from millrace.table.sql.binding.scopes import Scope


@binds_query(nodes.Values)
def bind_values(tree: nodes.Values, environment: Environment, outer: Block | None) -> Rel:
    """Rows of constants; where one is computed, a projection for each row."""
    environment = with_ctes(tree, environment, outer)
    block = Block(environment, Scope(), outer, "VALUES")
    rows = [bind_all(_items(row), block) for row in tree.expressions]
    return ordered_and_limited(tree, values_plan(tree, rows, block.zone), environment, outer)


def _items(row: nodes.Node) -> Sequence[nodes.Node]:
    return row.expressions if isinstance(row, nodes.Tuple) else [row]


def values_plan(tree: nodes.Values, rows: Sequence[Sequence[Rex]], zone: str) -> Rel:
    """Bound rows in their common types."""
    width = len(rows[0])
    for written, row in zip(tree.expressions, rows):
        if len(row) != width:
            fail(written, f"the rows of VALUES have different lengths: {width} and {len(row)}")
    columns = tuple(_column(tree, at, [row[at] for row in rows]) for at in range(width))
    cast = [[fold(cast_to(each, column.type), zone) for each, column in zip(row, columns)] for row in rows]
    if all(isinstance(each, Literal) for row in cast for each in row):
        return Values(columns, tuple(tuple(each.value for each in row if isinstance(each, Literal)) for row in cast))
    branches = tuple(Project(NOTHING.plan, tuple(row), _fields(row, columns)) for row in cast)
    return branches[0] if len(branches) == 1 else SetOp("UNION", True, branches, columns)


def _column(tree: nodes.Values, at: int, items: Sequence[Rex]) -> Field:
    common = common_type([each.type for each in items])
    if common is None:
        types = ", ".join(dict.fromkeys(str(each.type) for each in items))
        fail(tree, f"column {at + 1} of VALUES has types without a common one: {types}")
    return Field(f"EXPR${at}", common)


def _fields(row: Sequence[Rex], columns: Schema) -> Schema:
    return tuple(Field(column.name, each.type) for each, column in zip(row, columns))
