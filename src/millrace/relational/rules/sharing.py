"""Plans that run as one job: what they read and compute alike becomes one node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

from millrace.relational import nodes as n
from millrace.relational.deep_calls import deep_calls
from millrace.relational.nodes.traversal import expressions_of, transform
from millrace.relational.rex import Ref
from millrace.relational.rules.determinism import is_deterministic
from millrace.relational.rules.merge_projections import merge_projections
from millrace.relational.sources import TableSource

REUSE_PLANS = "table.optimizer.reuse-sub-plan-enabled"
REUSE_SOURCES = "table.optimizer.reuse-source-enabled"


@deep_calls()
def share(plans: Sequence[n.Rel], scans: bool = True) -> list[n.Rel]:
    """The same plans, with the same object for subplans that are equal. Those that give other values each time stay
    apart.

    :param scans: whether a table is read once although the plans need different columns of it.
    """
    if scans:
        plans = _with_common_scans(plans)
    pool = _Pool()
    return [pool.shared(plan) for plan in plans]


def share_as_set(plans: Sequence[n.Rel], settings: Mapping[str, str]) -> list[n.Rel]:
    """As ``share``, as far as ``table.optimizer.reuse-sub-plan-enabled`` and ``reuse-source-enabled`` say."""
    if not _is_on(settings, REUSE_PLANS):
        return list(plans)
    return share(plans, _is_on(settings, REUSE_SOURCES))


def _is_on(settings: Mapping[str, str], key: str) -> bool:
    return settings.get(key, "true").lower() == "true"


class _Pool:
    """The first of each kind of node, by what it is over."""

    def __init__(self) -> None:
        self._known: dict[tuple[Any, ...], list[n.Rel]] = {}
        self._done: dict[int, tuple[n.Rel, n.Rel]] = {}

    def shared(self, node: n.Rel) -> n.Rel:
        done = self._done.get(id(node))
        if done is None:
            # The node is kept besides what stands for it: its id would else be given to another one.
            done = self._done[id(node)] = node, self._first(node)
        return done[1]

    def _first(self, node: n.Rel) -> n.Rel:
        inputs = tuple(map(self.shared, node.inputs))
        if any(a is not b for a, b in zip(inputs, node.inputs)):
            node = node.with_inputs(inputs)
        if isinstance(node, n.Sink) or not all(map(is_deterministic, expressions_of(node))):
            return node
        alike = self._known.setdefault((type(node), *map(id, inputs)), [])
        for each in alike:
            if _same(each, node):
                return each
        alike.append(node)
        return node


def _same(one: Any, other: Any) -> bool:
    """Whether two parts of plans are the same, their functions and sources included."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, TableSource):
        return one.table is not None and one.table == other.table
    if is_dataclass(one):
        return all(_same(getattr(one, each.name), getattr(other, each.name)) for each in fields(one))
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    # 0.0 equals -0.0, and is another value.
    return repr(one) == repr(other) if isinstance(one, float) else bool(one == other)


def _with_common_scans(plans: Sequence[n.Rel]) -> list[n.Rel]:
    groups: list[list[n.Scan]] = []
    for scan in (each for plan in plans for each in n.find(plan, n.Scan)):
        group = next((each for each in groups if _may_be_one(each[0], scan)), None)
        if group is None:
            groups.append([scan])
        else:
            group.append(scan)
    places = {id(scan): each for group in groups if len(group) > 1 for scan, each in _merged(group)}
    if not places:
        return list(plans)
    return [merge_projections(transform(plan, lambda node: places.get(id(node), node))) for plan in plans]


def _may_be_one(one: n.Scan, other: n.Scan) -> bool:
    """Whether one reading serves both. A source that reads less for its filters must have the same ones."""
    filters = not getattr(one.source, "uses_filters", False) or one.filters == other.filters
    return filters and one.path == other.path and _same(one.source, other.source)


def _merged(scans: Sequence[n.Scan]) -> list[tuple[n.Scan, n.Rel]]:
    """Each scan with what takes its place: its columns of the one that has those of all."""
    columns: dict[int, n.Field] = {}
    for scan in scans:
        columns.update(zip(_columns(scan), scan.columns))
    wanted = tuple(sorted(columns))
    first = scans[0]
    filters = first.filters if all(each.filters == first.filters for each in scans) else ()
    everything = next((None for each in scans if each.projected is None), wanted)
    one = replace(first, columns=tuple(columns[each] for each in wanted), projected=everything, filters=filters)
    return [(scan, _narrowed(one, wanted, scan)) for scan in scans]


def _narrowed(one: n.Scan, wanted: tuple[int, ...], scan: n.Scan) -> n.Rel:
    chosen = _columns(scan)
    if chosen == wanted:
        return one
    refs = tuple(Ref(field.type, wanted.index(column)) for column, field in zip(chosen, scan.columns))
    return n.Project(one, refs, scan.columns)


def _columns(scan: n.Scan) -> tuple[int, ...]:
    """The columns of the source that a scan reads."""
    return tuple(range(len(scan.columns))) if scan.projected is None else scan.projected
