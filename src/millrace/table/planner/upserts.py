"""The changes of a table as upserts: rows without what they were before."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from millrace.relational import nodes as n
from millrace.runtime.tables.changelog import DropUpdateBefore, UpsertMaterialize
from millrace.table.planner.changes import Key
from millrace.table.planner.changing_values import computed_anew
from millrace.table.planner.ordered_keys import ordered_keys
from millrace.table.planner.plan import Plan, Planned, by


def upserts(plan: Plan, input: n.Rel, key: Key | None, through: Callable[[Planned], Planned]) -> Planned:
    """The rows of a node without what they were before.

    :param key: what the consumer knows rows by; None: by the key that they have.
    :param through: what they pass on their way.
    """
    changes = plan.changes(input)
    known_by = ordered_keys(input, plan.changes)
    materialized = key is not None and needs_materializer(plan, input, key)
    below = through(plan.add(input, materialized))
    if materialized:
        assert key is not None
        types = tuple(column.type for column in input.schema)
        unique = min(known_by, key=len, default=None)
        meaning = plan.meanings.of_upserts(input, key, unique)
        config = UpsertMaterialize(
            keys=key,
            types=types,
            unique=unique,
            compared=same_each_time(input),
            meaning=meaning,
            **plan.options.common,
        )
        return plan.step("SinkMaterializer", config, [(below, by(key))], input.schema, changes)
    if changes.updates:
        drop = DropUpdateBefore(**plan.options.common)
        return plan.step("DropUpdateBefore", drop, [(below, None)], input.schema, changes)
    return below


def same_each_time(node: n.Rel) -> tuple[int, ...] | None:
    """The columns that a row has again when it is taken back; None: all. What is computed of each change by itself, as
    RAND(), has another value then."""
    changing = computed_anew(node)
    return tuple(place for place in range(len(node.schema)) if place not in changing) if changing else None


def needs_materializer(plan: Plan, input: n.Rel, key: Key) -> bool:
    """Whether the changes of a node's rows do not come in the order that a primary key needs."""
    return not plan.changes(input).append_only and not _is_by(ordered_keys(input, plan.changes), key)


def _is_by(known_by: Iterable[Key], key: Key) -> bool:
    """Whether rows that follow each other under one primary key are versions of one row."""
    return any(set(each) <= set(key) for each in known_by)
