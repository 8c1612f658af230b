"""The first rows of each key."""

from __future__ import annotations

from typing import Any

from millrace.relational import nodes as n
from millrace.relational.rex import Ref, SortKey
from millrace.runtime.tables.ordering.before_exchange import BestOfBatch, first_of_batch
from millrace.runtime.tables.ordering.deduplicate import Deduplicate
from millrace.runtime.tables.ordering.rank import Rank
from millrace.runtime.tables.windows.window_rank import WindowDeduplicate, WindowRank
from millrace.table.planner.changes import Changes
from millrace.table.planner.forms import streaming_form
from millrace.table.planner.nodes.windows import is_zoned
from millrace.table.planner.plan import Plan, Planned, add_changing, by
from millrace.table.planner.upserts import same_each_time


def _changes_of_rank(node: Any, inputs: list[Changes]) -> Changes:
    keys = set(inputs[0].keys)
    if node.number is not None and node.function == "ROW_NUMBER":
        keys.add((*node.partition, len(node.input.schema)))
    if node.last == 1 and node.first == 1 and node.function == "ROW_NUMBER":
        keys.add(node.partition)
    if node.window is not None:
        return Changes(keys=frozenset(keys))
    return Changes(True, True, frozenset(keys), inputs[0].cause or "a Top-N")


def _changes_of_deduplicate(node: Any, inputs: list[Changes]) -> Changes:
    keys = frozenset({node.keys})
    if node.window is not None:
        return Changes(keys=keys)
    proctime_first = not node.last and node.input.schema[node.time].time == n.PROCTIME
    if proctime_first and inputs[0].append_only:
        return Changes(keys=keys)
    cause = inputs[0].cause or "a deduplication that may find a better row"
    return Changes(True, not inputs[0].append_only, keys, cause)


@streaming_form(n.Rank, changes=_changes_of_rank)
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
        compared=same_each_time(node.input) if below.retracts else None,
        before=before,
        timely=plan.is_timed(node),
        **plan.options.common,
    )
    thinning = None
    if plan.changes(node.input).append_only:
        thinning = first_of_batch(node.partition, node.order, node.function, node.last)
    return plan.step("Rank", config, [(below, by(node.partition, thinning))], node.schema, plan.changes(node))


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


@streaming_form(n.Deduplicate, changes=_changes_of_deduplicate)
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
        timely=plan.is_timed(node),
        **plan.options.common,
    )
    exchange = by(node.keys, BestOfBatch(node.keys, node.last, config.time))
    return plan.step("Deduplicate", config, [(below, exchange)], node.schema, plan.changes(node))


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
