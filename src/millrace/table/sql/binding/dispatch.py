"""Who binds which part of a tree. The other modules register here, so they need not know of each other."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from millrace.relational.deep_calls import deep_calls
from millrace.relational.functions.shallow import shallow
from millrace.relational.nodes import Rel
from millrace.relational.rex import Literal, Rex
from millrace.relational.types import BooleanType, NullType
from millrace.table.sql import nodes
from millrace.table.sql.binding.block import Block, Environment
from millrace.table.sql.binding.problems import fail
from millrace.util.modules import entered

ExpressionBinder: TypeAlias = "Callable[[Any, Block], Rex]"
QueryBinder: TypeAlias = "Callable[[Any, Environment, Block | None], Rel]"

_expressions: dict[type[nodes.Node], ExpressionBinder] = {}
_queries: dict[type[nodes.Node], QueryBinder] = {}


LEVELS = 32
"""Expressions within expressions are made shallow every so many levels, while their parts are bound."""
_nesting = threading.local()


def binds(*kinds: type[nodes.Node]) -> Callable[[ExpressionBinder], ExpressionBinder]:
    """Register the decorated function for these nodes inside of expressions."""
    return entered(_expressions, *kinds)


def binds_query(*kinds: type[nodes.Node]) -> Callable[[QueryBinder], QueryBinder]:
    """Register the decorated function for these kinds of query."""
    return entered(_queries, *kinds)


def bind(tree: nodes.Node, block: Block) -> Rex:
    """An expression with its types.

    :raises SqlValidationError: a name is unknown or an argument has the wrong type.
    """
    if block.intercept is not None:
        found = block.intercept(tree)
        if found is not None:
            return found
    handler = _expressions.get(type(tree))
    if handler is None:
        fail(tree, f"{type(tree).__name__} is not allowed in {block.place}")
    level = getattr(_nesting, "level", 0) + 1
    _nesting.level = level
    try:
        if level > 1:
            found = handler(tree, block)
            return shallow(found) if level % LEVELS == 0 else found
        with deep_calls():
            return shallow(handler(tree, block))
    finally:
        _nesting.level = level - 1


def bind_all(trees: Sequence[nodes.Node], block: Block) -> list[Rex]:
    return [bind(each, block) for each in trees]


def bind_condition(tree: nodes.Node, block: Block) -> Rex:
    """An expression that must be a BOOLEAN."""
    found = bind(tree, block)
    if isinstance(found.type, NullType):
        return Literal(BooleanType(), None)
    if not isinstance(found.type, BooleanType):
        fail(tree, f"{block.place} needs a BOOLEAN, and this is {found.type}")
    return found


def bind_rel(tree: nodes.Node, environment: Environment, outer: Block | None = None) -> Rel:
    """The plan of a query.

    :param outer: the query that this one is a subquery of.
    """
    handler = _queries.get(type(tree))
    if handler is None:
        fail(tree, f"{type(tree).__name__} is no query")
    return handler(tree, environment, outer)
