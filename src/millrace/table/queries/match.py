"""``Table.match_recognize``: its arguments as the clauses of MATCH_RECOGNIZE."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

from millrace.relational.nodes import Match, Rel
from millrace.table.expression_methods.base import expression_of, node_of
from millrace.table.sql import nodes
from millrace.table.sql.binding.block import Block
from millrace.table.sql.binding.queries.match_recognize import rel_of
from millrace.table.sql.binding.relations.from_clause import From
from millrace.table.sql.parser import parse_expression, parse_match
from millrace.table.values.problems import problem


def match(
    plan: Rel,
    block: Block,
    clauses: str,
    order_by: Any,
    partition_by: Any,
    measures: Mapping[str, Any],
    define: Mapping[str, Any],
    within: Any,
    subsets: Mapping[str, Sequence[str]],
) -> Match:
    """The matches in a table. ``clauses``: the text from ONE ROW or ALL ROWS on to PATTERN."""
    read = parse_match(clauses)
    tree = nodes.MatchRecognize(
        this=nodes.Var("table"),
        pattern=read.pattern,
        define=tuple(map(_alias, define, define.values())),
        partition_by=tuple(map(_column, _several(partition_by))),
        order=nodes.Order(tuple(map(_ordered, _several(order_by)))),
        measures=tuple(map(_alias, measures, measures.values())),
        rows=read.rows,
        empty=read.empty,
        after=read.after,
        anchors=read.anchors,
        within=_interval(within),
        subsets=tuple(_subset(name, members) for name, members in subsets.items()),
    )
    return rel_of(plan, tree, From(block.environment))


def _several(given: Any) -> list[Any]:
    return list(given) if isinstance(given, (list, tuple)) else [given]


def _expression(given: Any) -> nodes.Node:
    """SQL text, or an expression."""
    return parse_expression(given) if isinstance(given, str) else expression_of(given)


def _alias(name: str, given: Any) -> nodes.Alias:
    return nodes.Alias(this=_expression(given), alias=nodes.Identifier(name))


def _column(given: Any) -> nodes.Node:
    return nodes.Column.named(given) if isinstance(given, str) else expression_of(given)


def _ordered(given: Any) -> nodes.Ordered:
    node = _column(given)
    return node if isinstance(node, nodes.Ordered) else nodes.Ordered(node)


def _subset(name: str, members: Sequence[str]) -> nodes.Alias:
    names = nodes.Tuple(expressions=tuple(map(nodes.Identifier, members)))
    return nodes.Alias(this=names, alias=nodes.Identifier(name))


def _interval(given: Any) -> nodes.Node | None:
    if given is None:
        return None
    if isinstance(given, str):
        return parse_expression(given)
    if not isinstance(given, datetime.timedelta) and not hasattr(given, "_node"):
        raise problem(f"within is a timedelta, an expression such as lit(10).minutes, or SQL text, not {given!r}")
    return node_of(given)
