"""Aggregates over a windowing table function: the function's rows, one for every window, need not be made."""

from __future__ import annotations

from dataclasses import replace

from millrace.relational import nodes as n
from millrace.relational.nodes.traversal import transform
from millrace.relational.rex import AggCall, Literal, Ref, Rex, conjunction, refs, substitute


def attached_windows(plan: n.Rel) -> n.Rel:
    """An aggregate per window_start and window_end over a ``WindowTable`` assigns the windows itself, where nothing
    else looks at them."""
    return transform(plan, lambda node: _direct(node) if isinstance(node, n.WindowAggregate) else node)


def _direct(node: n.WindowAggregate) -> n.Rel:
    if node.attached is None:
        return node
    columns: tuple[Rex, ...] = tuple(Ref(each.type, index) for index, each in enumerate(node.input.schema))
    conditions: list[Rex] = []
    below = node.input
    while isinstance(below, (n.Project, n.Filter)):
        if isinstance(below, n.Filter):
            conditions.append(below.condition)
        else:
            columns = tuple(substitute(each, below.expressions) for each in columns)
            conditions = [substitute(each, below.expressions) for each in conditions]
        below = below.input
    if not isinstance(below, n.WindowTable):
        return node
    width = len(below.input.schema)
    bounds = [columns[place] for place in node.attached]
    if [each.index if isinstance(each, Ref) else None for each in bounds] != [width, width + 1]:
        return node
    used = {*node.keys, *(place for call in node.aggregates for place in _columns_of(call))}
    if any(_sees_windows(each, width) for each in (*conditions, *(columns[place] for place in used))):
        return node
    if node.window.kind == "SESSION" and not _same_partition(node, columns, below):
        return node
    return _over_rows(node, columns, conditions, below, used)


def _over_rows(
    node: n.WindowAggregate, columns: tuple[Rex, ...], conditions: list[Rex], below: n.WindowTable, used: set[int]
) -> n.Rel:
    source = below.input
    kept = n.Filter(source, conjunction(conditions)) if conditions else source
    expressions = [each if place in used else Literal(each.type.nullable(), None) for place, each in enumerate(columns)]
    time = source.schema[below.time]
    fields = (*(replace(each, time=None) for each in node.input.schema), time)
    projected = n.Project(kept, (*expressions, Ref(time.type, below.time)), fields)
    return replace(node, input=projected, time=len(expressions), attached=None)


def _columns_of(call: AggCall) -> set[int]:
    return {place for each in call.inputs() for place in refs(each)}


def _sees_windows(expression: Rex, width: int) -> bool:
    return max(refs(expression), default=-1) >= width


def _same_partition(node: n.WindowAggregate, columns: tuple[Rex, ...], below: n.WindowTable) -> bool:
    """Whether the sessions of the function are those of the aggregate's keys."""
    keys = [columns[key] for key in node.keys]
    return {each.index for each in keys if isinstance(each, Ref)} == set(below.partition) and all(
        isinstance(each, Ref) for each in keys
    )
