"""Two projections in a row become one; a projection that changes nothing goes."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import islice

from millrace.relational import nodes as n
from millrace.relational.functions.shallow import shallow
from millrace.relational.nodes.traversal import transform
from millrace.relational.rex import Ref, Rex, substitute, walk
from millrace.relational.rules.determinism import is_deterministic, is_expensive

_SMALL = 64
"""parts of an expression"""


def merge_projections(plan: n.Rel) -> n.Rel:
    """Only where nothing is computed more often than before that is expensive or gives another value each time."""
    return transform(plan, _merge)


def _merge(node: n.Rel) -> n.Rel:
    if not isinstance(node, n.Project):
        return node
    below = node.input
    if isinstance(below, n.Project) and may_merge(node.expressions, below.expressions):
        merged = tuple(shallow(substitute(each, below.expressions)) for each in node.expressions)
        return _merge(replace(node, input=below.input, expressions=merged))
    return below if is_all_of(node.expressions, below.schema) and node.columns == below.schema else node


def _is_small(expression: Rex) -> bool:
    """Whether it may be written several times: what doubles with each query around it soon has no end."""
    return sum(1 for _ in islice(walk(expression), _SMALL + 1)) <= _SMALL


def is_all_of(expressions: tuple[Rex, ...], schema: n.Schema) -> bool:
    """Whether they are the columns of a schema, in their order."""
    return expressions == tuple(Ref(column.type, index) for index, column in enumerate(schema))


def may_merge(upper: tuple[Rex, ...], lower: tuple[Rex, ...]) -> bool:
    """Whether expressions over the results of others may be computed from what those are computed from."""
    uses = Counter(part.index for each in upper for part in walk(each) if isinstance(part, Ref))
    return all(
        uses[index] <= 1 or (is_deterministic(each) and not is_expensive(each) and _is_small(each))
        for index, each in enumerate(lower)
    )
