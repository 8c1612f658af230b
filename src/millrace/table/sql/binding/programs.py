"""What only programs say, in the Table API."""

from __future__ import annotations

from typing import NoReturn

from millrace.relational import types as t
from millrace.relational.nodes import Rel
from millrace.relational.rex import Call, Literal, Rex
from millrace.table.sql import nodes
from millrace.table.sql.binding.block import Block, Environment
from millrace.table.sql.binding.dispatch import bind, bind_all, binds, binds_query
from millrace.table.sql.binding.problems import fail, reported
from millrace.table.sql.parser import parse_expression
from millrace.table.sql.writing.programs import shown
from millrace.table.values.literal_types import literal_type


@binds(nodes.Constant)
def _constant(tree: nodes.Constant, block: Block) -> Rex:
    value = tree.value
    if tree.type is not None:
        return Literal(tree.type.with_nullable(value is None or tree.type.is_nullable), value)
    try:
        return Literal(literal_type(value), value)
    except TypeError as error:
        fail(tree, str(error))


@binds(nodes.Position)
def _position(tree: nodes.Position, block: Block) -> Rex:
    return block.ref(tree.index)


@binds(nodes.WholeRow)
def _whole_row(tree: nodes.WholeRow, block: Block) -> Rex:
    parts = tuple(bind_all(tree.expressions, block))
    fields = [t.RowField(shown(each), part.type) for each, part in zip(tree.expressions, parts)]
    return Call(t.RowType(fields, False), "ROW", parts)


@binds(nodes.SqlText)
def _sql(tree: nodes.SqlText, block: Block) -> Rex:
    parsed = parse_expression(tree.text)
    with reported(parsed):
        return bind(parsed, block)


@binds_query(nodes.ResolvedQuery)
def _query(tree: nodes.ResolvedQuery, environment: Environment, outer: Block | None) -> Rel:
    return tree.plan


_PLACES: dict[type[nodes.Node], str] = {
    nodes.WindowProperty: "windows stand in select after group_by",
    nodes.Columns: "it stands alone in select",
    nodes.Range: "it stands in with_columns",
    nodes.Ordered: "asc and desc stand in order_by",
    nodes.Distinct: "it follows an aggregate in select",
}


@binds(*_PLACES)
def _misplaced(tree: nodes.Node, block: Block) -> NoReturn:
    fail(tree, f"this cannot stand inside an expression here: {_PLACES[type(tree)]}")


@binds(nodes.Alias)
def _alias(tree: nodes.Alias, block: Block) -> Rex:
    return bind(tree.this, block)
