"""What each node of a streaming plan says about its changing table: whether rows are updated or deleted, and by which
columns a row is known again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from millrace.common.types import RowKind
from millrace.relational import nodes as n
from millrace.relational.rex import Ref
from millrace.table.planner.over_order import is_settled

Key = tuple[int, ...]


@dataclass(frozen=True)
class Changes:
    """Of the result of one node."""

    updates: bool = False
    deletes: bool = False
    keys: frozenset[Key] = frozenset()
    """sets of columns of which no two rows of the table have equal values"""
    cause: str = ""
    """what first made it more than insertions, for people"""

    @property
    def append_only(self) -> bool:
        return not (self.updates or self.deletes)

    @property
    def text(self) -> str:
        """As EXPLAIN shows it, e.g. ``[I,UB,UA,D]``."""
        kinds = ["I", *(["UB", "UA"] if self.updates else []), *(["D"] if self.deletes else [])]
        return f"[{','.join(kinds)}]"


APPEND = Changes()


class ChangelogError(ValueError):
    """An operator or a sink would get changes that it can't take."""


def changes_of(node: n.Rel, inputs: Sequence[Changes] | None = None) -> Changes:
    """The changes of a node's result.

    :param inputs: those of its inputs, if they are known.
    :raises NotImplementedError: this kind of node has no streaming form.
    """
    rule = _RULES.get(type(node))
    if rule is None:
        raise NotImplementedError(f"{type(node).__name__} has no streaming form")
    return rule(node, list(map(changes_of, node.inputs)) if inputs is None else list(inputs))


def _scan(node: Any, inputs: list[Changes]) -> Changes:
    kinds = getattr(node.source, "kinds", frozenset({RowKind.INSERT}))
    primary = getattr(node.source, "primary_key", ())
    columns = node.projected if node.projected is not None else range(len(node.columns))
    place = {column: index for index, column in enumerate(columns)}
    keys = {tuple(place[each] for each in primary)} if primary and all(each in place for each in primary) else set()
    updates = RowKind.UPDATE_AFTER in kinds
    deletes = RowKind.DELETE in kinds
    cause = f"table {'.'.join(node.path)}" if updates or deletes else ""
    return Changes(updates, deletes, frozenset(keys), cause)


def _stream_scan(node: Any, inputs: list[Changes]) -> Changes:
    kinds = frozenset({RowKind.INSERT}) if node.changelog is None else node.changelog.kinds
    updates, deletes = RowKind.UPDATE_AFTER in kinds, RowKind.DELETE in kinds
    keys = frozenset({node.key}) if node.key else frozenset()
    return Changes(updates, deletes, keys, "a DataStream with changes" if updates or deletes else "")


def _values(node: Any, inputs: list[Changes]) -> Changes:
    return APPEND


def _same(node: Any, inputs: list[Changes]) -> Changes:
    return inputs[0]


def _project(node: Any, inputs: list[Changes]) -> Changes:
    place: dict[int, int] = {}
    for index, expression in enumerate(node.expressions):
        if isinstance(expression, Ref):
            place.setdefault(expression.index, index)
    return replace(inputs[0], keys=moved(inputs[0].keys, place))


def _correlate(node: Any, inputs: list[Changes]) -> Changes:
    return replace(inputs[0], keys=frozenset())


def _aggregate(node: Any, inputs: list[Changes]) -> Changes:
    keys = frozenset() if node.sets is not None else frozenset({tuple(range(len(node.keys)))})
    if not node.aggregates and inputs[0].append_only:
        return Changes(keys=keys)  # DISTINCT of insertions
    cause = inputs[0].cause or "a GROUP BY without window"
    # A group is deleted when its last row is, or when that row is updated and belongs to another group now.
    return Changes(True, not inputs[0].append_only, keys, cause)


def _table_aggregate(node: Any, inputs: list[Changes]) -> Changes:
    return Changes(False, True, cause=inputs[0].cause or "a table aggregate, whose rows are taken back")


def _window_aggregate(node: Any, inputs: list[Changes]) -> Changes:
    first = len(node.keys) + len(node.aggregates)
    window = [first + place for place, name in enumerate(node.properties) if name in ("START", "END")]
    keys = frozenset({(*range(len(node.keys)), *window)}) if window and node.sets is None else frozenset()
    return Changes(keys=keys)


def _over(node: Any, inputs: list[Changes]) -> Changes:
    below = inputs[0]
    if is_settled(node, below.append_only):
        return Changes(keys=below.keys)
    cause = below.cause or "an OVER window whose results change with later rows"
    return Changes(True, not below.append_only, below.keys, cause)


def _rank(node: Any, inputs: list[Changes]) -> Changes:
    keys = set(inputs[0].keys)
    if node.number is not None and node.function == "ROW_NUMBER":
        keys.add((*node.partition, len(node.input.schema)))
    if node.last == 1 and node.first == 1 and node.function == "ROW_NUMBER":
        keys.add(node.partition)
    if node.window is not None:
        return Changes(keys=frozenset(keys))
    return Changes(True, True, frozenset(keys), inputs[0].cause or "a Top-N")


def _deduplicate(node: Any, inputs: list[Changes]) -> Changes:
    keys = frozenset({node.keys})
    if node.window is not None:
        return Changes(keys=keys)
    proctime_first = not node.last and node.input.schema[node.time].time == n.PROCTIME
    if proctime_first and inputs[0].append_only:
        return Changes(keys=keys)
    cause = inputs[0].cause or "a deduplication that may find a better row"
    return Changes(True, not inputs[0].append_only, keys, cause)


def _join(node: Any, inputs: list[Changes]) -> Changes:
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


def _timed_join(node: Any, inputs: list[Changes]) -> Changes:
    # Keys that stay keys: those of a semi or anti join's left side.
    return Changes(keys=inputs[0].keys if node.kind in ("SEMI", "ANTI") else frozenset())


def _temporal_join(node: Any, inputs: list[Changes]) -> Changes:
    # At most one version fits, so a key of the left side stays one.
    return inputs[0]


def _lookup_join(node: Any, inputs: list[Changes]) -> Changes:
    return replace(inputs[0], keys=frozenset())


def _set_operation(node: Any, inputs: list[Changes]) -> Changes:
    whole = frozenset({tuple(range(len(node.columns)))})
    cause = next((each.cause for each in inputs if each.cause), "")
    updates, deletes = any(each.updates for each in inputs), any(each.deletes for each in inputs)
    if node.kind == "UNION" and node.all:
        return Changes(updates, deletes, cause=cause)
    if node.kind == "UNION":
        return Changes(False, updates or deletes, whole, cause)
    taken_back = updates or deletes or node.kind == "EXCEPT"
    keys = frozenset() if node.all else whole
    return Changes(False, taken_back, keys, cause or (f"an {node.kind}" if taken_back else ""))


def _to_changelog(node: Any, inputs: list[Changes]) -> Changes:
    return APPEND


def _from_changelog(node: Any, inputs: list[Changes]) -> Changes:
    kinds = {name for _, name in node.codes}
    updates, deletes = "UPDATE_AFTER" in kinds, "DELETE" in kinds
    keys = frozenset({node.partition}) if node.by_key else frozenset()
    return Changes(updates, deletes, keys, "FROM_CHANGELOG" if updates or deletes else "")


def _sort(node: Any, inputs: list[Changes]) -> Changes:
    if not node.keys and inputs[0].append_only and not node.offset:
        return inputs[0]  # the first rows that come
    if node.fetch is None and node.keys and not node.offset:
        return inputs[0]  # at the end of the input, or by time
    return Changes(True, True, inputs[0].keys, inputs[0].cause or "ORDER BY with LIMIT")


def moved(keys: Iterable[Key], place: dict[int, int]) -> frozenset[Key]:
    """Keys at other places; those that are not there as a whole are none any more."""
    return frozenset(tuple(place[each] for each in key) for key in keys if all(each in place for each in key))


_RULES: dict[type[n.Rel], Callable[[Any, list[Changes]], Changes]] = {
    n.Scan: _scan,
    n.StreamScan: _stream_scan,
    n.Values: _values,
    n.Project: _project,
    n.Filter: _same,
    n.Watermark: _same,
    n.Hinted: _same,
    n.WindowTable: _correlate,
    n.Expand: _correlate,
    n.Correlate: _correlate,
    n.Aggregate: _aggregate,
    n.TableAggregate: _table_aggregate,
    n.WindowAggregate: _window_aggregate,
    n.Over: _over,
    n.Rank: _rank,
    n.Deduplicate: _deduplicate,
    n.Join: _join,
    n.IntervalJoin: _timed_join,
    n.WindowJoin: _timed_join,
    n.TemporalJoin: _temporal_join,
    n.LookupJoin: _lookup_join,
    n.SetOp: _set_operation,
    n.ToChangelog: _to_changelog,
    n.FromChangelog: _from_changelog,
    n.Sort: _sort,
    n.Sink: _same,
}
