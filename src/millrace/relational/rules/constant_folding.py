"""Computes what does not depend on any row while the query is planned."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from millrace.relational import nodes as n
from millrace.relational import types as t
from millrace.relational.functions.evaluate import Evaluator
from millrace.relational.functions.registry import Surroundings, find_scalar
from millrace.relational.nodes.traversal import transform
from millrace.relational.rex import TRUE, Call, Literal, Rex, conjunction, conjuncts
from millrace.relational.values import to_python

_NOT_FOLDED = (t.ArrayType, t.MapType, t.MultisetType, t.RowType, t.RawType, t.UserDefinedType, t.BitmapType)
"""values of these have no short literal that could be compared and hashed"""


def fold_constants(plan: n.Rel, surroundings: Surroundings, dynamic: bool = False) -> n.Rel:
    """Calls of literals become literals, filters that are always true go. What cannot be computed (CAST('x' AS INT))
    stays: perhaps no row needs it.

    :param dynamic: whether functions that are the same for a whole batch query (CURRENT_TIMESTAMP) are computed too.
    """
    around = replace(surroundings, length=1)

    def change(node: n.Rel) -> n.Rel:
        node = node.map_expressions(lambda each: _fold(each, around, dynamic))
        if isinstance(node, n.Filter):
            node = _without_truth(node)
        return n.Values(node.schema, ()) if _gives_nothing(node) else node

    return transform(plan, change)


def _gives_nothing(node: n.Rel) -> bool:
    """Whether a node has no rows because its input has none. Left as they are, windows would miss the table below."""
    if not isinstance(node, (n.Project, n.Filter, n.WindowTable, n.WindowAggregate, n.Rank)):
        return False
    return isinstance(node.input, n.Values) and not node.input.rows


def _without_truth(node: n.Filter) -> n.Rel:
    parts = [part for part in conjuncts(node.condition) if not (isinstance(part, Literal) and part.value is True)]
    if not parts:
        return node.input
    if any(isinstance(part, Literal) and not part.value for part in parts):
        return n.Values(node.schema, ())
    return replace(node, condition=conjunction(parts))


def _fold(expression: Rex, surroundings: Surroundings, dynamic: bool) -> Rex:
    children = tuple(_fold(child, surroundings, dynamic) for child in expression.children)
    seen = find_scalar(expression.function) if isinstance(expression, Call) else None
    if seen is not None and seen.sees_calls:
        pairs = zip(children, expression.children)
        children = tuple(old if isinstance(old, Call) and isinstance(new, Literal) else new for new, old in pairs)
    if any(new is not old for new, old in zip(children, expression.children)):
        expression = expression.with_children(children)
    if not isinstance(expression, Call) or not all(isinstance(child, Literal) for child in children):
        return _simplified(expression)
    function = find_scalar(expression.function)
    if function is None or not function.deterministic or (function.dynamic and not dynamic):
        return expression
    if isinstance(expression.type, _NOT_FOLDED):
        return expression
    return _computed(expression, surroundings) or expression


def _computed(expression: Call, surroundings: Surroundings) -> Rex | None:
    try:
        column: pa.Array = Evaluator([], surroundings).column(expression)
        value = to_python(column, expression.type)[0]
    except Exception:
        # A row that needs it will raise the same error.
        return None
    return Literal(expression.type if value is not None else expression.type.nullable(), value)


def _simplified(expression: Rex) -> Rex:
    """AND without its true parts; false if one part is."""
    if not isinstance(expression, Call) or expression.function != "AND":
        return expression
    if any(isinstance(arg, Literal) and arg.value is False for arg in expression.args):
        return Literal(TRUE.type, False)
    kept = [arg for arg in expression.args if not (isinstance(arg, Literal) and arg.value is True)]
    return expression if len(kept) == len(expression.args) else conjunction(kept)
