"""Keys of a changing table whose changes come in order.

Rows with one value of such a key are changed by one task, so a new row never arrives before the old one is taken back.
Of other keys it may: where a row moves from one task to another, its two changes travel on different ways.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from millrace.relational import nodes as n
from millrace.relational.rex import Ref
from millrace.relational.sources import goes_by_key
from millrace.table.planner.changes import Changes, Key, moved

_PASSING = (n.Filter, n.Hinted, n.Watermark)


def ordered_keys(node: n.Rel, changes: Callable[[n.Rel], Changes]) -> frozenset[Key]:
    """The keys of a node's result whose changes come in order.

    :param changes: those of a node.
    """
    here = changes(node)
    if here.append_only:
        return here.keys
    if isinstance(node, _PASSING):
        return ordered_keys(node.input, changes)
    if isinstance(node, n.Project):
        places: dict[int, int] = {}
        for index, expression in enumerate(node.expressions):
            if isinstance(expression, Ref):
                places.setdefault(expression.index, index)
        return moved(ordered_keys(node.input, changes), places)
    partition = _partition(node)
    return frozenset() if partition is None else frozenset(key for key in here.keys if set(partition) <= set(key))


def _partition(node: n.Rel) -> Sequence[int] | None:
    """The columns of the result by which its rows are spread over tasks; None if the result has no such columns."""
    if isinstance(node, n.Aggregate):
        return range(len(node.keys)) if node.sets is None else None
    if isinstance(node, (n.Rank, n.Over)):
        return node.partition
    if isinstance(node, n.Deduplicate):
        return node.keys
    if isinstance(node, n.FromChangelog) and node.by_key:
        return node.partition
    if isinstance(node, n.Sort):
        return ()
    if isinstance(node, n.Scan) and goes_by_key(node.source):
        primary = node.source.primary_key
        columns = range(len(node.columns)) if node.projected is None else node.projected
        return [list(columns).index(each) for each in primary] if set(primary) <= set(columns) else None
    return None
