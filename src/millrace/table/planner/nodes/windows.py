"""Windowing table functions, and aggregates per window."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from millrace.relational import nodes as n
from millrace.relational.types import LocalZonedTimestampType
from millrace.runtime.tables.aggregates.local_aggregate import supports_two_phases
from millrace.runtime.tables.windows.count_windows import ROWS
from millrace.runtime.tables.windows.local_window_aggregate import LocalWindowAggregate
from millrace.runtime.tables.windows.session_table import SessionTable
from millrace.runtime.tables.windows.window_config import WindowAggregate
from millrace.runtime.tables.windows.window_table import WindowTable
from millrace.table.planner.changes import Changes, without_keys
from millrace.table.planner.forms import streaming_form
from millrace.table.planner.plan import Plan, Planned, by


def _changes_of_window_aggregate(node: Any, inputs: list[Changes]) -> Changes:
    first = len(node.keys) + len(node.aggregates)
    window = [first + place for place, name in enumerate(node.properties) if name in ("START", "END")]
    keys = frozenset({(*range(len(node.keys)), *window)}) if window and node.sets is None else frozenset()
    if node.emission is None:
        return Changes(keys=keys)
    return Changes(True, not inputs[0].append_only, keys, f"a group window with {node.emission.text}")


@streaming_form(n.WindowTable, changes=without_keys)
def window_table(plan: Plan, node: n.WindowTable, before: bool) -> Planned:
    column = node.input.schema[node.time]
    timed = {
        "window": node.window,
        "time": None if column.time == n.PROCTIME else node.time,
        "zoned": isinstance(column.type, LocalZonedTimestampType),
        **plan.options.common,
    }
    below = plan.add(node.input, before)
    name = f"WindowTableFunction({node.window.kind})"
    if node.window.kind != "SESSION":
        return plan.step(name, WindowTable(**timed), [(below, None)], node.schema, plan.changes(node))
    types = tuple(field.type for field in node.input.schema)
    sessions = SessionTable(partition=node.partition, types=types, **timed)
    return plan.step(name, sessions, [(below, by(node.partition))], node.schema, plan.changes(node))


@streaming_form(n.WindowAggregate, changes=_changes_of_window_aggregate)
def window_aggregate(plan: Plan, node: n.WindowAggregate, before: bool) -> Planned:
    column = time_attribute(node.input) if node.attached is not None else node.input.schema[node.time]
    below = plan.add(node.input) if node.window.kind != ROWS else plan.add_insertions(node.input, "a window of rows")
    config = WindowAggregate(
        window=node.window,
        time=None if column.time == n.PROCTIME else node.time,
        zoned=isinstance(column.type, LocalZonedTimestampType),
        keys=node.keys,
        key_types=tuple(node.input.schema[key].type for key in node.keys),
        calls=node.aggregates,
        properties=node.properties,
        retracts=below.retracts,
        attached=node.attached,
        emission=node.emission,
        before=before,
        every_change=plan.options.every_change,
        **plan.options.common,
    )
    name = f"WindowAggregate({node.window.kind})"
    if node.emission is None and plan.options.two_phase and _has_two_phases(node, config):
        return _two_phases(plan, node, below, config, name)
    # Rows that are in a window already are partitioned by it, too: more tasks have work.
    keys = (*node.keys, *(node.attached or ()))
    return plan.step(name, config, [(below, by(keys))], node.schema, plan.changes(node))


def _has_two_phases(node: n.WindowAggregate, config: WindowAggregate) -> bool:
    """Whether windows of event time can be put together from parts, which are the same for all keys."""
    window = node.window
    # Of windows with gaps between them some slices belong to none.
    slices = window.kind != "SESSION" and (window.slide or window.size) <= window.size
    insertions = config.time is not None and not config.retracts
    return (slices or node.attached is not None) and insertions and supports_two_phases(node.aggregates, False)


def _two_phases(plan: Plan, node: n.WindowAggregate, below: Planned, config: WindowAggregate, name: str) -> Planned:
    local = LocalWindowAggregate(
        window=config.window,
        time=config.time,
        zoned=config.zoned,
        keys=config.keys,
        calls=config.calls,
        attached=config.attached,
        **plan.options.common,
    )
    partial = plan.step(f"Local{name}", local, [(below, None)], (), below.changes)
    width = len(config.keys)
    attached = None if config.attached is None else (width, width + 1)
    merged = replace(config, keys=tuple(range(width)), attached=attached, partial=True)
    keys = by((*merged.keys, *(attached or ())))
    return plan.step(f"Global{name}", merged, [(partial, keys)], node.schema, plan.changes(node))


def is_zoned(node: n.Rel) -> bool:
    """Whether the windows below a node are those of a TIMESTAMP_LTZ."""
    return isinstance(time_attribute(node).type, LocalZonedTimestampType)


def time_attribute(node: n.Rel) -> n.Field:
    """The time attribute that the windows below a node are windows of."""
    for each in n.walk(node):
        if isinstance(each, n.WindowTable) or (isinstance(each, n.WindowAggregate) and each.attached is None):
            return each.input.schema[each.time]
    raise ValueError("windows that come from no TUMBLE, HOP, CUMULATE or SESSION")
