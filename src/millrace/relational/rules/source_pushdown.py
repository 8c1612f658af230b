"""LIMIT and aggregates move into sources that can do with less: in batch mode, where nothing changes afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from millrace.relational import nodes as n
from millrace.relational.nodes.traversal import transform
from millrace.relational.rex import AggCall, Ref, Rex, conjuncts, remap
from millrace.relational.rules.determinism import is_deterministic
from millrace.relational.sources import Aggregation, TableSource

_FUNCTIONS = frozenset({"COUNT", "SUM", "MIN", "MAX", "AVG"})


def push_into_sources(plan: n.Rel) -> n.Rel:
    """The same rows (of a LIMIT: as many of them), with less that is read."""
    return transform(plan, _pushed)


def _pushed(node: n.Rel) -> n.Rel:
    if isinstance(node, n.Sort) and not node.keys and node.fetch is not None:
        return replace(node, input=_limited(node.input, node.offset + node.fetch))
    return _aggregated(node) if isinstance(node, n.Aggregate) else node


def _limited(node: n.Rel, count: int) -> n.Rel:
    """The input of a LIMIT, whose source knows of it."""
    if isinstance(node, n.Project) and all(map(is_deterministic, node.expressions)):
        return replace(node, input=_limited(node.input, count))
    found = _filtered(node)
    if found is None:
        return node
    scan, filters = found
    source = scan.source.limited(count, filters)
    return node if source is None else _with_source(node, source)


def _with_source(node: n.Rel, source: TableSource) -> n.Rel:
    if isinstance(node, n.Filter):
        return replace(node, input=_with_source(node.input, source))
    assert isinstance(node, n.Scan)
    return replace(node, source=source)


def _filtered(node: n.Rel) -> tuple[n.Scan, tuple[Rex, ...]] | None:
    """A scan and all conditions over it, on the columns of its table."""
    below = node.input if isinstance(node, n.Filter) else node
    if not isinstance(below, n.Scan) or not isinstance(below.source, TableSource):
        return None
    places = dict(enumerate(_columns(below)))
    conditions = conjuncts(node.condition) if isinstance(node, n.Filter) else ()
    if not all(map(is_deterministic, conditions)):
        return None
    return below, tuple(remap(each, places) for each in conditions)


def _columns(scan: n.Scan) -> Sequence[int]:
    return range(len(scan.columns)) if scan.projected is None else scan.projected


def _aggregated(node: n.Aggregate) -> n.Rel:
    """A scan of the aggregates, if the source computes them."""
    below, through = node.input, list(range(len(node.input.schema)))
    if isinstance(below, n.Project):
        if not all(isinstance(each, Ref) for each in below.expressions):
            return node
        through = [each.index for each in below.expressions if isinstance(each, Ref)]
        below = below.input
    found = _filtered(below)
    calls = [_call(each) for each in node.aggregates]
    if node.sets is not None or found is None or None in calls:
        return node
    scan, filters = found
    columns = _columns(scan)

    def place(column: int) -> int:
        return columns[through[column]]

    asked = Aggregation(
        tuple(place(each) for each in node.keys),
        tuple((name, None if column is None else place(column)) for name, column in filter(None, calls)),
        node.columns,
        filters,
    )
    source = scan.source.aggregated(asked)
    return node if source is None else n.Scan(scan.path, node.columns, source)


def _call(call: AggCall) -> tuple[str, int | None] | None:
    """An aggregate as sources are asked for it; None: it is more than that."""
    if call.udf is not None or call.distinct or call.filter is not None or call.order or call.options:
        return None
    if call.function not in _FUNCTIONS or len(call.args) > 1:
        return None
    if not call.args:
        return call.function, None
    (arg,) = call.args
    return (call.function, arg.index) if isinstance(arg, Ref) else None
