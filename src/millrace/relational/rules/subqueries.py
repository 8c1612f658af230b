"""Turns subqueries in expressions into joins."""

from __future__ import annotations

from collections.abc import Sequence

from millrace.relational import nodes as n
from millrace.relational.functions.aggregates.registry import aggregate_call
from millrace.relational.functions.registry import call
from millrace.relational.nodes.rel import expressions_of, is_correlated
from millrace.relational.rex import (
    TRUE,
    AggCall,
    Literal,
    Ref,
    Rex,
    Subquery,
    conjunction,
    conjuncts,
    remap,
    rewrite,
    walk,
)
from millrace.relational.rules.decorrelate import NEVER_NULL, Pulled, Puller, decorrelate, joined_condition
from millrace.relational.rules.window_rules import window_join
from millrace.relational.types import BigIntType, BooleanType

_COUNT = AggCall("COUNT", (), BigIntType(False))
_FALSE = Literal(BooleanType(False), False)
_UNKNOWN = Literal(BooleanType(), None)
_STRICT = frozenset({"CAST", "+", "-", "*", "/", "%"})
"""Functions that give NULL for NULL."""


def unnest(node: n.Rel) -> n.Rel:
    """A filter or projection without subqueries in its expressions. EXISTS and IN that must hold become semi joins,
    NOT EXISTS and NOT IN anti joins; everything else an outer join whose columns take the place of the subquery.

    :raises NotImplementedError: a correlation that cannot be taken out, or a subquery in another node.
    """
    if not any(isinstance(part, Subquery) for each in expressions_of(node) for part in walk(each)):
        return node
    if isinstance(node, n.Filter):
        return _filter(node)
    if isinstance(node, n.Project):
        source, expressions = _values(node.input, node.expressions)
        return n.Project(source, tuple(expressions), _times(node.columns, expressions, source.schema))
    raise NotImplementedError(f"a subquery cannot stand in {type(node).__name__}: use it in SELECT, WHERE or HAVING")


def join_lateral(left: n.Rel, right: n.Rel, kind: str, condition: Rex) -> n.Rel:
    """Each row of ``left`` with the rows of a query that may read it. ``condition`` is over both."""
    pulled = decorrelate(right, left)
    width = len(left.schema)
    parts = [*conjuncts(condition), *conjuncts(joined_condition(pulled, width))]
    return _first(n.Join(left, pulled.plan, kind, conjunction(parts)), width + len(right.schema))


def _filter(node: n.Filter) -> n.Rel:
    width = len(node.schema)
    source, rest = node.input, []
    for part in conjuncts(node.condition):
        if isinstance(part, Subquery) and part.kind in ("EXISTS", "IN"):
            source, operands = _values(source, part.operands)
            source = _first(_semi(source, part, operands), width)
        else:
            rest.append(part)
    source, changed = _values(source, rest)
    if not changed:
        return source
    return _first(n.Filter(source, conjunction(changed)), width)


def _times(columns: n.Schema, expressions: Sequence[Rex], source: n.Schema) -> n.Schema:
    """The columns of a projection above a new join: columns that the join has made ordinary are no time attributes
    any more."""
    return tuple(
        n.Field(column.name, column.type, source[each.index].time if isinstance(each, Ref) else column.time)
        for column, each in zip(columns, expressions)
    )


def _first(plan: n.Rel, count: int) -> n.Rel:
    """The first columns of a plan."""
    columns = plan.schema[:count]
    if len(columns) == len(plan.schema):
        return plan
    return n.Project(plan, tuple(Ref(column.type, at) for at, column in enumerate(columns)), columns)


def _semi(source: n.Rel, subquery: Subquery, operands: Sequence[Rex]) -> n.Rel:
    """The rows for which EXISTS or IN holds, or does not."""
    pulled = decorrelate(subquery.plan, source)
    width = len(source.schema)
    equal: list[Rex] = [call("=", [each, _ref(pulled.plan, at, width)]) for at, each in enumerate(operands)]
    around = conjuncts(joined_condition(pulled, width))
    kind = "ANTI" if subquery.negated else "SEMI"
    if not equal and not around:
        return n.Join(source, _some(pulled.plan), kind, TRUE)
    unknown = subquery.negated and any(each.type.is_nullable for each in equal)
    if unknown and around:
        # x NOT IN (...) does not hold as soon as one comparison is TRUE or unknown.
        maybe = call("IS NOT FALSE", [conjunction(equal)])
        return window_join(n.Join(source, pulled.plan, kind, conjunction([maybe, *around])))
    return window_join(n.Join(source, pulled.plan, kind, conjunction([*equal, *around]), null_aware=unknown))


def _some(plan: n.Rel) -> n.Rel:
    """One row if the plan has any: less to keep than all of them."""
    counted = n.Aggregate(plan, (), (_COUNT,), (n.Field("$n0", _COUNT.type),))
    return n.Filter(counted, call(">", [Ref(_COUNT.type, 0), Literal(BigIntType(False), 0)]))


def _ref(plan: n.Rel, at: int, width: int = 0) -> Ref:
    return Ref(plan.schema[at].type, width + at)


# -- subqueries as values ---------------------------------------------------------------------------------------------


def _values(source: n.Rel, expressions: Sequence[Rex]) -> tuple[n.Rel, list[Rex]]:
    """The expressions with columns in place of their subqueries, and the input with these columns behind its own."""
    known: dict[Subquery, Rex] = {}

    def part(each: Rex) -> Rex | None:
        nonlocal source
        if not isinstance(each, Subquery):
            return None
        if each not in known:
            operands = tuple(rewrite(operand, part) for operand in each.operands)
            source, known[each] = _KINDS.get(each.kind, _quantified)(source, each, operands)
        return known[each]

    changed = [rewrite(each, part) for each in expressions]
    return source, changed


def _scalar(source: n.Rel, subquery: Subquery, operands: Sequence[Rex]) -> tuple[n.Rel, Rex]:
    plan = _at_most_one(subquery.plan)
    width = len(source.schema)
    if not is_correlated(plan):
        joined = n.Join(source, plan, "INNER" if _exactly_one(plan) else "LEFT", TRUE)
    else:
        pulled = decorrelate(plan, source, _null_without_rows(plan))
        joined = n.Join(source, pulled.plan, "LEFT", joined_condition(pulled, width))
    return joined, Ref(joined.schema[width].type, width)


def _at_most_one(plan: n.Rel) -> n.Rel:
    if _single(plan):
        return plan
    column = plan.schema[0]
    single = AggCall("SINGLE_VALUE", (Ref(column.type, 0),), column.type.nullable())
    return n.Aggregate(plan, (), (single,), (n.Field(column.name, single.type),))


def _single(plan: n.Rel) -> bool:
    """Whether a plan has at most one row for certain."""
    if isinstance(plan, n.Aggregate):
        return not plan.keys and plan.sets is None
    if isinstance(plan, n.Sort):
        return (plan.fetch is not None and plan.fetch <= 1) or _single(plan.input)
    if isinstance(plan, n.Values):
        return len(plan.rows) <= 1
    return isinstance(plan, (n.Project, n.Filter, n.Hinted)) and _single(plan.input)


def _exactly_one(plan: n.Rel) -> bool:
    if isinstance(plan, n.Aggregate):
        return not plan.keys and plan.sets is None
    if isinstance(plan, n.Values):
        return len(plan.rows) == 1
    return isinstance(plan, (n.Project, n.Hinted)) and _exactly_one(plan.input)


def _null_without_rows(plan: n.Rel) -> n.Rel | None:
    """The aggregation of a scalar subquery whose value is NULL without rows, as MAX and SUM are: then the missing
    row of an outer join means the same. None: the subquery has another value without rows."""
    while isinstance(plan, (n.Project, n.Hinted)):
        if isinstance(plan, n.Project) and not all(map(_is_strict, plan.expressions)):
            return None
        plan = plan.input
    if isinstance(plan, n.Aggregate) and _single(plan):
        return None if any(each.function in NEVER_NULL or each.udf for each in plan.aggregates) else plan
    return None


def _is_strict(expression: Rex) -> bool:
    parts = list(walk(expression))
    known = all(isinstance(each, (Ref, Literal)) or getattr(each, "function", "") in _STRICT for each in parts)
    return known and any(isinstance(each, Ref) for each in parts)


def _exists(source: n.Rel, subquery: Subquery, operands: Sequence[Rex]) -> tuple[n.Rel, Rex]:
    joined, place = _join_counts(source, subquery.plan, (), [])
    return joined, _negated(_found(joined, place), subquery.negated)


def _in(source: n.Rel, subquery: Subquery, operands: Sequence[Rex]) -> tuple[n.Rel, Rex]:
    """x IN (...): TRUE with a match; else unknown if x or one of the values is NULL and there are any; else FALSE."""
    columns = range(len(operands))
    joined, place = _join_counts(source, subquery.plan, columns, operands)
    found = _found(joined, place)
    if not subquery.type.is_nullable:
        return joined, _negated(found, subquery.negated)
    if len(operands) > 1:
        raise NotImplementedError(
            "(a, b) IN (subquery) with NULLs can only be in WHERE, not inside OR or NOT: use EXISTS"
        )
    values = AggCall("COUNT", (_ref(subquery.plan, 0),), BigIntType(False))
    joined, total = _join_counts(joined, subquery.plan, (), [], values)
    rows, known = Ref(joined.schema[total].type, total), Ref(joined.schema[total + 1].type, total + 1)
    some = _some_rows(rows)
    unknown = call("OR", [call("IS NULL", [operands[0]]), call("<", [known, rows])])
    value = call("CASE", [found, TRUE, call("AND", [some, unknown]), _UNKNOWN, _FALSE])
    return joined, _negated(value, subquery.negated)


def _quantified(source: n.Rel, subquery: Subquery, operands: Sequence[Rex]) -> tuple[n.Rel, Rex]:
    """x > ALL (...) and the like. The smallest and the largest value decide it, unless a NULL leaves it open: ALL is
    FALSE with one value that it does not hold for, TRUE without any row; ANY the other way round."""
    sign, _, word = subquery.kind.partition(" ")
    column = _ref(subquery.plan, 0)
    calls = [
        AggCall("COUNT", (column,), BigIntType(False)),
        *(aggregate_call(each, [column], may_be_empty=True) for each in ("MIN", "MAX")),
    ]
    joined, place = _join_counts(source, subquery.plan, (), [], *calls)
    rows, known, low, high = (Ref(joined.schema[at].type, at) for at in range(place, place + 4))
    ends = {"<": (low, high), "<=": (low, high), ">": (high, low), ">=": (high, low)}.get(sign)
    # What decides against ALL is what decides for ANY, of the opposite sign.
    every = word == "ALL"
    deciding = [low, high] if ends is None else [ends[0] if every else ends[1]]
    found = [call("IS FALSE" if every else "IS TRUE", [call(sign, [operands[0], end])]) for end in deciding]
    decided = found[0] if len(found) == 1 else call("OR", found)
    unknown = call("OR", [call("IS NULL", [operands[0]]), call("<", [known, rows])])
    others = _truth(every)
    none = call("NOT", [_some_rows(rows)])
    value = call("CASE", [none, others, decided, _truth(not every), unknown, _UNKNOWN, others])
    return joined, value if subquery.type.is_nullable else call("IS TRUE", [value])


def _some_rows(count: Rex) -> Rex:
    return call("AND", [call("IS NOT NULL", [count]), call(">", [count, Literal(BigIntType(False), 0)])])


def _truth(value: bool) -> Rex:
    return TRUE if value else _FALSE


def _negated(value: Rex, negated: bool) -> Rex:
    return call("NOT", [value]) if negated else value


def _found(joined: n.Rel, place: int) -> Rex:
    count = Ref(joined.schema[place].type, place)
    some = call(">", [count, Literal(BigIntType(False), 0)])
    return call("IS TRUE", [some])


def _join_counts(
    source: n.Rel, plan: n.Rel, columns: Sequence[int], operands: Sequence[Rex], *more: AggCall
) -> tuple[n.Rel, int]:
    """The input with the number of rows that the subquery has for each of its rows, whose ``columns`` equal the
    operands; NULL or 0 for none. Gives also the place of the number; the results of ``more`` follow it."""
    puller = Puller(source)
    pulled = puller.equalities(puller.pull(plan))
    keys = list(dict.fromkeys([*columns, *pulled.extras]))
    fields = tuple(n.Field(pulled.plan.schema[at].name, pulled.plan.schema[at].type) for at in keys)
    calls = (_COUNT, *more)
    names = tuple(n.Field(f"$n{at}", each.type) for at, each in enumerate(calls))
    grouped = n.Aggregate(pulled.plan, tuple(keys), calls, (*fields, *names))
    width = len(source.schema)
    place = {index: at for at, index in enumerate(keys)}
    equal: list[Rex] = [
        call("=", [each, Ref(fields[place[at]].type, width + place[at])]) for at, each in zip(columns, operands)
    ]
    around = conjuncts(joined_condition(_remapped(pulled, place), width))
    condition = conjunction([*equal, *around])
    return n.Join(source, grouped, "LEFT" if keys else "INNER", condition), width + len(keys)


def _remapped(pulled: Pulled, places: dict[int, int]) -> Pulled:
    return Pulled(pulled.plan, tuple(remap(each, places) for each in pulled.conditions))


_KINDS = {"SCALAR": _scalar, "EXISTS": _exists, "IN": _in}
