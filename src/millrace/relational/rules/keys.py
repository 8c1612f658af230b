"""The columns that identify a row of a plan, as far as its nodes say."""

from __future__ import annotations

from millrace.relational import nodes as n
from millrace.relational.nodes.traversal import transform
from millrace.relational.rex import Ref
from millrace.relational.rules.top_n import top_n


def row_key(plan: n.Rel) -> tuple[int, ...]:
    """Columns of the result of which no two rows are equal: grouping keys, those of a Top-1 or a table's PRIMARY KEY;
    empty if unknown."""
    return _key(transform(plan, top_n))


def _key(plan: n.Rel) -> tuple[int, ...]:
    if isinstance(plan, n.Scan):
        return tuple(plan.names.index(each) for each in plan.key) if set(plan.key) <= set(plan.names) else ()
    if isinstance(plan, n.Deduplicate):
        return plan.keys
    if isinstance(plan, n.Rank) and plan.first == plan.last == 1 and plan.function == "ROW_NUMBER":
        return plan.partition
    if isinstance(plan, n.Aggregate) and plan.sets is None:
        return tuple(range(len(plan.keys)))
    if isinstance(plan, (n.Filter, n.Watermark, n.Hinted, n.Sort)):
        return _key(plan.input)
    if isinstance(plan, n.Project):
        places = {each.index: at for at, each in reversed(list(enumerate(plan.expressions))) if isinstance(each, Ref)}
        key = _key(plan.input)
        return tuple(places[each] for each in key) if all(each in places for each in key) else ()
    return ()
