"""GROUP BY, with and without windows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from millrace.relational import nodes as n
from millrace.relational.rex import Rex
from millrace.runtime.tables.aggregates.group_aggregate import GroupAggregate
from millrace.runtime.tables.aggregates.local_aggregate import LocalAggregate, supports_two_phases
from millrace.runtime.tables.aggregates.split_distinct import (
    BucketColumn,
    DistinctAggregate,
    shared_values,
    without_distinct,
)
from millrace.runtime.tables.aggregates.table_aggregate import TableAggregate
from millrace.table.planner.changes import Changes
from millrace.table.planner.forms import streaming_form
from millrace.table.planner.plan import Plan, Planned, by, hinted_ttl


def _changes_of_aggregate(node: Any, inputs: list[Changes]) -> Changes:
    keys = frozenset() if node.sets is not None else frozenset({tuple(range(len(node.keys)))})
    if not node.aggregates and inputs[0].append_only:
        return Changes(keys=keys)  # DISTINCT of insertions
    cause = inputs[0].cause or "a GROUP BY without window"
    # A group is deleted when its last row is, or when that row is updated and belongs to another group now.
    return Changes(True, not inputs[0].append_only, keys, cause)


def _changes_of_table_aggregate(node: Any, inputs: list[Changes]) -> Changes:
    return Changes(False, True, cause=inputs[0].cause or "a table aggregate, whose rows are taken back")


@streaming_form(n.Aggregate, changes=_changes_of_aggregate)
def aggregate(plan: Plan, node: n.Aggregate, before: bool) -> Planned:
    assert node.sets is None, "grouping sets are expanded before"
    below = plan.add(node.input)
    types = tuple(node.input.schema[key].type for key in node.keys)
    whole = GroupAggregate(
        keys=node.keys,
        key_types=types,
        calls=node.aggregates,
        retracts=below.retracts,
        before=before,
        every_change=plan.options.every_change,
        **plan.options.common,
    )
    hinted = hinted_ttl(node.input)
    if hinted is not None:
        whole = replace(whole, state_ttl=hinted)
    changes = plan.changes(node)
    names = ", ".join([*(node.schema[place].name for place in range(len(node.keys)))]) or "all rows"
    values = shared_values(node.aggregates, below.retracts) if plan.options.split_distinct else None
    if values is not None:
        return _split(plan, node, below, whole, values)
    if not plan.options.two_phase or not supports_two_phases(node.aggregates, below.retracts):
        inputs = [(below, by(node.keys))]
        return plan.step(f"GroupAggregate({names})", whole, inputs, node.schema, changes)
    local = LocalAggregate(keys=node.keys, calls=node.aggregates, retracts=below.retracts, **plan.options.common)
    partial = plan.step(f"LocalGroupAggregate({names})", local, [(below, None)], (), below.changes)
    merged = replace(whole, partial=True)
    inputs = [(partial, by(range(len(node.keys))))]
    return plan.step(f"GlobalGroupAggregate({names})", merged, inputs, node.schema, changes)


def _split(plan: Plan, node: n.Aggregate, below: Planned, whole: GroupAggregate, values: tuple[Rex, ...]) -> Planned:
    """The values of DISTINCT are spread over all tasks."""
    common = plan.options.common
    buckets = plan.step("DistinctBuckets", BucketColumn(values=values, **common), [(below, None)], (), below.changes)
    bucket = len(node.input.schema)
    first = DistinctAggregate(
        keys=node.keys,
        key_types=whole.key_types,
        bucket=bucket,
        calls=node.aggregates,
        retracts=below.retracts,
        **common,
    )
    spread = [(buckets, by((*node.keys, bucket)))]
    partial = plan.step("PartialDistinctAggregate", first, spread, (), below.changes)
    merged = replace(whole, calls=without_distinct(node.aggregates), partial=True)
    inputs = [(partial, by(range(len(node.keys))))]
    return plan.step("GlobalDistinctAggregate", merged, inputs, node.schema, plan.changes(node))


@streaming_form(n.TableAggregate, changes=_changes_of_table_aggregate)
def table_aggregate(plan: Plan, node: n.TableAggregate, before: bool) -> Planned:
    below = plan.add(node.input)
    config = TableAggregate(
        keys=node.keys,
        key_types=tuple(node.input.schema[key].type for key in node.keys),
        call=node.call,
        types=tuple(field.type for field in node.schema[len(node.keys) :]),
        **plan.options.common,
    )
    return plan.step("GroupTableAggregate", config, [(below, by(node.keys))], node.schema, plan.changes(node))
