"""Rules about filters and projections. Constant expressions are computed at planning time, and two projections in a row
become one. Filters go below projections, joins, unions and the keys of aggregates into scans; LIMIT and aggregates go
into sources that can do with less (batch mode only, where nothing changes afterwards).

The functions at the top say which expressions may be computed more or less often than the query says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import islice

import pyarrow as pa

from millrace.relational import nodes as n
from millrace.relational import types as t
from millrace.relational.functions.evaluate import Evaluator
from millrace.relational.functions.registry import Surroundings, find_scalar, shallow
from millrace.relational.nodes.rel import transform
from millrace.relational.rex import (
    TRUE,
    AggCall,
    Call,
    Literal,
    Ref,
    Rex,
    Subquery,
    UdfCall,
    conjunction,
    conjuncts,
    refs,
    remap,
    shift,
    substitute,
    walk,
)
from millrace.relational.sources import Aggregation, TableSource, goes_by_key
from millrace.relational.values import to_python


def is_deterministic(expression: Rex) -> bool:
    """Whether equal rows always give equal values, in every place of a plan."""
    return all(_is(part) for part in walk(expression))


def _is(part: Rex) -> bool:
    if isinstance(part, UdfCall):
        return part.deterministic
    if isinstance(part, Subquery):
        return False
    if isinstance(part, Call):
        function = find_scalar(part.function)
        return function is None or (function.deterministic and not function.dynamic)
    return True


def is_expensive(expression: Rex) -> bool:
    """Whether it calls a function of the user."""
    return any(isinstance(part, UdfCall) for part in walk(expression))


# Projections in a row

_SMALL = 64
"""parts of an expression"""


def merge_projections(plan: n.Rel) -> n.Rel:
    """Merge projections in a row, unless that computes something more often that is expensive or gives another value
    each time."""
    return transform(plan, _merge)


def _merge(node: n.Rel) -> n.Rel:
    if not isinstance(node, n.Project):
        return node
    below = node.input
    if isinstance(below, n.Project) and may_merge(node.expressions, below.expressions):
        merged = tuple(shallow(substitute(each, below.expressions)) for each in node.expressions)
        return _merge(replace(node, input=below.input, expressions=merged))
    return below if is_all_of(node.expressions, below.schema) and node.columns == below.schema else node


def _is_small(expression: Rex) -> bool:
    """Whether it may be written several times: what doubles with each query around it soon has no end."""
    return sum(1 for _ in islice(walk(expression), _SMALL + 1)) <= _SMALL


def is_all_of(expressions: tuple[Rex, ...], schema: n.Schema) -> bool:
    """Whether they are the columns of a schema, in their order."""
    return expressions == tuple(Ref(column.type, index) for index, column in enumerate(schema))


def may_merge(upper: tuple[Rex, ...], lower: tuple[Rex, ...]) -> bool:
    """Whether the projection ``upper`` over the projection ``lower`` may be merged into one."""
    uses = Counter(part.index for each in upper for part in walk(each) if isinstance(part, Ref))
    return all(
        uses[index] <= 1 or (is_deterministic(each) and not is_expensive(each) and _is_small(each))
        for index, each in enumerate(lower)
    )


# Constants

_NOT_FOLDED = (t.ArrayType, t.MapType, t.MultisetType, t.RowType, t.RawType, t.UserDefinedType, t.BitmapType)
"""values of these have no short literal that could be compared and hashed"""


def fold_constants(plan: n.Rel, surroundings: Surroundings, dynamic: bool = False) -> n.Rel:
    """Calls of literals become literals, filters that are always true go. What cannot be computed (CAST('x' AS INT))
    stays: perhaps no row needs it.

    :param dynamic: whether functions that are the same for a whole batch query (CURRENT_TIMESTAMP) are computed too.
    """
    around = replace(surroundings, length=1)

    def change(node: n.Rel) -> n.Rel:
        node = node.map_expressions(lambda each: _fold(each, around, dynamic))
        if isinstance(node, n.Filter):
            node = _without_truth(node)
        return n.Values(node.schema, ()) if _gives_nothing(node) else node

    return transform(plan, change)


def _gives_nothing(node: n.Rel) -> bool:
    """Whether a node has no rows because its input has none. Left as they are, windows would miss the table below."""
    if not isinstance(node, (n.Project, n.Filter, n.WindowTable, n.WindowAggregate, n.Rank)):
        return False
    return isinstance(node.input, n.Values) and not node.input.rows


def _without_truth(node: n.Filter) -> n.Rel:
    parts = [part for part in conjuncts(node.condition) if not (isinstance(part, Literal) and part.value is True)]
    if not parts:
        return node.input
    if any(isinstance(part, Literal) and not part.value for part in parts):
        return n.Values(node.schema, ())
    return replace(node, condition=conjunction(parts))


def _fold(expression: Rex, surroundings: Surroundings, dynamic: bool) -> Rex:
    children = tuple(_fold(child, surroundings, dynamic) for child in expression.children)
    seen = find_scalar(expression.function) if isinstance(expression, Call) else None
    if seen is not None and seen.sees_calls:
        pairs = zip(children, expression.children)
        children = tuple(old if isinstance(old, Call) and isinstance(new, Literal) else new for new, old in pairs)
    if any(new is not old for new, old in zip(children, expression.children)):
        expression = expression.with_children(children)
    if not isinstance(expression, Call) or not all(isinstance(child, Literal) for child in children):
        return _simplified(expression)
    function = find_scalar(expression.function)
    if function is None or not function.deterministic or (function.dynamic and not dynamic):
        return expression
    if isinstance(expression.type, _NOT_FOLDED):
        return expression
    return _computed(expression, surroundings) or expression


def _computed(expression: Call, surroundings: Surroundings) -> Rex | None:
    try:
        column: pa.Array = Evaluator([], surroundings).column(expression)
        value = to_python(column, expression.type)[0]
    except Exception:
        # A row that needs it will raise the same error.
        return None
    return Literal(expression.type if value is not None else expression.type.nullable(), value)


def _simplified(expression: Rex) -> Rex:
    """AND without its true parts; false if one part is."""
    if not isinstance(expression, Call) or expression.function != "AND":
        return expression
    if any(isinstance(arg, Literal) and arg.value is False for arg in expression.args):
        return Literal(TRUE.type, False)
    kept = [arg for arg in expression.args if not (isinstance(arg, Literal) and arg.value is True)]
    return expression if len(kept) == len(expression.args) else conjunction(kept)


# Filters

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
    """Split conditions into those that pass the test, and the others."""
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
    """Push filters above a join on times to its sides. The join's own condition stays in its operator. The right
    side of a temporal join is not filtered, since an older version would take the place of a removed one."""
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


# LIMIT and aggregates into sources

_FUNCTIONS = frozenset({"COUNT", "SUM", "MIN", "MAX", "AVG"})


def push_into_sources(plan: n.Rel) -> n.Rel:
    """Push LIMIT and aggregates into sources. The rows stay the same (of a LIMIT: their number), but sources read
    less."""
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
