"""``from_elements`` of expressions: rows that are computed, such as ``row(1, lit("a"))``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millrace.relational.casting import cast_to
from millrace.relational.nodes import Rel
from millrace.relational.rex import Ref
from millrace.relational.types import DataType, RowType
from millrace.table.expression_methods.base import node_of
from millrace.table.queries.projection import project
from millrace.table.sql import nodes
from millrace.table.sql.binding.block import Environment
from millrace.table.sql.binding.queries.values import bind_values
from millrace.table.sql.binding.resolver import Resolver
from millrace.table.values.problems import problem


def values_of_expressions(given: Sequence[Any], schema: DataType | Sequence[str] | None, resolver: Resolver) -> Rel:
    """A row for each expression; ``row(..)`` is one of as many columns as it has arguments.

    :param schema: a ROW type, the type of a single column, names of columns, or None: f0, f1, ...
    """
    rows = tuple(nodes.Tuple(_cells(node_of(each))) for each in given)
    plan = bind_values(nodes.Values(rows), Environment(resolver), None)
    own = [Ref(column.type, at) for at, column in enumerate(plan.schema)]
    names = [f"f{at}" for at in range(len(own))]
    kinds = [ref.type for ref in own]
    if isinstance(schema, RowType):
        names, kinds = schema.field_names(), schema.field_types()
    elif isinstance(schema, DataType):
        kinds = [schema]
    elif schema is not None:
        names = [*schema, *names[len(schema) :]]
    if not len(names) == len(kinds) == len(own):
        raise problem(f"the rows have {len(own)} values, and the schema {max(len(names), len(kinds))} columns")
    return project(plan, [cast_to(ref, kind) for ref, kind in zip(own, kinds)], names)


def _cells(node: nodes.Node) -> tuple[nodes.Node, ...]:
    return node.expressions if isinstance(node, nodes.BuiltIn) and node.this == "ROW" else (node,)
