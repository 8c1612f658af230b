"""Equal parts of plans become one node, others do not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from millrace.relational import nodes as n
from millrace.relational import types as t
from millrace.relational.functions.aggregates.registry import aggregate_call
from millrace.relational.functions.registry import call
from millrace.relational.rex import Call, Literal, Ref, Rex, UdfCall
from millrace.relational.rules.optimizer import REUSE_PLANS, share, share_costly
from millrace.relational.sources import TableContext, TableSource

COLUMNS = tuple(n.Field(name, t.IntType()) for name in "abc")
PATH = ("catalog", "database", "numbers")


class Numbers(TableSource):
    def __init__(self, uses_filters: bool = False, **options: str) -> None:
        self.table = TableContext(PATH, COLUMNS, options=options)
        self.uses_filters = uses_filters

    def stream(self, columns: Sequence[int], filters: Sequence[Rex] = ()) -> Any:
        raise AssertionError("nothing is read")


@dataclass(frozen=True)
class Function:
    name: str


def scan(*columns: int, source: TableSource | None = None, filters: tuple[Rex, ...] = ()) -> n.Scan:
    return n.Scan(PATH, tuple(COLUMNS[each] for each in columns), source or Numbers(), columns or None, filters)


def whole(**options: str) -> n.Scan:
    return n.Scan(PATH, COLUMNS, Numbers(**options))


def at(plan: n.Rel, index: int) -> Ref:
    return Ref(plan.schema[index].type, index)


def counted(plan: n.Rel, key: int = 0) -> n.Aggregate:
    count = aggregate_call("COUNT", [])
    return n.Aggregate(plan, (key,), (count,), (plan.schema[key], n.Field("n", count.type)))


def computed(plan: n.Rel, *expressions: Rex) -> n.Project:
    return n.Project(plan, expressions, tuple(n.Field(f"x{at}", each.type) for at, each in enumerate(expressions)))


def sink(plan: n.Rel) -> n.Sink:
    return n.Sink(plan, ("catalog", "database", "result"), object())


def test_equal_plans_are_one() -> None:
    one, other = share([sink(counted(whole())), sink(counted(whole()))])
    assert one is not other
    assert one.inputs[0] is other.inputs[0]


def test_equal_branches_are_one() -> None:
    left, right = counted(whole()), counted(whole())
    (join,) = share([n.Join(left, right, "INNER", Literal(t.BooleanType(), True))])
    assert join.inputs[0] is join.inputs[1]


def joined(left: n.Rel, right: n.Rel) -> n.Join:
    return n.Join(left, right, "INNER", Literal(t.BooleanType(), True))


def test_of_one_query_what_brings_rows_together_is_one() -> None:
    plan = joined(counted(whole()), computed(counted(whole()), Ref(t.IntType(), 0)))
    join = share_costly(plan, {})
    assert join == plan
    assert join.inputs[0] is join.inputs[1].inputs[0]
    assert share_costly(plan, {REUSE_PLANS: "false"}) is plan


def test_of_one_query_what_passes_rows_on_stays_apart() -> None:
    """Also below nodes that are one: the third aggregate has a reading of its own."""
    first, second, other = counted(whole()), counted(whole()), counted(whole(), 1)
    found = share_costly(joined(joined(first, second), joined(other, computed(whole(), Ref(t.IntType(), 0)))), {})
    (one, same), (third, rows) = (each.inputs for each in found.inputs)
    assert one is same
    assert one.inputs[0] is first.inputs[0]
    assert third.inputs[0] is other.inputs[0]
    assert len({id(each) for each in (one.inputs[0], third.inputs[0], rows.inputs[0])}) == 3


def test_what_is_different_above_is_one_below() -> None:
    one, other = share([counted(whole(), 0), counted(whole(), 1)])
    assert one is not other
    assert one.inputs[0] is other.inputs[0]


def test_tables_with_other_options_stay_apart() -> None:
    one, other = share([counted(whole(speed="1")), counted(whole(speed="2"))])
    assert one.inputs[0] is not other.inputs[0]


def test_what_is_random_is_computed_for_each() -> None:
    def plan() -> n.Rel:
        return counted(computed(whole(), call("RAND_INTEGER", [Literal(t.IntType(False), 3)])))

    one, other = share([plan(), plan()])
    assert one is not other
    assert one.inputs[0] is not other.inputs[0]
    assert one.inputs[0].inputs[0] is other.inputs[0].inputs[0]


def test_functions_of_one_name_are_not_one_function() -> None:
    class Other:
        name = "f"

    def plan(function: Any) -> n.Rel:
        return computed(whole(), UdfCall(t.IntType(), function, "f", (Ref(t.IntType(), 0),)))

    known = Function("f")
    one, same, other = share([plan(known), plan(known), plan(Other())])
    assert one is same
    assert one is not other


def test_zero_has_a_sign() -> None:
    one, other = (computed(whole(), Literal(t.DoubleType(), value)) for value in (0.0, -0.0))
    found = share([one, other])
    assert found[0] is not found[1]


def test_a_table_is_read_once_for_different_columns() -> None:
    first, second = counted(scan(0, 2)), counted(scan(1, 2))
    one, other = share([first, second])
    (left,), (right,) = one.inputs, other.inputs
    assert left.inputs[0] is right.inputs[0]
    read = left.inputs[0]
    assert isinstance(read, n.Scan)
    assert (read.projected, read.names) == ((0, 1, 2), ["a", "b", "c"])
    assert [left.names, right.names] == [["a", "c"], ["b", "c"]]
    assert isinstance(left, n.Project)
    assert left.expressions == (Ref(t.IntType(), 0), Ref(t.IntType(), 2))


def test_all_columns_are_all_columns() -> None:
    one, other = share([counted(whole()), counted(scan(2))])
    (read,) = other.inputs[0].inputs
    assert read is one.inputs[0]
    assert read == whole()


def test_scans_stay_as_they_are_if_asked_for() -> None:
    one, other = share([counted(scan(0, 2)), counted(scan(1, 2))], scans=False)
    assert [each.inputs[0].projected for each in (one, other)] == [(0, 2), (1, 2)]  # type: ignore[attr-defined]


def _positive(column: int) -> Rex:
    return Call(t.BooleanType(), ">", (Ref(t.IntType(), column), Literal(t.IntType(False), 0)))


def test_filters_that_the_source_does_not_use() -> None:
    one, other = share([counted(scan(0, filters=(_positive(0),))), counted(scan(0, filters=(_positive(1),)))])
    assert one is other
    assert one.inputs[0] == scan(0)


def test_filters_that_the_source_uses() -> None:
    def read(column: int) -> n.Rel:
        return counted(scan(0, source=Numbers(True), filters=(_positive(column),)))

    one, other = share([read(0), read(1)])
    assert one.inputs[0] is not other.inputs[0]
    same, again = share([read(0), read(0)])
    assert same is again
    assert same.inputs[0] == scan(0, filters=(_positive(0),))
