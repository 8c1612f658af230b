"""Rules that move conditions and columns, and compute constants: what plans look like after them."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from millrace.relational import nodes as n
from millrace.relational import types as t
from millrace.relational.functions.aggregates.registry import aggregate_call
from millrace.relational.functions.registry import Surroundings, call, cast_to
from millrace.relational.rex import TRUE, Frame, Literal, Ref, Rex, SortKey, UdfCall, conjuncts
from millrace.relational.rules.filters_and_projections import fold_constants, merge_projections, push_filters
from millrace.relational.rules.optimizer import optimise_batch, prune_columns

INT, STRING = t.IntType(), t.string()
AROUND = Surroundings(0, now=1_600_000_000_000_000)
SOURCE = object()
T = n.Scan(("c", "d", "t"), (n.Field("a", INT), n.Field("b", INT), n.Field("c", STRING)), SOURCE)
U = n.Scan(("c", "d", "u"), (n.Field("x", INT), n.Field("y", INT)), SOURCE)


def ref(index: int, kind: t.DataType = INT) -> Ref:
    return Ref(kind, index)


def lit(value: Any, kind: t.DataType = INT) -> Literal:
    return Literal(kind.with_nullable(value is None), value)


def above(index: int, value: int = 5) -> Rex:
    return call(">", (ref(index), lit(value)))


def udf(arg: Rex, deterministic: bool = True) -> UdfCall:
    return UdfCall(INT, None, "f", (arg,), deterministic=deterministic)


def project(plan: n.Rel, *expressions: Rex) -> n.Project:
    return n.Project(plan, expressions, tuple(n.Field(f"p{i}", each.type) for i, each in enumerate(expressions)))


def shape(plan: n.Rel) -> str:
    """The kinds of the nodes, e.g. Filter(Scan); of a filter how many conditions it has."""
    name = type(plan).__name__
    if isinstance(plan, n.Filter):
        name += str(len(conjuncts(plan.condition)))
    return f"{name}({', '.join(map(shape, plan.inputs))})" if plan.inputs else name


# -- constants --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (call("+", (lit(1), lit(2))), 3),
        (call("+", (lit(1), call("*", (lit(2), lit(3))))), 7),
        (call("+", (lit(2**31 - 1), lit(1))), -(2**31)),
        (call("COALESCE", (lit(None), lit(4))), 4),
    ],
)
def test_constants_are_computed(expression: Rex, expected: Any) -> None:
    folded = fold_constants(project(T, expression), AROUND)
    assert isinstance(folded, n.Project)
    (literal,) = folded.expressions
    assert isinstance(literal, Literal) and literal.value == expected


def test_null_stays_null_and_typed() -> None:
    folded = fold_constants(project(T, call("+", (lit(None), lit(2)))), AROUND)
    assert isinstance(folded, n.Project)
    assert folded.expressions == (Literal(INT, None),)


def test_what_fails_is_left_to_the_rows() -> None:
    plan = project(T, cast_to(lit("x", STRING), INT))
    assert fold_constants(plan, AROUND) == plan


def test_filters_that_are_always_true_or_never() -> None:
    true, false = call("=", (lit(1), lit(1))), call("=", (lit(1), lit(2)))
    assert fold_constants(n.Filter(T, true), AROUND) == T
    assert fold_constants(n.Filter(T, false), AROUND) == n.Values(T.schema, ())
    assert fold_constants(n.Filter(T, call("AND", (above(0), true))), AROUND) == n.Filter(T, above(0))
    assert fold_constants(n.Filter(T, call("AND", (above(0), false))), AROUND) == n.Values(T.schema, ())
    assert fold_constants(n.Filter(T, lit(None, t.BooleanType())), AROUND) == n.Values(T.schema, ())


def test_the_time_of_the_query_is_constant_in_batch_mode_only() -> None:
    plan = project(T, call("CURRENT_TIMESTAMP", ()))
    assert fold_constants(plan, AROUND) == plan
    folded = fold_constants(plan, AROUND, dynamic=True)
    assert isinstance(folded, n.Project)
    (literal,) = folded.expressions
    assert isinstance(literal, Literal)
    assert literal.value == dt.datetime.fromtimestamp(1_600_000_000, dt.timezone.utc)


# -- filters ----------------------------------------------------------------------------------------------------------


def test_conditions_reach_the_scan_and_are_checked_again() -> None:
    plan = push_filters(n.Filter(n.Filter(T, above(0)), above(1)))
    assert shape(plan) == "Filter2(Scan)"
    assert isinstance(plan, n.Filter) and isinstance(plan.input, n.Scan)
    assert set(plan.input.filters) == {above(0), above(1)}


def test_a_scan_of_some_columns_gets_conditions_on_those_of_the_table() -> None:
    narrow = n.Scan(T.path, (T.columns[0], T.columns[2]), SOURCE, (1, 2))
    plan = push_filters(n.Filter(narrow, above(0)))
    assert isinstance(plan, n.Filter) and isinstance(plan.input, n.Scan)
    assert plan.input.filters == (above(1),)


def test_conditions_go_below_projections() -> None:
    plan = push_filters(n.Filter(project(T, call("+", (ref(0), ref(1)))), above(0)))
    assert shape(plan) == "Project(Filter1(Scan))"
    (scan,) = n.find(plan, n.Scan)
    assert scan.filters == (call(">", (call("+", (ref(0), ref(1))), lit(5))),)


@pytest.mark.parametrize("computed", [udf(ref(0)), udf(ref(0), False), call("RAND_INTEGER", (lit(10),))], ids=str)
def test_conditions_stay_above_what_is_expensive_or_random(computed: Rex) -> None:
    plan = n.Filter(project(T, computed, ref(1)), call("AND", (above(0), above(1))))
    assert shape(push_filters(plan)) == "Filter1(Project(Filter1(Scan)))"


def test_random_conditions_do_not_move() -> None:
    random = call(">", (call("RAND_INTEGER", (lit(10),)), lit(5)))
    plan = n.Filter(project(T, ref(0)), call("AND", (random, above(0))))
    assert shape(push_filters(plan)) == "Filter1(Project(Filter1(Scan)))"


BOTH = call("=", (ref(0), ref(3)))
ON_LEFT, ON_RIGHT = above(1), above(4)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("INNER", "Join(Filter2(Scan), Filter2(Scan))"),
        ("LEFT", "Filter1(Join(Filter1(Scan), Filter1(Scan)))"),
        ("RIGHT", "Filter1(Join(Filter1(Scan), Filter1(Scan)))"),
        ("FULL", "Filter2(Join(Scan, Scan))"),
    ],
)
def test_conditions_above_and_in_joins(kind: str, expected: str) -> None:
    own = call("AND", (BOTH, above(1, 7), above(4, 7)))
    plan = push_filters(n.Filter(n.Join(T, U, kind, own), call("AND", (ON_LEFT, ON_RIGHT))))
    assert shape(plan) == expected
    (join,) = n.find(plan, n.Join)
    stay = {"INNER": 1, "LEFT": 2, "RIGHT": 2, "FULL": 3}[kind]
    assert len(conjuncts(join.condition)) == stay


def test_a_cross_join_with_a_condition_becomes_an_equi_join() -> None:
    plan = push_filters(n.Filter(n.Join(T, U, "INNER", TRUE), BOTH))
    assert isinstance(plan, n.Join) and plan.condition == BOTH


@pytest.mark.parametrize(
    ("kind", "null_aware", "expected"),
    [
        ("SEMI", False, "Join(Filter2(Scan), Filter1(Scan))"),
        ("ANTI", False, "Join(Filter1(Scan), Filter1(Scan))"),
        ("ANTI", True, "Join(Filter1(Scan), Scan)"),
    ],
)
def test_conditions_of_semi_and_anti_joins(kind: str, null_aware: bool, expected: str) -> None:
    own = call("AND", (BOTH, above(1, 7), above(4, 7)))
    assert shape(push_filters(n.Filter(n.Join(T, U, kind, own, null_aware), ON_LEFT))) == expected


def group(keys: tuple[int, ...], sets: Any = None) -> n.Aggregate:
    columns = (*(T.columns[key] for key in keys), n.Field("n", t.BigIntType()))
    return n.Aggregate(T, keys, (aggregate_call("COUNT", ()),), columns, sets)


def test_conditions_on_keys_go_below_groups() -> None:
    both = call("AND", (above(1), call(">", (ref(2, t.BigIntType()), lit(1, t.BigIntType())))))
    plan = push_filters(n.Filter(group((1, 0)), both))
    assert shape(plan) == "Filter1(Aggregate(Filter1(Scan)))"
    (scan,) = n.find(plan, n.Scan)
    assert scan.filters == (above(0),)
    assert shape(push_filters(n.Filter(group((1, 0), ((0,), (1,))), above(0)))) == "Filter1(Aggregate(Scan))"


def over(partition: tuple[int, ...]) -> n.Over:
    calls = ((aggregate_call("COUNT", ()), Frame(False, None)),)
    return n.Over(T, partition, (SortKey(ref(1)),), calls, (n.Field("n", t.BigIntType()),))


def tumble(keys: tuple[int, ...]) -> n.WindowAggregate:
    columns = (*(T.columns[key] for key in keys), n.Field("n", t.BigIntType()), n.Field("end", t.TimestampType(3)))
    calls = (aggregate_call("COUNT", ()),)
    return n.WindowAggregate(T, n.WindowSpec("TUMBLE", 10), 1, keys, calls, ("END",), columns)


def rank(partition: tuple[int, ...]) -> n.Rank:
    return n.Rank(T, "ROW_NUMBER", partition, (SortKey(ref(1)),), 1, 3)


def session(partition: tuple[int, ...]) -> n.WindowTable:
    window = n.WindowSpec("SESSION", 10)
    return n.WindowTable(T, window, 1, partition, (*T.columns, *(n.Field(f"w{i}", INT) for i in range(3))))


@pytest.mark.parametrize("make", [over, rank, session])
def test_only_whole_partitions_are_filtered_before_they_are_numbered(make: Any) -> None:
    plan = push_filters(n.Filter(make((0,)), call("AND", (above(0), above(1)))))
    assert shape(plan) == f"Filter1({type(make((0,))).__name__}(Filter1(Scan)))"
    assert shape(push_filters(n.Filter(make(()), above(0)))).startswith("Filter1(")


def test_conditions_go_into_every_branch_but_not_below_a_limit() -> None:
    union = n.SetOp("UNION", True, (T, T), T.columns)
    assert shape(push_filters(n.Filter(union, above(0)))) == "SetOp(Filter1(Scan), Filter1(Scan))"
    keys = (SortKey(ref(0)),)
    assert shape(push_filters(n.Filter(n.Sort(T, keys), above(0)))) == "Sort(Filter1(Scan))"
    assert shape(push_filters(n.Filter(n.Sort(T, keys, fetch=3), above(0)))) == "Filter1(Sort(Scan))"
    watermark = n.Watermark(T, 1, ref(1))
    assert shape(push_filters(n.Filter(watermark, above(0)))) == "Filter1(Watermark(Scan))"


def test_versions_of_a_temporal_join_are_not_filtered() -> None:
    join = n.TemporalJoin(T, U, "INNER", BOTH, 1, 1, (0,))
    plan = push_filters(n.Filter(join, call("AND", (ON_LEFT, ON_RIGHT))))
    assert shape(plan) == "Filter1(TemporalJoin(Filter1(Scan), Scan))"


# -- projections and columns ------------------------------------------------------------------------------------------


def test_projections_are_merged() -> None:
    plan = merge_projections(project(project(T, call("+", (ref(0), lit(1))), ref(1)), call("*", (ref(0), ref(1)))))
    assert plan == project(T, call("*", (call("+", (ref(0), lit(1))), ref(1))))


@pytest.mark.parametrize("computed", [udf(ref(0)), call("RAND_INTEGER", (lit(10),))], ids=str)
def test_nothing_expensive_is_computed_twice(computed: Rex) -> None:
    below = project(T, computed)
    once, twice = project(below, call("+", (ref(0), lit(1)))), project(below, call("+", (ref(0), ref(0))))
    assert shape(merge_projections(once)) == "Project(Scan)"
    assert shape(merge_projections(twice)) == "Project(Project(Scan))"


def test_a_projection_that_changes_nothing_goes() -> None:
    same = n.Project(T, tuple(ref(i, column.type) for i, column in enumerate(T.columns)), T.columns)
    assert merge_projections(same) == T
    renamed = n.Project(T, same.expressions, (n.Field("z", INT), *T.columns[1:]))
    assert merge_projections(renamed) == renamed


def read(plan: n.Rel) -> list[tuple[int, ...] | None]:
    return [scan.projected for scan in n.find(plan, n.Scan)]


def nothing_else_changed(plan: n.Rel, pruned: n.Rel) -> None:
    assert pruned.schema == plan.schema


@pytest.mark.parametrize(
    ("plan", "expected"),
    [
        (project(T, ref(1)), [(1,)]),
        (project(T, lit(1)), [(0,)]),
        (T, [None]),
        (project(n.Filter(T, above(1)), ref(0)), [(0, 1)]),
        (project(n.Join(T, U, "INNER", BOTH), ref(1), ref(4)), [(0, 1), None]),
        (project(n.Join(T, U, "INNER", BOTH), ref(1)), [(0, 1), (0,)]),
        (project(n.Join(T, U, "SEMI", BOTH), ref(2, STRING)), [(0, 2), (0,)]),
        (project(group((1,)), ref(0)), [(1,)]),
        (group(()), [(0,)]),
        (project(over((0,)), ref(2, STRING)), [(2,)]),
        (project(over((0,)), ref(3, t.BigIntType())), [(0, 1)]),
        (project(rank((0,)), ref(0)), [(0, 1)]),
        (project(n.SetOp("UNION", True, (T, T), T.columns), ref(1)), [(1,), (1,)]),
        (project(n.SetOp("UNION", False, (T, T), T.columns), ref(1)), [None, None]),
        (project(n.Sort(T, (SortKey(ref(1)),)), ref(0)), [(0, 1)]),
        (project(session((0,)), ref(3)), [(0, 1)]),
        (project(n.Watermark(T, 1, ref(1)), ref(2, STRING)), [(1, 2)]),
        (project(n.IntervalJoin(T, U, "INNER", TRUE, 1, 0, -5, 5), ref(4)), [(1,), None]),
        (project(n.WindowJoin(T, U, "SEMI", TRUE, (0, 1), (0, 1)), ref(0)), [(0, 1), None]),
        (project(n.TemporalJoin(T, U, "LEFT", BOTH, 1, 1, (0,)), ref(2, STRING)), [None, None]),
        (project(n.TemporalJoin(T, U, "LEFT", BOTH, 1, None, (0,)), ref(0)), [(0, 1), (0,)]),
        (project(n.Deduplicate(T, (1,), 0, True), ref(1)), [(0, 1)]),
        (project(n.LookupJoin(T, None, ("c", "d", "l"), U.columns, "LEFT", ((0, ref(1)),)), ref(4)), [(1,)]),
        (tumble((2,)), [(1, 2)]),
    ],
    ids=lambda value: shape(value) if isinstance(value, n.Rel) else "",
)
def test_only_needed_columns_are_read(plan: n.Rel, expected: list[Any]) -> None:
    pruned = prune_columns(plan)
    nothing_else_changed(plan, pruned)
    assert read(pruned) == expected


def test_a_scan_is_narrowed_twice() -> None:
    narrow = n.Scan(T.path, (T.columns[1], T.columns[2]), SOURCE, (1, 2))
    assert read(prune_columns(project(narrow, ref(1, STRING)))) == [(2,)]


def test_all_rules_together() -> None:
    joined = n.Join(T, U, "INNER", TRUE)
    sums = project(joined, call("+", (ref(1), ref(4))), ref(0), ref(3), ref(2, STRING))
    condition = call("AND", (call("=", (ref(1), ref(2))), above(1), call("=", (lit(1), lit(1)))))
    plan = project(n.Filter(sums, condition), ref(0))
    done = optimise_batch(plan, AROUND)
    nothing_else_changed(plan, done)
    assert shape(done) == "Project(Join(Filter1(Scan), Scan))"
    assert read(done) == [(0, 1), None]


def test_batch_mode_has_no_watermarks() -> None:
    plan = n.Filter(n.Watermark(T, 1, ref(1)), above(0))
    done = optimise_batch(plan, AROUND)
    nothing_else_changed(plan, done)
    assert done.schema[1].time == n.ROWTIME
    assert shape(done) == "Project(Filter1(Scan))"
