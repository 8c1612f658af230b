"""Whether anything above a node of a plan goes by its watermarks."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from millrace.relational import nodes as n
from millrace.relational.rex import Call, Rex, walk

Readers = Callable[[n.Rel], Sequence[n.Rel]]

_BY_ARRIVAL = (n.Project, n.Filter, n.Hinted, n.Expand, n.Aggregate, n.Join, n.SetOp, n.Rank, n.Deduplicate)
"""that take rows as they come, unless they are about windows"""


def is_timed(node: n.Rel, readers: Readers) -> bool:
    """False if all that is above a node, up to INSERTs, takes its rows as they come.

    :param readers: the nodes that read a node's result.
    """
    above = readers(node)
    if not above:
        return not isinstance(node, n.Sink)
    return any(_goes_by_time(each) or is_timed(each, readers) for each in above)


def _goes_by_time(node: n.Rel) -> bool:
    if isinstance(node, n.Sink):
        return node.wants_one_row
    return not isinstance(node, _BY_ARRIVAL) or getattr(node, "window", None) is not None or _asks(node)


def _asks(node: n.Rel) -> bool:
    """Whether an expression of a node has the watermark in it."""
    found: list[Rex] = []

    def look(expression: Rex) -> Rex:
        found.extend(walk(expression))
        return expression

    node.map_expressions(look)
    return any(isinstance(each, Call) and each.function == "CURRENT_WATERMARK" for each in found)
