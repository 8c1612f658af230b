"""The first rows of each key."""

from __future__ import annotations

from millrace.relational import nodes as n
from millrace.relational.rex import Ref, SortKey
from millrace.runtime.tables.ordering.deduplicate import Deduplicate
from millrace.runtime.tables.ordering.rank import Rank
from millrace.runtime.tables.windows.window_rank import WindowDeduplicate, WindowRank
from millrace.table.planner.plan import Plan, Planned, add_changing, by, rule
from millrace.table.planner.windows import is_zoned


@rule(n.Rank)
def rank(plan: Plan, node: n.Rank, before: bool) -> Planned:
    if node.window is not None:
        return _window_rank(plan, node)
    below, unique = add_changing(plan, node.input, node.partition)
    config = Rank(
        function=node.function,
        partition=node.partition,
        order=node.order,
        types=tuple(column.type for column in node.input.schema),
        first=node.first,
        last=node.last,
        number=node.number is not None,
        retracts=below.retracts,
        unique=unique,
        before=before,
        **plan.options.common,
    )
    return plan.step("Rank", config, [(below, by(node.partition))], node.schema, plan.changes(node))


def _window_rank(plan: Plan, node: n.Rank) -> Planned:
    assert node.window is not None
    config = WindowRank(
        function=node.function,
        partition=node.partition,
        order=node.order,
        types=tuple(column.type for column in node.input.schema),
        first=node.first,
        last=node.last,
        number=node.number is not None,
        window_end=node.window[1],
        zoned=is_zoned(node),
        **plan.options.common,
    )
    below = plan.add_insertions(node.input, "the first rows of a window")
    return plan.step("WindowRank", config, [(below, by(node.partition))], node.schema, plan.changes(node))


@rule(n.Deduplicate)
def deduplicate(plan: Plan, node: n.Deduplicate, before: bool) -> Planned:
    if node.window is not None:
        return _window_deduplicate(plan, node)
    arrival = node.input.schema[node.time].time == n.PROCTIME
    if not arrival and not plan.changes(node.input).append_only:
        return _best_of_changes(plan, node, before)
    below = plan.add_insertions(node.input, "a deduplication in the order of arrival")
    config = Deduplicate(
        keys=node.keys,
        types=tuple(column.type for column in node.input.schema),
        last=node.last,
        time=None if arrival else node.time,
        number=node.number is not None,
        before=before,
        **plan.options.common,
    )
    return plan.step("Deduplicate", config, [(below, by(node.keys))], node.schema, plan.changes(node))


def _best_of_changes(plan: Plan, node: n.Deduplicate, before: bool) -> Planned:
    """A row that is taken back makes room for the next best one, so all are kept."""
    time = Ref(node.input.schema[node.time].type, node.time)
    config = Rank(
        partition=node.keys,
        order=(SortKey(time, node.last, nulls_first=not node.last),),
        types=tuple(column.type for column in node.input.schema),
        first=1,
        last=1,
        number=node.number is not None,
        retracts=True,
        before=before,
        **plan.options.common,
    )
    below = plan.add(node.input)
    return plan.step("Rank", config, [(below, by(node.keys))], node.schema, plan.changes(node))


def _window_deduplicate(plan: Plan, node: n.Deduplicate) -> Planned:
    assert node.window is not None
    config = WindowDeduplicate(
        keys=node.keys,
        types=tuple(column.type for column in node.input.schema),
        last=node.last,
        time=node.time,
        window_end=node.window[1],
        zoned=is_zoned(node),
        number=node.number is not None,
        **plan.options.common,
    )
    below = plan.add_insertions(node.input, "the deduplication of a window")
    return plan.step("WindowDeduplicate", config, [(below, by(node.keys))], node.schema, plan.changes(node))
