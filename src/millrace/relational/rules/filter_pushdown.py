"""Conditions move to where rows come from: below projections, joins, unions and the keys of aggregates, into scans."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from millrace.relational import nodes as n
from millrace.relational.rex import Rex, conjunction, conjuncts, refs, remap, shift, substitute
from millrace.relational.rules.determinism import is_deterministic, is_expensive
from millrace.relational.sources import goes_by_key

Conditions = list[Rex]


def push_filters(plan: n.Rel) -> n.Rel:
    """Every condition as far down as it means the same. None passes what gives another value each time."""
    return _push(plan, [])


def _push(node: n.Rel, conditions: Conditions) -> n.Rel:
    """The node with conditions over its columns, each of them here or below."""
    if isinstance(node, n.Filter):
        return _push(node.input, [*conjuncts(node.condition), *conditions])
    moving = [each for each in conditions if is_deterministic(each)]
    staying = [each for each in conditions if not is_deterministic(each)]
    for kind, push in _RULES:
        if isinstance(node, kind):
            node, rest = push(node, moving)
            return _above(node, [*rest, *staying])
    return _above(_with_pushed_inputs(node), conditions)


def _above(node: n.Rel, conditions: Conditions) -> n.Rel:
    unique = list(dict.fromkeys(conditions))
    return n.Filter(node, conjunction(unique)) if unique else node


def _with_pushed_inputs(node: n.Rel) -> n.Rel:
    return node.with_inputs(tuple(_push(each, []) for each in node.inputs)) if node.inputs else node


def _split(conditions: Iterable[Rex], test: Callable[[Rex], bool]) -> tuple[Conditions, Conditions]:
    """Those that pass the test, and the others."""
    passed: Conditions = []
    others: Conditions = []
    for each in conditions:
        (passed if test(each) else others).append(each)
    return passed, others


def _only(columns: Iterable[int]) -> Callable[[Rex], bool]:
    """Whether a condition reads some columns, and only these."""
    known = frozenset(columns)
    return lambda condition: bool(refs(condition)) and refs(condition) <= known


def _scan(node: n.Scan, conditions: Conditions) -> tuple[n.Rel, Conditions]:
    """A source may read less; what it gives is checked again."""
    places = dict(enumerate(range(len(node.columns)) if node.projected is None else node.projected))
    known = [remap(each, places) for each in conditions if not is_expensive(each)]
    if goes_by_key(node.source):
        # A new row that does not fit takes the old one back: only conditions on the key hold for both.
        known = [each for each in known if refs(each) <= set(node.source.primary_key)]
    return replace(node, filters=tuple(dict.fromkeys([*node.filters, *known]))), conditions


def _project(node: n.Project, conditions: Conditions) -> tuple[n.Rel, Conditions]:
    def passes(condition: Rex) -> bool:
        read = [node.expressions[index] for index in refs(condition)]
        return all(is_deterministic(each) and not is_expensive(each) for each in read)

    down, rest = _split(conditions, passes)
    return replace(node, input=_push(node.input, [substitute(each, node.expressions) for each in down])), rest


def _through(node: n.Rel, conditions: Conditions) -> tuple[n.Rel, Conditions]:
    """The rows go through unchanged."""
    return node.with_inputs((_push(node.inputs[0], conditions),)), []


def _sort(node: n.Sort, conditions: Conditions) -> tuple[n.Rel, Conditions]:
    if node.offset or node.fetch is not None:
        return _with_pushed_inputs(node), conditions
    return _through(node, conditions)


def _set_op(node: n.SetOp, conditions: Conditions) -> tuple[n.Rel, Conditions]:
    return replace(node, branches=tuple(_push(each, conditions) for each in node.branches)), []


def _keyed(node: n.Rel, columns: Sequence[int], conditions: Conditions) -> tuple[n.Rel, Conditions]:
    """All rows of a key go or stay together. ``columns`` of the input are its key, at the same places in the result."""
    down, rest = _split(conditions, _only(columns))
    return node.with_inputs((_push(node.inputs[0], down),)), rest


def _aggregate(node: n.Aggregate | n.WindowAggregate, conditions: Conditions) -> tuple[n.Rel, Conditions]:
    if node.sets is not None:
        return _with_pushed_inputs(node), conditions
    places = dict(enumerate(node.keys))
    down, rest = _split(conditions, _only(places))
    return replace(node, input=_push(node.input, [remap(each, places) for each in down])), rest


def _over(node: n.Over | n.Rank, conditions: Conditions) -> tuple[n.Rel, Conditions]:
    return _keyed(node, node.partition, conditions)


def _deduplicate(node: n.Deduplicate, conditions: Conditions) -> tuple[n.Rel, Conditions]:
    return _keyed(node, node.keys, conditions)


def _window_table(node: n.WindowTable, conditions: Conditions) -> tuple[n.Rel, Conditions]:
    """Fewer rows make other sessions, but not other fixed windows."""
    free = node.partition if node.window.kind == "SESSION" else range(len(node.input.schema))
    return _keyed(node, free, conditions)


def _widened(node: n.Correlate | n.LookupJoin, conditions: Conditions) -> tuple[n.Rel, Conditions]:
    return _keyed(node, range(len(node.input.schema)), conditions)


def _join(node: n.Join, conditions: Conditions) -> tuple[n.Rel, Conditions]:
    """A side's own conditions go to that side, unless its rows stay whatever the condition says."""
    width = len(node.left.schema)
    left, right = _only(range(width)), _only(range(width, width + len(node.right.schema)))
    kind = node.kind
    to_left, rest = _split(conditions, left if kind in ("INNER", "LEFT", "SEMI", "ANTI") else _never)
    to_right, rest = _split(rest, right if kind in ("INNER", "RIGHT") else _never)
    on, stuck = _split(conjuncts(node.condition), is_deterministic)
    if kind == "INNER":
        on, rest = [*on, *rest], []
    more_left, on = _split(on, left if kind in ("INNER", "RIGHT", "SEMI") else _never)
    more_right, on = _split(on, right if kind in ("INNER", "LEFT", "SEMI", "ANTI") and not node.null_aware else _never)
    joined = replace(
        node,
        left=_push(node.left, [*to_left, *more_left]),
        right=_push(node.right, [shift(each, -width) for each in (*to_right, *more_right)]),
        condition=conjunction(list(dict.fromkeys([*on, *stuck]))),
    )
    return joined, rest


def _timed_join(
    node: n.IntervalJoin | n.WindowJoin | n.TemporalJoin, conditions: Conditions
) -> tuple[n.Rel, Conditions]:
    """Only what is above the join moves: its own condition belongs to the operator. Versions of a temporal join's right
    side are not filtered, since an older one would take the place of what is missing."""
    width = len(node.left.schema)
    left, right = _only(range(width)), _only(range(width, width + len(node.right.schema)))
    to_left, rest = _split(conditions, left if node.kind in ("INNER", "LEFT", "SEMI", "ANTI") else _never)
    free = not isinstance(node, n.TemporalJoin) and node.kind in ("INNER", "RIGHT")
    to_right, rest = _split(rest, right if free else _never)
    moved = [shift(each, -width) for each in to_right]
    return node.with_inputs((_push(node.left, to_left), _push(node.right, moved))), rest


def _never(condition: Rex) -> bool:
    return False


_RULES: list[tuple[type | tuple[type, ...], Callable[..., tuple[n.Rel, Conditions]]]] = [
    (n.Scan, _scan),
    (n.Project, _project),
    (n.Hinted, _through),
    (n.Sort, _sort),
    (n.SetOp, _set_op),
    ((n.Aggregate, n.WindowAggregate), _aggregate),
    ((n.Over, n.Rank), _over),
    (n.Deduplicate, _deduplicate),
    (n.WindowTable, _window_table),
    ((n.Correlate, n.LookupJoin), _widened),
    (n.Join, _join),
    ((n.IntervalJoin, n.WindowJoin, n.TemporalJoin), _timed_join),
]
