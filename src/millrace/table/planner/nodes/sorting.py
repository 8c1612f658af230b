"""ORDER BY and LIMIT."""

from __future__ import annotations

from typing import Any

from millrace.relational import nodes as n
from millrace.relational.rex import Ref
from millrace.runtime.tables.base import TableConfig
from millrace.runtime.tables.ordering.bounded_sort import BoundedSort
from millrace.runtime.tables.ordering.limit import Limit
from millrace.runtime.tables.ordering.rank import Rank
from millrace.runtime.tables.ordering.temporal_sort import TemporalSort
from millrace.table.planner.changes import Changes, Key
from millrace.table.planner.forms import streaming_form
from millrace.table.planner.plan import Plan, Planned, add_changing, by


def _changes_of_sort(node: Any, inputs: list[Changes]) -> Changes:
    if not node.keys and inputs[0].append_only and not node.offset:
        return inputs[0]  # the first rows that come
    if node.fetch is None and node.keys and not node.offset:
        return inputs[0]  # at the end of the input, or by time
    return Changes(True, True, inputs[0].keys, inputs[0].cause or "ORDER BY with LIMIT")


@streaming_form(n.Sort, changes=_changes_of_sort)
def sort(plan: Plan, node: n.Sort, before: bool) -> Planned:
    if node.keys and node.fetch is not None:
        below, unique = add_changing(plan, node.input, ())
    else:
        below, unique = plan.add(node.input), None
    name, config = _choice(plan, node, below, unique, before)
    return plan.step(name, config, [(below, by(()))], node.schema, plan.changes(node))


def _choice(plan: Plan, node: n.Sort, below: Planned, unique: Key | None, before: bool) -> tuple[str, TableConfig]:
    common = plan.options.common
    if not node.keys:
        limit = Limit(input=node.schema, offset=node.offset, fetch=node.fetch, updating=below.retracts, **common)
        return "Limit", limit
    time = _time(node)
    order = {"input": node.schema, "keys": node.keys, "offset": node.offset, "fetch": node.fetch, **common}
    if time is not None and not below.retracts:
        return "TemporalSort", TemporalSort(**order, event_time=time == n.ROWTIME)
    if node.fetch is None:
        return "Sort", BoundedSort(**order)
    types = tuple(column.type for column in node.schema)
    first, last = node.offset + 1, node.offset + node.fetch
    rank = Rank(
        partition=(),
        order=node.keys,
        types=types,
        first=first,
        last=last,
        retracts=below.retracts,
        unique=unique,
        before=before,
        **common,
    )
    return "SortLimit", rank


def _time(node: n.Sort) -> str | None:
    first = node.keys[0]
    if first.descending or not isinstance(first.expression, Ref):
        return None
    return node.schema[first.expression.index].time
