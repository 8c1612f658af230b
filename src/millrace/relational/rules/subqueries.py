"""Turns subqueries in expressions into joins.

Queries that read columns of the query around them (correlated ones) become queries that do not, and conditions to join
them with. A correlated condition is pulled up through the nodes of the subquery until it can be the condition of a join
with the outer query. An equality goes up through an aggregation by grouping by its inner side as well. Where that is
not enough, the subquery is joined with the different values of the outer columns that it reads (its *domain*), which
turns every condition into equalities with these values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from millrace.relational import nodes as n
from millrace.relational.functions.aggregates.registry import aggregate_call
from millrace.relational.functions.registry import call
from millrace.relational.nodes.rel import expressions_of, has_subquery, is_correlated, outer_refs
from millrace.relational.rex import (
    TRUE,
    AggCall,
    Call,
    Literal,
    OuterRef,
    Ref,
    Rex,
    SortKey,
    Subquery,
    conjunction,
    conjuncts,
    refs,
    remap,
    rewrite,
    shift,
    walk,
)
from millrace.relational.rules.window_rules import window_join
from millrace.relational.types import BigIntType, BooleanType
from millrace.util.record import Record

# Decorrelation

NEVER_NULL = frozenset({"COUNT", "$SUM0", "JSON_OBJECTAGG", "JSON_ARRAYAGG", "GROUPING", "GROUP_ID"})


class Pulled(Record):
    """A plan without references to the outer query: its own columns, then columns that the pulled-up conditions
    need."""

    plan: n.Rel
    conditions: tuple[Rex, ...] = ()
    """``Ref`` is a column of ``plan``, ``OuterRef`` one of the query around"""

    @property
    def extras(self) -> list[int]:
        """The columns that the conditions need."""
        return sorted({index for each in self.conditions for index in refs(each)})


def decorrelate(plan: n.Rel, outer: n.Rel, loose: n.Rel | None = None) -> Pulled:
    """Take what is correlated out of a subquery of an expression over ``outer``.

    :param loose: an aggregation without keys in ``plan`` that need not have a row for outer rows without a match.
    :raises NotImplementedError: the correlation lies below a node that it cannot be taken through.
    """
    return Puller(outer, loose).pull(plan)


def nearer(expression: Rex) -> Rex:
    """References to queries further outside, seen from one query further outside."""

    def part(each: Rex) -> Rex | None:
        return replace(each, depth=each.depth - 1) if isinstance(each, OuterRef) and each.depth > 1 else None

    return rewrite(expression, part)


def joined_condition(pulled: Pulled, width: int) -> Rex:
    """The conditions over the columns of the outer plan (``width`` of them) and then those of the pulled one."""

    def part(each: Rex) -> Rex | None:
        if isinstance(each, OuterRef) and each.depth == 1:
            return Ref(each.type, each.index)
        if isinstance(each, OuterRef):
            return replace(each, depth=each.depth - 1)
        return replace(each, index=each.index + width) if isinstance(each, Ref) else None

    return conjunction([rewrite(each, part) for each in pulled.conditions])


class Puller:
    def __init__(self, outer: n.Rel, loose: n.Rel | None = None) -> None:
        self._outer = outer
        self._loose = loose

    def pull(self, plan: n.Rel) -> Pulled:
        if not is_correlated(plan):
            return Pulled(plan)
        handler = _HANDLERS.get(type(plan))
        if handler is None:
            name = type(plan).__name__
            raise NotImplementedError(f"a correlated subquery cannot have a {name} inside: join with it instead")
        return handler(self, plan)

    # -- the domain ---------------------------------------------------------------------------------------------------

    def domain(self, columns: list[int]) -> n.Rel:
        """The different values of outer columns."""
        fields = tuple(replace(self._outer.schema[at], time=None) for at in columns)
        project = n.Project(self._outer, tuple(Ref(field.type, at) for at, field in zip(columns, fields)), fields)
        return n.Aggregate(project, tuple(range(len(columns))), (), fields)

    def with_domain(self, pulled: Pulled, columns: set[int]) -> tuple[Pulled, Callable[[Rex], Rex]]:
        """Join a plan with the domain of these outer columns and of those that its conditions read.

        :returns: the new plan, and the function that replaces references to outer columns by columns of the domain.
        """
        wanted = sorted(columns | {index for each in pulled.conditions for index in _outer_columns(each)})
        width = len(pulled.plan.schema)
        places = {column: width + at for at, column in enumerate(wanted)}

        def inner(expression: Rex) -> Rex:
            def part(each: Rex) -> Rex | None:
                if isinstance(each, OuterRef) and each.depth == 1:
                    return Ref(each.type, places[each.index])
                return None

            return rewrite(expression, part)

        condition = conjunction([nearer(inner(each)) for each in pulled.conditions])
        plan = n.Join(pulled.plan, self.domain(wanted), "INNER", condition)
        return Pulled(plan, tuple(self._same(column, places[column]) for column in wanted)), inner

    def _same(self, column: int, place: int) -> Rex:
        kind = self._outer.schema[column].type
        name = "IS NOT DISTINCT FROM" if kind.is_nullable else "="
        return Call(BooleanType(False), name, (OuterRef(kind, column), Ref(kind, place)))

    def equalities(self, pulled: Pulled) -> Pulled:
        """With conditions of the form inner column = outer expression only."""
        if all(_is_equality(each) for each in pulled.conditions):
            return _with_columns(pulled)
        return self.with_domain(pulled, set())[0]

    # -- nodes --------------------------------------------------------------------------------------------------------

    def filter(self, plan: n.Filter) -> Pulled:
        below = self.pull(plan.input)
        parts = conjuncts(plan.condition)
        here = [nearer(part) for part in parts if not _outer_columns(part)]
        up = tuple(part for part in parts if _outer_columns(part))
        source = n.Filter(below.plan, conjunction(here)) if here else below.plan
        return Pulled(source, below.conditions + up)

    def project(self, plan: n.Project) -> Pulled:
        below = self.pull(plan.input)
        expressions = list(plan.expressions)
        outer = {index for each in expressions for index in _outer_columns(each)}
        if outer:
            below, inner = self.with_domain(below, outer)
            expressions = [inner(each) for each in expressions]
        expressions = [nearer(each) for each in expressions]
        columns = list(plan.columns)
        places: dict[int, int] = {}
        for index in below.extras:
            found = below.plan.schema[index]
            places[index] = len(expressions)
            expressions.append(Ref(found.type, index))
            columns.append(found)
        project = n.Project(below.plan, tuple(expressions), tuple(columns))
        return Pulled(project, tuple(remap(each, places) for each in below.conditions))

    def aggregate(self, plan: n.Aggregate) -> Pulled:
        below = self.pull(plan.input)
        calls = plan.aggregates
        outer = {index for call in calls for each in call.inputs() for index in _outer_columns(each)}
        inner: Callable[[Rex], Rex] = lambda each: each
        if outer:
            below, inner = self.with_domain(below, outer)
        calls = tuple(call.map(lambda each: nearer(inner(each))) for call in calls)
        below = self.equalities(below)
        if not below.conditions:
            return Pulled(replace(plan, input=below.plan, aggregates=calls))
        if not plan.keys and plan.sets is None and plan is not self._loose:
            return self._total(plan, calls, below)
        extras = [index for index in below.extras if index not in plan.keys]
        keys = (*plan.keys, *extras)
        width = len(plan.keys)
        fields = tuple(replace(below.plan.schema[index], time=None) for index in extras)
        columns = (*plan.columns[:width], *fields, *plan.columns[width:])
        sets = None
        if plan.sets is not None:
            sets = tuple((*each, *range(width, len(keys))) for each in plan.sets)
        node = n.Aggregate(below.plan, keys, calls, columns, sets)
        places = {index: at for at, index in enumerate(keys)}
        return _in_order(node, _moved(len(plan.schema), width, len(extras)), below.conditions, places)

    def _total(self, plan: n.Aggregate, calls: tuple[AggCall, ...], below: Pulled) -> Pulled:
        """An aggregation without keys, per outer row: joined to the domain from the outside, so that counts are 0 and
        everything else is NULL where there are no rows."""
        keys = below.extras
        outer = sorted({index for each in below.conditions for index in _outer_columns(each)})
        fields = tuple(replace(below.plan.schema[index], time=None) for index in keys)
        grouped = n.Aggregate(below.plan, tuple(keys), calls, (*fields, *plan.columns))
        domain = self.domain(outer)
        places = {index: at for at, index in enumerate(outer)}
        ranks = {index: at for at, index in enumerate(keys)}
        parts = [nearer(_over_domain(remap(each, ranks), places, len(outer))) for each in below.conditions]
        joined = n.Join(domain, grouped, "LEFT", conjunction(parts))
        start = len(outer) + len(keys)
        values = [_or_zero(call, Ref(joined.schema[start + at].type, start + at)) for at, call in enumerate(calls)]
        shown = [Ref(field.type, at) for at, field in enumerate(domain.schema)]
        project = n.Project(joined, (*values, *shown), (*plan.columns, *domain.schema))
        conditions = tuple(self._same(column, len(values) + at) for at, column in enumerate(outer))
        return Pulled(project, conditions)

    def join(self, plan: n.Join) -> Pulled:
        left, right = self.pull(plan.left), self.pull(plan.right)
        own = conjuncts(plan.condition)
        width = len(plan.left.schema)
        if plan.kind == "INNER":
            return self._inner(plan, left, right, own)
        if plan.kind in ("RIGHT", "FULL"):
            raise NotImplementedError(f"a correlated subquery cannot have a {plan.kind} JOIN: use LEFT JOIN")
        outer = {index for each in (*own, *right.conditions) for index in _outer_columns(each)}
        inner: Callable[[Rex], Rex] = lambda each: each
        if outer:
            left, inner = self.with_domain(left, outer)
        new = len(left.plan.schema)
        parts = [nearer(inner(shift(each, new - width, width))) for each in own]
        parts += [nearer(inner(shift(each, new))) for each in right.conditions]
        node = n.Join(left.plan, right.plan, plan.kind, conjunction(parts), plan.null_aware and not outer)
        if plan.null_aware and outer:
            raise NotImplementedError(
                "NOT IN with NULLs cannot be correlated with two queries around it: use NOT EXISTS"
            )
        if plan.kind in ("SEMI", "ANTI"):
            return Pulled(node, left.conditions)
        order = [*range(width), *range(new, new + len(plan.right.schema)), *range(width, new)]
        return _in_order(node, order, left.conditions, {index: index for index in range(new)})

    def _inner(self, plan: n.Join, left: Pulled, right: Pulled, own: list[Rex]) -> Pulled:
        width, new = len(plan.left.schema), len(left.plan.schema)
        parts = [shift(each, new - width, width) for each in own]
        here = [nearer(part) for part in parts if not _outer_columns(part)]
        up = tuple(part for part in parts if _outer_columns(part))
        node = n.Join(left.plan, right.plan, "INNER", conjunction(here))
        conditions = left.conditions + tuple(shift(each, new) for each in right.conditions) + up
        count = len(plan.right.schema)
        order = [*range(width), *range(new, new + count), *range(width, new), *range(new + count, len(node.schema))]
        return _in_order(node, order, conditions, {index: index for index in range(len(node.schema))})

    def set_operation(self, plan: n.SetOp) -> Pulled:
        columns = outer_refs(plan)
        branches = []
        for each in plan.branches:
            pulled, _ = self.with_domain(self.pull(each), columns)
            keep = [*range(len(plan.schema)), *range(len(pulled.plan.schema) - len(columns), len(pulled.plan.schema))]
            branches.append(_reordered(pulled.plan, keep))
        fields = tuple(replace(self._outer.schema[at], time=None) for at in sorted(columns))
        node = n.SetOp(plan.kind, plan.all, tuple(branches), (*plan.columns, *fields))
        width = len(plan.schema)
        return Pulled(node, tuple(self._same(column, width + at) for at, column in enumerate(sorted(columns))))

    def sort(self, plan: n.Sort) -> Pulled:
        _refuse_outer(plan)
        below = self.pull(plan.input)
        if plan.fetch is None and not plan.offset:
            return below
        if not below.conditions:
            return Pulled(replace(plan, input=below.plan))
        below = self.equalities(below)
        order = plan.keys or tuple(SortKey(Ref(below.plan.schema[at].type, at)) for at in below.extras[:1])
        last = plan.offset + plan.fetch if plan.fetch is not None else 2**31 - 1
        partition = tuple(below.extras)
        return Pulled(n.Rank(below.plan, "ROW_NUMBER", partition, order, plan.offset + 1, last), below.conditions)

    def over(self, plan: n.Over) -> Pulled:
        _refuse_outer(plan)
        below = self.equalities(self.pull(plan.input))
        width = len(plan.input.schema)
        partition = (*plan.partition, *(index for index in below.extras if index not in plan.partition))
        node = replace(plan, input=below.plan, partition=partition)
        new, count = len(below.plan.schema), len(plan.produced)
        order = [*range(width), *range(new, new + count), *range(width, new)]
        return _in_order(node, order, below.conditions, {index: index for index in range(new)})

    def correlate(self, plan: n.Correlate) -> Pulled:
        below = self.pull(plan.input)
        outer = {index for each in expressions_of(plan) for index in _outer_columns(each)}
        width = len(plan.input.schema)
        below, inner = self.with_domain(below, outer)
        new, count = len(below.plan.schema), len(plan.produced)
        condition = None if plan.condition is None else nearer(inner(shift(plan.condition, new - width, width)))
        args = tuple(nearer(inner(each)) for each in plan.args)
        node = replace(plan, input=below.plan, args=args, condition=condition)
        order = [*range(width), *range(new, new + count), *range(width, new)]
        return _in_order(node, order, below.conditions, {index: index for index in range(new)})

    def transparent(self, plan: n.Hinted) -> Pulled:
        below = self.pull(plan.input)
        return replace(below, plan=replace(plan, input=below.plan))


_HANDLERS: dict[type[n.Rel], Callable[[Puller, Any], Pulled]] = {
    n.Filter: Puller.filter,
    n.Project: Puller.project,
    n.Aggregate: Puller.aggregate,
    n.Join: Puller.join,
    n.SetOp: Puller.set_operation,
    n.Sort: Puller.sort,
    n.Over: Puller.over,
    n.Correlate: Puller.correlate,
    n.Hinted: Puller.transparent,
}


def _outer_columns(expression: Rex) -> set[int]:
    return {part.index for part in walk(expression) if isinstance(part, OuterRef) and part.depth == 1}


def _refuse_outer(plan: n.Rel) -> None:
    if any(isinstance(part, OuterRef) for each in expressions_of(plan) for part in walk(each)):
        raise NotImplementedError("ORDER BY and OVER in a subquery cannot read columns of the query around it")


def _is_equality(condition: Rex) -> bool:
    """Whether one side reads the inner query only, and the other the outer one only."""
    if not isinstance(condition, Call) or condition.function not in ("=", "IS NOT DISTINCT FROM"):
        return False
    left, right = condition.args
    sides = [(bool(refs(each)), any(isinstance(part, OuterRef) for part in walk(each))) for each in (left, right)]
    return sides in ([(True, False), (False, True)], [(False, True), (True, False)])


def _with_columns(pulled: Pulled) -> Pulled:
    """The inner sides of equalities as columns."""
    width = len(pulled.plan.schema)
    computed: list[Rex] = []
    conditions: list[Rex] = []
    for each in pulled.conditions:
        assert isinstance(each, Call)
        args = []
        for side in each.args:
            if refs(side) and not isinstance(side, Ref):
                computed.append(side)
                side = Ref(side.type, width + len(computed) - 1)
            args.append(side)
        conditions.append(replace(each, args=tuple(args)))
    if not computed:
        return pulled
    kept = [Ref(column.type, at) for at, column in enumerate(pulled.plan.schema)]
    names = tuple(n.Field(f"$k{width + at}", each.type) for at, each in enumerate(computed))
    return Pulled(n.Project(pulled.plan, (*kept, *computed), (*pulled.plan.schema, *names)), tuple(conditions))


def _over_domain(condition: Rex, places: dict[int, int], width: int) -> Rex:
    """A condition over the domain and the grouped plan behind it."""

    def part(each: Rex) -> Rex | None:
        if isinstance(each, OuterRef) and each.depth == 1:
            return Ref(each.type, places[each.index])
        return replace(each, index=each.index + width) if isinstance(each, Ref) else None

    return rewrite(condition, part)


def _or_zero(call: AggCall, value: Ref) -> Rex:
    if call.function not in NEVER_NULL or not isinstance(call.type, BigIntType):
        return value
    return Call(call.type, "COALESCE", (value, Literal(call.type.not_null(), 0)))


def _moved(count: int, width: int, extras: int) -> list[int]:
    """The original columns of an aggregation first, then the keys that were added in between."""
    return [*range(width), *range(width + extras, count + extras), *range(width, width + extras)]


def _in_order(node: n.Rel, order: list[int], conditions: tuple[Rex, ...], places: dict[int, int]) -> Pulled:
    """Columns in another order. ``places``: column that a condition reads -> column of the node."""
    where = {index: at for at, index in enumerate(order)}
    moved = tuple(remap(each, lambda index: where[places[index]]) for each in conditions)
    return Pulled(_reordered(node, order), moved)


def _reordered(node: n.Rel, order: list[int]) -> n.Rel:
    if order == list(range(len(node.schema))):
        return node
    columns = tuple(node.schema[at] for at in order)
    return n.Project(node, tuple(Ref(column.type, at) for at, column in zip(order, columns)), columns)


# Subqueries as joins

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
    if not has_subquery(node):
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
