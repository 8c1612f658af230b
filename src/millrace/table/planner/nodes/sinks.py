"""Where rows go: what a sink takes, and what is done so that it gets no more."""

from __future__ import annotations

from typing import Any

from millrace.common.types import RowKind
from millrace.graph.nodes import Edge
from millrace.relational import nodes as n
from millrace.relational.rex import Ref
from millrace.relational.sources import TableSink
from millrace.runtime.exchange.partitioners import Partitioner
from millrace.runtime.jobs import specs
from millrace.runtime.tables.constraints import EnforceConstraints
from millrace.table.planner.changes import ChangelogError, Changes, Key, same
from millrace.table.planner.conflicts import check_conflicts, may_conflict, one_row
from millrace.table.planner.forms import streaming_form
from millrace.table.planner.plan import Plan, Planned, by
from millrace.table.planner.upserts import needs_materializer, upserts


@streaming_form(n.Sink, changes=same)
def sink(plan: Plan, node: n.Sink, before: bool) -> Planned:
    table, changes = ".".join(node.path), plan.changes(node.input)
    if node.overwrite:
        raise NotImplementedError(
            f"table {table} cannot be overwritten in streaming mode: use INSERT INTO or batch mode"
        )
    _check(table, node.sink, changes)
    check_conflicts(plan, node)
    wants_before = RowKind.UPDATE_BEFORE in node.sink.kinds
    key = _primary_key(node)
    if key is not None and may_conflict(plan, node, key) and node.wants_one_row:
        below = one_row(plan, node, key, _enforced(plan, node, plan.add(node.input, True)))
    elif wants_before:
        below = _enforced(plan, node, plan.add(node.input, True))
    else:
        plan.of_sinks |= _read_as_it_is(node.input)
        below = upserts(plan, node.input, key, lambda rows: _enforced(plan, node, rows))
    spec = specs.Sink(node.sink.stream())
    together = None if key is None or _comes_together(plan, node, key) else by(key)
    if together is None and node.sink.together:
        together = by([node.input.names.index(name) for name in node.sink.together])
    edges = tuple(Edge(id, together) for id in below.ids)
    added = plan.program.add(f"Sink({table})", spec, edges, **_width(plan, node, below, together))
    return Planned((added.id,), node.schema, changes)


def _comes_together(plan: Plan, node: n.Sink, key: Key) -> bool:
    """Whether changes of a row can't overtake each other on their way to the tasks of the sink, though nothing is
    exchanged: one task makes them, and it hands them to one."""
    if plan.changes(node.input).append_only:
        return True
    if node.sink.parallelism is not None:
        return False
    # A materializer has them by the key already.
    return RowKind.UPDATE_BEFORE not in node.sink.kinds or not needs_materializer(plan, node.input, key)


def _read_as_it_is(node: n.Rel) -> set[int]:
    """The identity of the table whose columns these rows are. A deletion may say no more than its key, so nothing else
    may be computed of it."""
    while isinstance(node, n.Watermark) or (
        isinstance(node, n.Project) and all(isinstance(each, Ref) for each in node.expressions)
    ):
        node = node.input
    return {id(node)} if isinstance(node, n.Scan) else set()


def _width(plan: Plan, node: n.Sink, below: Planned, together: Partitioner | None) -> dict[str, Any]:
    """How many subtasks write."""
    if node.sink.parallelism is None:
        return plan.width([(below, together)])
    if below.retracts and together is None:
        raise ChangelogError(
            f"table {'.'.join(node.path)}: 'sink.parallelism' would let changes of a row overtake each other: declare "
            f"a PRIMARY KEY, or leave it out"
        )
    return {"parallelism": node.sink.parallelism}


def _enforced(plan: Plan, node: n.Sink, below: Planned) -> Planned:
    """With what the table demands of its rows."""
    config = EnforceConstraints.of(node.columns, plan.options.environment.configuration, **plan.options.common)
    if not config.needed:
        return below
    return plan.step("ConstraintEnforcer", config, [(below, None)], node.input.schema, below.changes)


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
