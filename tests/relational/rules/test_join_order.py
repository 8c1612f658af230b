"""Inner joins in another order: the same rows, and fewer of them on the way."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from tests.seeds import seed_of

from millrace.relational import nodes as n
from millrace.relational import types as t
from millrace.relational.functions.registry import Surroundings, call
from millrace.relational.nodes.rel import find
from millrace.relational.rex import TRUE, Call, Literal, Ref, Rex, conjunction
from millrace.relational.rules import optimizer
from millrace.relational.rules.join_rules import JOIN_REORDER, MOST, join_order

INT = t.IntType()
Row = tuple[Any, ...]


def table(name: str, rows: int | None, width: int = 2) -> n.Scan:
    return n.Scan(("c", "d", name), tuple(n.Field(f"{name}{at}", INT) for at in range(width)), None, rows=rows)


def equal(left: int, right: int) -> Rex:
    return call("=", (Ref(INT, left), Ref(INT, right)))


def joined(left: n.Rel, right: n.Rel, *conditions: Rex) -> n.Join:
    return n.Join(left, right, "INNER", conjunction(list(conditions)))


def order_of(plan: n.Rel) -> list[str]:
    return [scan.path[2] for scan in find(plan, n.Scan)]


def star(**rows: int | None) -> n.Rel:
    """A large table first, a table that a filter makes small last."""
    facts, first, second = (table(name, rows[name]) for name in ("facts", "first", "second"))
    small = n.Filter(second, call("=", (Ref(INT, 1), Literal(INT.not_null(), 5))))
    return joined(joined(facts, first, equal(0, 2)), small, equal(1, 4))


def test_what_leaves_fewest_rows_comes_first() -> None:
    plan = star(facts=1_000_000, first=1_000, second=100)
    made = join_order(plan)
    assert sorted(order_of(made)[:2]) == ["facts", "second"] and order_of(made)[2] == "first"
    assert made.schema == plan.schema


def test_tables_that_were_never_counted_stay_where_they_are() -> None:
    plan = star(facts=1_000_000, first=None, second=100)
    assert join_order(plan) is plan


def test_what_nothing_connects_is_no_product_before_the_end() -> None:
    plan = joined(joined(table("a", 1_000), table("b", 1_000)), table("big", 10_000), equal(0, 4), equal(2, 5))
    made = join_order(plan)
    assert "big" in order_of(made)[:2]


def test_outer_joins_and_hints_are_left_alone() -> None:
    inner = star(facts=1_000_000, first=1_000, second=100)
    outer = n.Join(table("o", 5), inner, "LEFT", equal(0, 2))
    made = join_order(outer)
    assert isinstance(made, n.Join) and made.kind == "LEFT" and order_of(made)[0] == "o" and made != outer
    assert isinstance(inner, n.Join)
    hinted = replace(inner, right=n.Hinted(inner.right, (("BROADCAST", ()),)))
    assert join_order(hinted) is hinted


def test_only_where_the_session_wants_it() -> None:
    plan = star(facts=1_000_000, first=1_000, second=100)
    for optimise in (optimizer.optimise_batch, optimizer.optimise_streaming):
        assert order_of(optimise(plan, Surroundings(0))) == ["facts", "first", "second"]
        changed = optimise(plan, Surroundings(0, configuration={JOIN_REORDER: "true"}))
        assert order_of(changed)[2] == "first" and changed.schema == plan.schema


def rows_of(plan: n.Rel) -> list[Row]:
    """The rows of joins over constants, in the plainest way."""
    if isinstance(plan, n.Values):
        return list(plan.rows)
    if isinstance(plan, n.Project):
        return [tuple(value(each, row) for each in plan.expressions) for row in rows_of(plan.input)]
    assert isinstance(plan, n.Join)
    pairs = product(rows_of(plan.left), rows_of(plan.right))
    return [(*left, *right) for left, right in pairs if value(plan.condition, (*left, *right))]


def value(rex: Rex, row: Row) -> Any:
    if isinstance(rex, Ref):
        return row[rex.index]
    if rex == TRUE:
        return True
    assert isinstance(rex, Call)
    args = [value(each, row) for each in rex.args]
    return {"=": lambda: args[0] == args[1], "<": lambda: args[0] < args[1], "AND": lambda: all(args)}[rex.function]()


def drawn(dice: random.Random) -> n.Rel:
    """Joins of a random shape over small tables, whose conditions read any columns that are there."""
    trees: list[n.Rel] = []
    for _ in range(dice.randint(3, 5)):
        columns = tuple(n.Field(f"x{at}", INT) for at in range(dice.randint(1, 3)))
        rows = tuple(tuple(dice.randint(0, 3) for _ in columns) for _ in range(dice.randint(1, 6)))
        trees.append(n.Values(columns, rows))
    while len(trees) > 1:
        left, right = trees.pop(dice.randrange(len(trees))), trees.pop(dice.randrange(len(trees)))
        width = len(left.schema) + len(right.schema)
        signs = dice.choices(("=", "=", "<"), k=dice.randint(0, 2))
        parts = [call(sign, (Ref(INT, dice.randrange(width)), Ref(INT, dice.randrange(width)))) for sign in signs]
        trees.append(joined(left, right, *parts))
    return trees[0]


def test_the_same_rows_in_every_order() -> None:
    seed = seed_of("MILLRACE_JOIN_ORDER_SEED")
    dice = random.Random(seed)
    changed = 0
    for _ in range(150):
        plan = drawn(dice)
        made = join_order(plan)
        changed += made is not plan
        assert Counter(rows_of(made)) == Counter(rows_of(plan)), f"seed {seed}"
        assert made.schema == plan.schema
    assert changed, f"no order was changed with seed {seed}"


@pytest.mark.parametrize(("tables", "is_ordered"), [(MOST, True), (MOST + 1, False)])
def test_many_tables(tables: int, is_ordered: bool) -> None:
    plan: n.Rel = table("t0", 1000)
    for at in range(1, tables):
        plan = joined(plan, table(f"t{at}", 10_000 // at), equal(0, 2 * at))
    assert (join_order(plan) is not plan) == is_ordered
