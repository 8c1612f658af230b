"""Rules about joins: conditions of WHERE that become conditions of an inner join, joins whose condition bounds the
time between their rows (``IntervalJoin``), joins on computed values, and the order of inner joins by the statistics
of their tables."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from millrace.relational import nodes as n
from millrace.relational.nodes.rel import transform
from millrace.relational.rex import (
    Call,
    Literal,
    OuterRef,
    Ref,
    Rex,
    Schema,
    Subquery,
    conjunction,
    conjuncts,
    refs,
    remap,
    shift,
    walk,
)
from millrace.relational.rules.filters_and_projections import is_deterministic
from millrace.relational.rules.window_rules import window_join
from millrace.relational.type_table import Family, alike, family_of
from millrace.relational.types import DayTimeIntervalType
from millrace.util.record import Record

# Interval joins

_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}


class _Moment(Record):
    """A time attribute and a constant added to it, in ms."""

    column: int
    plus: int


def interval_join(plan: n.Rel) -> n.Rel:
    """A join with an upper and a lower bound on the difference of two time attributes of the same kind, one of each
    input. The whole condition is kept: the bounds only say how long rows are."""
    if not isinstance(plan, n.Join) or plan.null_aware:
        return plan
    columns = plan.left.schema + plan.right.schema
    width = len(plan.left.schema)
    lower: dict[tuple[int, int], int] = {}
    upper: dict[tuple[int, int], int] = {}
    for part in conjuncts(plan.condition):
        for pair, low, high in _bounds(part, columns, width):
            if low is not None:
                lower[pair] = max(low, lower.get(pair, low))
            if high is not None:
                upper[pair] = min(high, upper.get(pair, high))
    both = [pair for pair in lower if pair in upper]
    if not both:
        return plan
    left, right = both[0]
    return n.IntervalJoin(
        plan.left, plan.right, plan.kind, plan.condition, left, right - width, lower[both[0]], upper[both[0]]
    )


def _bounds(part: Rex, columns: n.Schema, width: int) -> list[tuple[tuple[int, int], int | None, int | None]]:
    """The lower and upper bound in ms that a comparison sets to right time - left time."""
    if not isinstance(part, Call) or part.function not in _TURNED:
        return []
    sign = part.function
    a, b = (_moment(arg, columns) for arg in part.args)
    if a is None or b is None or (a.column < width) == (b.column < width):
        return []
    if columns[a.column].time != columns[b.column].time:
        return []
    if b.column < width:
        a, b, sign = b, a, _TURNED[sign]
    # left + a.plus <sign> right + b.plus
    difference = a.plus - b.plus
    pair = (a.column, b.column)
    if sign == "=":
        return [(pair, difference, difference)]
    if sign in ("<", "<="):
        return [(pair, difference + (sign == "<"), None)]
    return [(pair, None, difference - (sign == ">"))]


def _moment(expression: Rex, columns: n.Schema) -> _Moment | None:
    if isinstance(expression, Ref):
        return _Moment(expression.index, 0) if columns[expression.index].time is not None else None
    if not isinstance(expression, Call):
        return None
    if expression.function == "CAST" and isinstance(expression.type, type(expression.args[0].type)):
        return _moment(expression.args[0], columns)
    sign = expression.function.removesuffix(" TIME")
    if sign not in ("+", "-") or len(expression.args) != 2:
        return None
    base, span = expression.args
    if sign == "+" and _milliseconds(base) is not None:
        base, span = span, base
    moment, length = _moment(base, columns), _milliseconds(span)
    if moment is None or length is None:
        return None
    return _Moment(moment.column, moment.plus + (length if sign == "+" else -length))


def _milliseconds(expression: Rex) -> int | None:
    if isinstance(expression, Call) and expression.function == "CAST":
        return _milliseconds(expression.args[0])
    if not isinstance(expression, Literal) or not isinstance(expression.type, DayTimeIntervalType):
        return None
    return None if expression.value is None else expression.value // datetime.timedelta(milliseconds=1)


# Conditions of WHERE


def join_conditions(plan: n.Rel) -> n.Rel:
    """A filter over inner joins: each part goes down to the lowest join that has all its columns, so that ``FROM a, b
    WHERE a.x = b.x`` is no cross product, and becomes a join of intervals or windows where it says so. Parts over one
    input alone stay above: the order of filters is another rule's."""
    if not isinstance(plan, n.Filter):
        return plan
    down = [part for part in conjuncts(plan.condition) if _may_move(part)]
    stay = [part for part in conjuncts(plan.condition) if not _may_move(part)]
    source, rest = _push(plan.input, down)
    if source is plan.input:
        return plan
    stay = [part for part in conjuncts(plan.condition) if part in rest or part in stay]
    return n.Filter(source, conjunction(stay)) if stay else source


def _may_move(part: Rex) -> bool:
    return not any(isinstance(each, (Subquery, OuterRef)) for each in walk(part))


def _push(plan: n.Rel, parts: list[Rex]) -> tuple[n.Rel, list[Rex]]:
    """Push conditions down to the joins that they belong to; returns the plan, and the conditions that join nothing."""
    if not isinstance(plan, (n.Join, n.WindowJoin, n.IntervalJoin)) or plan.kind != "INNER":
        return plan, parts
    width = len(plan.left.schema)
    read = [(part, refs(part)) for part in parts]
    both = [part for part, columns in read if min(columns, default=0) < width <= max(columns, default=0)]
    left = [part for part, columns in read if all(each < width for each in columns)]
    right = [part for part, columns in read if columns and min(columns) >= width]
    new_left, rest_left = _push(plan.left, left)
    new_right, rest_right = _push(plan.right, [shift(part, -width) for part in right])
    rest = rest_left + [shift(part, width) for part in rest_right]
    if not both and new_left is plan.left and new_right is plan.right:
        return plan, rest
    condition = conjunction([*conjuncts(plan.condition), *both])
    if isinstance(plan, n.Join):
        joined = n.Join(new_left, new_right, "INNER", condition)
        return interval_join(window_join(joined)), rest
    return replace(plan, left=new_left, right=new_right, condition=condition), rest


# Joins on computed values

_EQUAL = ("=", "IS NOT DISTINCT FROM")
_JOINS = (n.Join, n.IntervalJoin, n.WindowJoin, n.TemporalJoin)


def join_keys(plan: n.Rel) -> n.Rel:
    """Compute what joins compare before they do."""
    return transform(plan, lambda node: _prepared(node) if isinstance(node, _JOINS) else node)


def _prepared(join: Any) -> n.Rel:
    width = len(join.left.schema)
    left: list[Rex] = []
    right: list[Rex] = []
    parts: list[tuple[Rex, tuple[int | Rex, int | Rex] | None]] = []
    for part in conjuncts(join.condition):
        sides = sides_of_key(part, width)
        if sides is None or all(isinstance(side, Ref) for side in sides):
            parts.append((part, None))
            continue
        parts.append((part, (_place(sides[0], left, width), _place(shift(sides[1], -width), right, None))))
    if not left and not right:
        return join  # type: ignore[no-any-return]
    moved = width + len(left)
    right_width = len(join.right.schema)
    condition = []
    for part, places in parts:
        if places is None:
            condition.append(shift(part, len(left), start=width))
            continue
        one, other = places
        first = _column(one, left, width, join.left)
        second = _column(other, right, right_width, join.right)
        second = replace(second, index=second.index + moved)
        condition.append(part.with_children((first, second)))
    changed = replace(
        join, left=_with(join.left, left), right=_with(join.right, right), condition=conjunction(condition)
    )
    if join.kind in ("SEMI", "ANTI"):
        kept = list(range(width))
    else:
        kept = [*range(width), *range(moved, moved + right_width)]
    columns = changed.schema
    expressions = tuple(Ref(columns[index].type, index) for index in kept)
    return n.Project(changed, expressions, tuple(columns[index] for index in kept))


def sides_of_key(part: Rex, width: int) -> tuple[Rex, Rex] | None:
    """The sides of an equality between the inputs, left one first."""
    if not isinstance(part, Call) or part.function not in _EQUAL:
        return None
    one, other = part.args
    if not alike(one.type, other.type):
        return None
    read, others = refs(one), refs(other)
    if not read or not others:
        return None
    if max(read) < width <= min(others):
        return one, other
    if max(others) < width <= min(read):
        return other, one
    return None


def _place(side: Rex, computed: list[Rex], width: int | None) -> int | Rex:
    """Where a side of an equality is found: the column itself, or the number of the computed column that is added
    for it."""
    if isinstance(side, Ref):
        return side
    if side not in computed:
        computed.append(side)
    return computed.index(side)


def _column(place: int | Rex, computed: list[Rex], width: int, side: n.Rel) -> Ref:
    if isinstance(place, Ref):
        return place
    assert isinstance(place, int)
    return Ref(computed[place].type, width + place)


def _with(input: n.Rel, computed: list[Rex]) -> n.Rel:
    if not computed:
        return input
    own = tuple(Ref(column.type, index) for index, column in enumerate(input.schema))
    fields = tuple(n.Field(f"$key{place}", each.type) for place, each in enumerate(computed))
    return n.Project(input, (*own, *computed), input.schema + fields)


# The size of a result, by statistics

_BYTES = {
    Family.BOOLEAN: 1,
    Family.INTEGER: 8,
    Family.APPROXIMATE: 8,
    Family.DECIMAL: 16,
    Family.DATE: 4,
    Family.TIME: 8,
    Family.TIMESTAMP: 8,
    Family.INSTANT: 8,
    Family.TEXT: 64,
}
_OTHERS = 256
_SHARES = {"=": 0.1, "IN": 0.2, "IS NULL": 0.1, "IS NOT NULL": 0.9, "<>": 0.9, "BETWEEN": 0.25}
_SHARES |= dict.fromkeys(("<", "<=", ">", ">="), 0.4)
_OTHER_SHARE = 0.4
_GROUPS = 0.2
"""Estimated number of groups of an aggregation, as a part of its input's rows."""


def most_rows(plan: n.Rel) -> int | None:
    """Rows that a plan has at most; None: a table in it was never counted, or the node may multiply rows."""
    if isinstance(plan, n.Scan):
        return plan.rows
    if isinstance(plan, n.Values):
        return len(plan.rows)
    if isinstance(plan, n.Aggregate) and not plan.keys and plan.sets is None:
        return 1
    if isinstance(plan, n.Sort) and plan.fetch is not None:
        below = most_rows(plan.input)
        return plan.fetch if below is None else min(plan.fetch, below)
    if isinstance(plan, n.Aggregate) and plan.sets is not None:
        return None
    if isinstance(plan, (n.Filter, n.Project, n.Sort, n.Aggregate)):
        return most_rows(plan.input)
    if isinstance(plan, n.Join) and plan.kind in ("SEMI", "ANTI"):
        return most_rows(plan.left)
    return None


def most_bytes(plan: n.Rel) -> int | None:
    """About how large all these rows are in memory."""
    rows = most_rows(plan)
    return None if rows is None else rows * _width(plan.schema)


def _width(columns: Schema) -> int:
    return sum(_BYTES.get(family_of(column.type), _OTHERS) for column in columns) or 1


class Estimate(Record):
    """About how many rows a plan gives, and how many the table has that they come from."""

    rows: float
    table: float


def estimate(plan: n.Rel) -> Estimate | None:
    """Estimate the rows of a plan; None: it reads a table without statistics."""
    if isinstance(plan, n.Scan):
        rows = plan.rows if plan.rows is not None else _source_rows(plan.source)
        return None if rows is None else Estimate(float(rows), float(rows))
    if isinstance(plan, n.Values):
        return Estimate(float(len(plan.rows)), float(len(plan.rows)))
    if isinstance(plan, n.Filter):
        below = estimate(plan.input)
        share = prod(_share(each) for each in conjuncts(plan.condition))
        return None if below is None else Estimate(max(below.rows * share, 1.0), below.table)
    if isinstance(plan, n.Aggregate):
        below = estimate(plan.input)
        if below is None:
            return None
        groups = below.rows * _GROUPS if plan.keys else 1.0
        return Estimate(groups, groups)
    if isinstance(plan, (n.Project, n.Sort, n.Watermark, n.Deduplicate)):
        return estimate(plan.input)
    if isinstance(plan, n.Join) and plan.kind in ("SEMI", "ANTI", "LEFT"):
        return estimate(plan.left)
    return None


def _source_rows(source: Any) -> int | None:
    """What a source knows of itself, such as the heads of files."""
    rows: int | None = None if source is None else source.counted_rows()
    return rows


def _share(condition: Rex) -> float:
    """The share of rows that a condition lets through, by what kind it is."""
    return _SHARES.get(condition.function, _OTHER_SHARE) if isinstance(condition, Call) else _OTHER_SHARE


# The order of inner joins

JOIN_REORDER = "table.optimizer.join-reorder-enabled"
MOST = 12
"""inputs that are ordered at once; more keep the order of the text"""
_OTHER_CONDITION = 0.5
"""the share of pairs that a condition which is no equality of columns lets through"""


def join_order(plan: n.Rel) -> n.Rel:
    """The plan with its inner joins in another order: the same rows and columns."""
    if not _is_inner(plan):
        inputs = plan.inputs
        changed = tuple(map(join_order, inputs))
        return plan if all(a is b for a, b in zip(changed, inputs)) else plan.with_inputs(changed)
    joined = _Joined([], [])
    joined.gather(plan, 0)
    inputs = tuple(map(join_order, joined.inputs))
    order = _best(inputs, joined.conditions)
    if order is None or order == list(range(len(inputs))):
        return plan if all(a is b for a, b in zip(inputs, joined.inputs)) else _in_text_order(plan, iter(inputs))
    return _built(plan, inputs, joined.conditions, order)


def _is_inner(plan: n.Rel) -> bool:
    return isinstance(plan, n.Join) and plan.kind == "INNER" and not plan.null_aware


@dataclass
class _Joined:
    """Inputs of inner joins, and conditions over all their columns one after the other."""

    inputs: list[n.Rel]
    conditions: list[Rex]

    def gather(self, plan: n.Rel, offset: int) -> None:
        if not isinstance(plan, n.Join) or not _is_inner(plan):
            self.inputs.append(plan)
            return
        self.gather(plan.left, offset)
        self.gather(plan.right, offset + len(plan.left.schema))
        self.conditions += [shift(each, offset) for each in conjuncts(plan.condition)]


def _in_text_order(plan: n.Rel, inputs: Iterator[n.Rel]) -> n.Rel:
    """Put changed inputs into the joins of a plan, in the order of the text."""
    if not isinstance(plan, n.Join) or not _is_inner(plan):
        return next(inputs)
    return plan.with_inputs((_in_text_order(plan.left, inputs), _in_text_order(plan.right, inputs)))


class _Condition(Record):
    sides: frozenset[int]
    """the inputs whose columns it reads"""
    equal: bool
    """a column of one is one of the other"""


def _best(inputs: Sequence[n.Rel], conditions: Sequence[Rex]) -> list[int] | None:
    """The order of inputs with the fewest rows between the joins, among the orders that always join the best next
    input.

    None if there is no choice: too few or too many inputs, hints, conditions that are not deterministic, or missing
    statistics.
    """
    if not 2 < len(inputs) <= MOST or any(isinstance(each, n.Hinted) for each in inputs):
        return None
    if not all(map(is_deterministic, conditions)):
        return None
    sizes = [found for each in inputs if (found := estimate(each)) is not None]
    if len(sizes) < len(inputs):
        return None
    owners = [at for at, each in enumerate(inputs) for _ in each.schema]
    known = [_condition(each, owners) for each in conditions]
    orders = [_from(first, sizes, known) for first in range(len(inputs))]
    # The order of the text wins where nothing is better.
    text = (_cost(list(range(len(inputs))), sizes, known), list(range(len(inputs))))
    return min([text, *orders], key=lambda each: each[0])[1]


def _condition(condition: Rex, owners: Sequence[int]) -> _Condition:
    sides = frozenset(owners[column] for column in refs(condition))
    parts = condition.args if isinstance(condition, Call) and condition.function == "=" else ()
    equal = bool(parts) and all(isinstance(each, Ref) for each in parts)
    return _Condition(sides, equal and len(sides) == 2)


def _from(first: int, sizes: Sequence[Estimate], conditions: Sequence[_Condition]) -> tuple[float, list[int]]:
    order, rows, cost = [first], sizes[first].rows, 0.0
    rest = [at for at in range(len(sizes)) if at != first]
    while rest:
        # What nothing connects comes last: it multiplies.
        size = {at: _rows_with(rows, order, at, sizes, conditions) for at in rest}
        found = min(rest, key=lambda at: (not _connected(order, at, conditions), size[at], at))
        rows = size[found]
        cost += rows
        order.append(found)
        rest.remove(found)
    return cost, order


def _cost(order: Sequence[int], sizes: Sequence[Estimate], conditions: Sequence[_Condition]) -> float:
    rows, cost = sizes[order[0]].rows, 0.0
    for place, at in enumerate(order[1:], 1):
        rows = _rows_with(rows, order[:place], at, sizes, conditions)
        cost += rows
    return cost


def _connected(before: Sequence[int], at: int, conditions: Sequence[_Condition]) -> bool:
    return any(at in each.sides and each.sides <= {*before, at} and len(each.sides) > 1 for each in conditions)


def _rows_with(
    rows: float, before: Sequence[int], at: int, sizes: Sequence[Estimate], conditions: Sequence[_Condition]
) -> float:
    """Estimate the rows after joining one more input. Equal columns count as the key of one table and a reference to
    it in the other; of several equalities between two tables only the first counts."""
    found = rows * sizes[at].rows
    keys: set[int] = set()
    for each in conditions:
        if at not in each.sides or not each.sides <= {*before, at}:
            continue
        if not each.equal:
            found *= _OTHER_CONDITION
            continue
        (other,) = each.sides - {at}
        if other not in keys:
            keys.add(other)
            found /= max(min(sizes[at].table, sizes[other].table), 1.0)
    return max(found, 1.0)


def _built(plan: n.Rel, inputs: Sequence[n.Rel], conditions: Sequence[Rex], order: Sequence[int]) -> n.Rel:
    """The joins in an order, and above them the columns as they were."""
    starts = [sum(len(each.schema) for each in inputs[:at]) for at in range(len(inputs))]
    places: dict[int, int] = {}
    rest = list(conditions)
    made: n.Rel | None = None
    for at in order:
        width = len(places)
        places |= {starts[at] + column: width + column for column in range(len(inputs[at].schema))}
        now = [each for each in rest if refs(each) <= places.keys()] if made is not None else []
        rest = [each for each in rest if each not in now]
        condition = conjunction([remap(each, places) for each in now])
        made = inputs[at] if made is None else n.Join(made, inputs[at], "INNER", condition)
    assert made is not None
    columns = plan.schema
    return n.Project(made, tuple(Ref(each.type, places[at]) for at, each in enumerate(columns)), columns)
