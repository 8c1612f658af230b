"""Joins of two streams."""

from __future__ import annotations

from typing import Any

from millrace.relational import nodes as n
from millrace.runtime.tables.joins.interval_join import IntervalJoin
from millrace.runtime.tables.joins.join_config import JoinConfig
from millrace.runtime.tables.joins.regular_join import RegularJoin
from millrace.runtime.tables.joins.temporal_config import TemporalJoin
from millrace.runtime.tables.windows.window_join import WindowJoin
from millrace.table.planner.changes import Changes, Key, same
from millrace.table.planner.forms import streaming_form
from millrace.table.planner.nodes.windows import is_zoned
from millrace.table.planner.plan import Plan, Planned, by, hinted_ttl
from millrace.table.planner.versions import versions


def _changes_of_join(node: Any, inputs: list[Changes]) -> Changes:
    left, right = inputs
    keys = _join_keys(node, left, right)
    optional = node.kind not in ("INNER", "SEMI")
    if left.append_only and right.append_only and not optional:
        return Changes(keys=keys)
    cause = left.cause or right.cause or f"a {node.kind} join, whose rows with NULLs are taken back"
    return Changes(left.updates or right.updates, True, keys, cause)


def _join_keys(node: Any, left: Changes, right: Changes) -> frozenset[Key]:
    if node.kind in ("SEMI", "ANTI"):
        return left.keys
    width = len(node.left.schema)
    return frozenset((*a, *(each + width for each in b)) for a in left.keys for b in right.keys)


def _changes_of_timed_join(node: Any, inputs: list[Changes]) -> Changes:
    # Keys that stay keys: those of a semi or anti join's left side.
    return Changes(keys=inputs[0].keys if node.kind in ("SEMI", "ANTI") else frozenset())


@streaming_form(n.Join, changes=_changes_of_join)
def regular_join(plan: Plan, node: n.Join, before: bool) -> Planned:
    left, right = plan.add(node.left), plan.add(node.right)
    config = RegularJoin(
        **_common(plan, node),
        null_aware=node.null_aware,
        left_unique=_unique(left.changes),
        right_unique=_unique(right.changes),
        left_append_only=left.changes.append_only,
        right_append_only=right.changes.append_only,
        left_ttl=hinted_ttl(node.left),
        right_ttl=hinted_ttl(node.right),
    )
    # NULLs of a NOT IN meet all keys.
    return _joined(plan, "Join", node, config, left, right, partitioned=not node.null_aware)


@streaming_form(n.WindowJoin, changes=_changes_of_timed_join)
def window_join(plan: Plan, node: n.WindowJoin, before: bool) -> Planned:
    config = WindowJoin(
        **_common(plan, node),
        left_window=node.left_window,
        right_window=node.right_window,
        zone=plan.options.environment.zone if is_zoned(node.left) else None,
    )
    left, right = (plan.add_insertions(each, "a window join") for each in node.inputs)
    return _joined(plan, "WindowJoin", node, config, left, right)


@streaming_form(n.IntervalJoin, changes=_changes_of_timed_join)
def interval_join(plan: Plan, node: n.IntervalJoin, before: bool) -> Planned:
    config = IntervalJoin(
        **_common(plan, node),
        left_time=node.left_time,
        right_time=node.right_time,
        lower=node.lower,
        upper=node.upper,
        event_time=node.left.schema[node.left_time].time != n.PROCTIME,
    )
    left, right = (plan.add_insertions(each, "an interval join") for each in node.inputs)
    return _joined(plan, "IntervalJoin", node, config, left, right)


@streaming_form(n.TemporalJoin, changes=same)
def temporal_join(plan: Plan, node: n.TemporalJoin, before: bool) -> Planned:
    config = TemporalJoin(
        **_common(plan, node), left_time=node.left_time, right_time=node.right_time, right_key=node.right_key
    )
    right = node.right if node.right_time is None else versions(node.right)
    return _joined(plan, "TemporalJoin", node, config, plan.add(node.left), plan.add(right))


def _common(plan: Plan, node: Any) -> dict[str, Any]:
    return {
        **plan.options.common,
        "kind": node.kind,
        "left": node.left.schema,
        "right": node.right.schema,
        "condition": node.condition,
    }


def _joined(
    plan: Plan, name: str, node: Any, config: JoinConfig, left: Planned, right: Planned, partitioned: bool = True
) -> Planned:
    equal = config.equal
    exchanges = (by(equal.left), by(equal.right)) if partitioned else (by(()), by(()))
    inputs = [(left, exchanges[0]), (right, exchanges[1])]
    return plan.step(f"{name}({node.kind})", config, inputs, node.schema, plan.changes(node))


def _unique(changes: Changes) -> tuple[int, ...] | None:
    """The shortest set of columns that identifies a row."""
    return min(changes.keys, key=len, default=None)
