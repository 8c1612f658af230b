"""Column pruning: columns that are not needed are neither read nor passed on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from millrace.relational import nodes as n
from millrace.relational.nodes.rel import expressions_of
from millrace.relational.rex import AggCall, Ref, Rex, SortKey, refs, remap
from millrace.relational.sources import goes_by_key

Places = dict[int, int]
"""column before -> column of the narrower node"""


def prune_columns(plan: n.Rel) -> n.Rel:
    """Remove columns that are not needed from all nodes of a plan, down to ``Scan.projected``; the result keeps its
    columns."""
    pruned, places = _prune(plan, set(range(len(plan.schema))))
    assert places == {index: index for index in range(len(plan.schema))}, "all columns of the result are needed"
    return pruned


def _prune(node: n.Rel, needed: set[int]) -> tuple[n.Rel, Places]:
    """The node with at least the needed columns, in the same order."""
    for kind, prune in _RULES:
        if isinstance(node, kind):
            return prune(node, needed)
    return _whole(node)


def _whole(node: n.Rel) -> tuple[n.Rel, Places]:
    """A node that needs all of its inputs, and keeps all of its columns."""
    inputs = tuple(_exactly(each, set(range(len(each.schema)))) for each in node.inputs)
    return (node.with_inputs(inputs) if inputs else node), _same(len(node.schema))


def _same(width: int) -> Places:
    return {index: index for index in range(width)}


def _exactly(node: n.Rel, needed: set[int]) -> n.Rel:
    """The node with just the needed columns, or all if none is: rows without columns are not carried around."""
    needed = needed or ({0} if node.schema else set())
    pruned, places = _prune(node, needed)
    if len(pruned.schema) == len(needed):
        return pruned
    kept = sorted(needed)
    columns = tuple(pruned.schema[places[index]] for index in kept)
    return n.Project(pruned, tuple(Ref(column.type, places[i]) for i, column in zip(kept, columns)), columns)


def _kept(needed: Iterable[int]) -> Places:
    return {old: new for new, old in enumerate(sorted(needed))}


def _scan(node: n.Scan, needed: set[int]) -> tuple[n.Rel, Places]:
    if node.source is None:
        return _whole(node)
    read = range(len(node.columns)) if node.projected is None else node.projected
    if goes_by_key(node.source):
        # The primary key identifies rows, so it is read even if no node above needs it.
        needed = needed | {place for place, column in enumerate(read) if column in node.source.primary_key}
    needed = needed or {0}
    places = _kept(needed)
    narrow = replace(
        node, columns=tuple(node.columns[index] for index in places), projected=tuple(read[index] for index in places)
    )
    return (node if len(needed) == len(node.columns) else narrow), places


def _values(node: n.Values, needed: set[int]) -> tuple[n.Rel, Places]:
    places = _kept(needed)
    columns = tuple(node.columns[index] for index in places)
    return n.Values(columns, tuple(tuple(row[index] for index in places) for row in node.rows)), places


def _project(node: n.Project, needed: set[int]) -> tuple[n.Rel, Places]:
    places = _kept(needed or ({0} if node.columns else set()))
    kept = [node.expressions[index] for index in places]
    below, moved = _below(node.input, set().union(*map(refs, kept)) if kept else set())
    expressions = tuple(remap(each, moved) for each in kept)
    return n.Project(below, expressions, tuple(node.columns[index] for index in places)), places


def _below(node: n.Rel, needed: set[int]) -> tuple[n.Rel, Places]:
    needed = needed or ({0} if node.schema else set())
    return _prune(node, needed)


def _through(node: n.Rel, needed: set[int]) -> tuple[n.Rel, Places]:
    """Columns of the input and expressions over them."""
    read = set().union(*map(refs, expressions_of(node)))
    below, places = _below(node.inputs[0], needed | read)
    changed: Any = node.with_inputs((below,))
    if isinstance(node, n.Filter):
        changed = replace(changed, condition=remap(node.condition, places))
    elif isinstance(node, n.Sort):
        changed = replace(changed, keys=_keys(node.keys, places))
    return changed, places


def _watermark(node: n.Watermark, needed: set[int]) -> tuple[n.Rel, Places]:
    below, places = _below(node.input, needed | {node.column} | refs(node.expression))
    return replace(node, input=below, column=places[node.column], expression=remap(node.expression, places)), places


def _window_table(node: n.WindowTable, needed: set[int]) -> tuple[n.Rel, Places]:
    """The three columns of the window stay."""
    width = len(node.input.schema)
    read = {index for index in needed if index < width} | {node.time, *node.partition}
    below, places = _below(node.input, read)
    start = len(below.schema)
    columns = (*(node.columns[index] for index in sorted(places, key=places.__getitem__)), *node.columns[width:])
    pruned = replace(
        node,
        input=below,
        time=places[node.time],
        partition=tuple(places[index] for index in node.partition),
        columns=columns,
    )
    return pruned, {**places, **{width + index: start + index for index in range(len(node.columns) - width)}}


def _window_aggregate(node: n.WindowAggregate, needed: set[int]) -> tuple[n.Rel, Places]:
    """Keep all columns of the aggregation; of its input only the columns that it reads."""
    below, places = _below(node.input, {node.time, *node.keys, *(node.attached or ()), *_read(node.aggregates)})
    pruned = replace(
        node,
        input=below,
        time=places[node.time],
        keys=tuple(places[key] for key in node.keys),
        aggregates=_calls(node.aggregates, places),
        attached=None if node.attached is None else (places[node.attached[0]], places[node.attached[1]]),
    )
    return pruned, _same(len(node.columns))


def _keys(keys: Sequence[SortKey], places: Places) -> tuple[SortKey, ...]:
    return tuple(replace(key, expression=remap(key.expression, places)) for key in keys)


def _calls(calls: Sequence[AggCall], places: Places) -> tuple[AggCall, ...]:
    def moved(expression: Rex) -> Rex:
        return remap(expression, places)

    return tuple(call.map(moved) for call in calls)


def _aggregate(node: n.Aggregate, needed: set[int]) -> tuple[n.Rel, Places]:
    """Keys stay, calls that are not needed go. A table aggregate function makes several columns at once."""
    width = len(node.keys)
    whole = len(node.columns) != width + len(node.aggregates) or not width
    kept = set(range(len(node.columns))) if whole else needed | set(range(width))
    calls = node.aggregates if whole else tuple(node.aggregates[i - width] for i in sorted(kept) if i >= width)
    read = {*node.keys, *_read(calls)}
    below, places = _below(node.input, read)
    pruned = replace(
        node,
        input=below,
        keys=tuple(places[key] for key in node.keys),
        aggregates=_calls(calls, places),
        columns=tuple(node.columns[index] for index in sorted(kept)),
    )
    return pruned, _kept(kept)


def _read(calls: Sequence[AggCall]) -> set[int]:
    return {index for call in calls for each in call.inputs() for index in refs(each)}


def _over(node: n.Over, needed: set[int]) -> tuple[n.Rel, Places]:
    width = len(node.input.schema)
    chosen = [index for index in range(len(node.calls)) if width + index in needed]
    calls = [node.calls[index] for index in chosen]
    if not calls:
        return _below(node.input, needed)
    order = {index for key in node.order for index in refs(key.expression)}
    read = {index for index in needed if index < width} | set(node.partition) | order | _read([c for c, _ in calls])
    below, places = _below(node.input, read)
    pruned = replace(
        node,
        input=below,
        partition=tuple(places[index] for index in node.partition),
        order=_keys(node.order, places),
        calls=tuple((call, frame) for call, (_, frame) in zip(_calls([c for c, _ in calls], places), calls)),
        produced=tuple(node.produced[index] for index in chosen),
    )
    start = len(below.schema)
    return pruned, {**places, **{width + index: start + new for new, index in enumerate(chosen)}}


def _rank(node: n.Rank, needed: set[int]) -> tuple[n.Rel, Places]:
    width = len(node.input.schema)
    order = {index for key in node.order for index in refs(key.expression)}
    read = {index for index in needed if index < width} | set(node.partition) | order | set(node.window or ())
    below, places = _below(node.input, read)
    pruned = replace(
        node,
        input=below,
        partition=tuple(places[index] for index in node.partition),
        order=_keys(node.order, places),
        window=None if node.window is None else (places[node.window[0]], places[node.window[1]]),
        number=node.number if width in needed else None,
    )
    return pruned, {**places, **({width: len(below.schema)} if width in needed else {})}


def _join(node: n.Join | n.IntervalJoin | n.WindowJoin | n.TemporalJoin, needed: set[int]) -> tuple[n.Rel, Places]:
    width = len(node.left.schema)
    own_left, own_right = _own_columns(node)
    read = needed | refs(node.condition)
    left, left_places = _below(node.left, {index for index in read if index < width} | own_left)
    right, right_places = _below(node.right, {index - width for index in read if index >= width} | own_right)
    start = len(left.schema)
    places = {**left_places, **{width + old: start + new for old, new in right_places.items()}}
    pruned = replace(node, left=left, right=right, condition=remap(node.condition, places))
    moved = _with_own_columns(pruned, left_places, right_places)
    return moved, (left_places if node.kind in ("SEMI", "ANTI") else places)


def _own_columns(node: n.Rel) -> tuple[set[int], set[int]]:
    """The columns of either side that a join reads beside its condition."""
    if isinstance(node, n.IntervalJoin):
        return {node.left_time}, {node.right_time}
    if isinstance(node, n.WindowJoin):
        return set(node.left_window), set(node.right_window)
    if isinstance(node, n.TemporalJoin):
        return {node.left_time}, {*node.right_key, *([] if node.right_time is None else [node.right_time])}
    return set(), set()


def _with_own_columns(node: n.Rel, left: Places, right: Places) -> n.Rel:
    if isinstance(node, n.IntervalJoin):
        return replace(node, left_time=left[node.left_time], right_time=right[node.right_time])
    if isinstance(node, n.WindowJoin):
        (a, b), (c, d) = node.left_window, node.right_window
        return replace(node, left_window=(left[a], left[b]), right_window=(right[c], right[d]))
    if isinstance(node, n.TemporalJoin):
        time = None if node.right_time is None else right[node.right_time]
        key = tuple(right[index] for index in node.right_key)
        return replace(node, left_time=left[node.left_time], right_time=time, right_key=key)
    return node


def _deduplicate(node: n.Deduplicate, needed: set[int]) -> tuple[n.Rel, Places]:
    width = len(node.input.schema)
    read = {index for index in needed if index < width} | {node.time, *node.keys, *(node.window or ())}
    below, places = _below(node.input, read)
    pruned = replace(
        node,
        input=below,
        keys=tuple(places[key] for key in node.keys),
        time=places[node.time],
        window=None if node.window is None else (places[node.window[0]], places[node.window[1]]),
        number=node.number if width in needed else None,
    )
    return pruned, {**places, **({width: len(below.schema)} if width in needed else {})}


def _lookup_join(node: n.LookupJoin, needed: set[int]) -> tuple[n.Rel, Places]:
    """All columns of the external table stay: it gives whole rows."""
    width = len(node.input.schema)
    read = {index for _, key in node.lookup for index in refs(key)}
    if node.condition is not None:
        read |= refs(node.condition)
    below, places = _below(node.input, {index for index in needed | read if index < width})
    start = len(below.schema)
    places = {**places, **{width + index: start + index for index in range(len(node.table))}}
    condition = None if node.condition is None else remap(node.condition, places)
    lookup = tuple((column, remap(key, places)) for column, key in node.lookup)
    return replace(node, input=below, lookup=lookup, condition=condition), places


def _correlate(node: n.Correlate, needed: set[int]) -> tuple[n.Rel, Places]:
    """Keep all columns of the table function, since it makes them in any case."""
    width = len(node.input.schema)
    read = {index for each in node.args for index in refs(each)}
    if node.condition is not None:
        read |= refs(node.condition)
    below, places = _below(node.input, {index for index in needed | read if index < width})
    start = len(below.schema)
    places = {**places, **{width + index: start + index for index in range(len(node.produced))}}
    condition = None if node.condition is None else remap(node.condition, places)
    return replace(
        node, input=below, args=tuple(remap(each, places) for each in node.args), condition=condition
    ), places


def _set_op(node: n.SetOp, needed: set[int]) -> tuple[n.Rel, Places]:
    """Only a UNION ALL can lose columns: the others compare whole rows."""
    if node.kind != "UNION" or not node.all:
        return _whole(node)
    needed = needed or {0}
    branches = tuple(_exactly(each, needed) for each in node.branches)
    places = _kept(needed)
    return replace(node, branches=branches, columns=tuple(node.columns[index] for index in places)), places


_RULES: list[tuple[type | tuple[type, ...], Callable[..., tuple[n.Rel, Places]]]] = [
    (n.Scan, _scan),
    (n.Values, _values),
    (n.Project, _project),
    ((n.Filter, n.Sort, n.Hinted), _through),
    (n.Watermark, _watermark),
    (n.WindowTable, _window_table),
    (n.WindowAggregate, _window_aggregate),
    (n.Aggregate, _aggregate),
    (n.Over, _over),
    (n.Rank, _rank),
    (n.Deduplicate, _deduplicate),
    ((n.Join, n.IntervalJoin, n.WindowJoin, n.TemporalJoin), _join),
    (n.LookupJoin, _lookup_join),
    (n.Correlate, _correlate),
    (n.SetOp, _set_op),
]
