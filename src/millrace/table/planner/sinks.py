"""Where rows go: what a sink takes, and what is done so that it gets no more."""

from __future__ import annotations

from millrace.common.types import RowKind
from millrace.graph import specs
from millrace.graph.nodes import Edge
from millrace.relational import nodes as n
from millrace.relational.sources import TableSink
from millrace.runtime.tables.changelog import DropUpdateBefore, UpsertMaterialize
from millrace.table.planner.changes import ChangelogError, Changes, Key
from millrace.table.planner.plan import Plan, Planned, by, rule


@rule(n.Sink)
def sink(plan: Plan, node: n.Sink, before: bool) -> Planned:
    table, changes = ".".join(node.path), plan.changes(node.input)
    _check(table, node.sink, changes)
    wants_before = RowKind.UPDATE_BEFORE in node.sink.kinds
    key = _primary_key(node)
    by_key = changes.append_only or key is None or wants_before or _is_by(changes, key)
    below = plan.add(node.input, wants_before or not by_key)
    if not by_key:
        assert key is not None
        types = tuple(column.type for column in node.input.schema)
        unique = min(changes.keys, key=len, default=())
        config = UpsertMaterialize(keys=key, types=types, unique=unique, **plan.options.common)
        below = plan.step("SinkMaterializer", config, [(below, by(key))], node.input.schema, changes)
    elif changes.updates and not wants_before:
        drop = DropUpdateBefore(**plan.options.common)
        below = plan.step("DropUpdateBefore", drop, [(below, None)], node.input.schema, changes)
    spec = specs.Sink(node.sink.stream())
    # Changes of a row must not overtake each other.
    together = by(key) if key is not None and not changes.append_only else None
    added = plan.program.add(f"Sink({table})", spec, tuple(Edge(id, together) for id in below.ids))
    return Planned((added.id,), node.schema, changes)


def _check(table: str, sink: TableSink, changes: Changes) -> None:
    missing = []
    if changes.updates and RowKind.UPDATE_AFTER not in sink.kinds:
        missing.append("updates")
    if changes.deletes and RowKind.DELETE not in sink.kinds:
        missing.append("deletions")
    if missing:
        raise ChangelogError(
            f"table {table} takes no {' and no '.join(missing)}, but {changes.cause} makes them: write to a table with "
            f"a PRIMARY KEY of a connector that takes changes, or use a window"
        )


def _primary_key(node: n.Sink) -> Key | None:
    if not node.sink.keys:
        return None
    names = node.input.names
    return tuple(names.index(name) for name in node.sink.keys)


def _is_by(changes: Changes, key: Key) -> bool:
    """Whether rows that follow each other under one primary key are versions of one row."""
    return any(set(each) <= set(key) for each in changes.keys)
