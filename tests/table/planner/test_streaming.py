"""Whole plans as streaming programs, compared with loops in plain Python."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from typing import Any

import pytest
from tests.table.planner.programs import BIGINT, INT, STRING, changelog, final, project, ref, table

from millrace.relational import nodes as n
from millrace.relational.functions.aggregates.registry import aggregate_call
from millrace.relational.functions.registry import call
from millrace.relational.rex import AggCall, Literal, SortKey

DRAW = random.Random(7)
ROWS = [(DRAW.randrange(5), DRAW.randrange(100), DRAW.choice(["x", "y", None])) for _ in range(60)]
T = table(ROWS, INT, BIGINT, STRING)


def total(plan: n.Rel, column: int) -> AggCall:
    return aggregate_call("SUM", [ref(plan, column)])


def grouped(plan: n.Rel, *keys: int) -> n.Aggregate:
    calls = (total(plan, 1), aggregate_call("COUNT", []))
    columns = (*(plan.schema[key] for key in keys), n.Field("s", calls[0].type), n.Field("n", calls[1].type))
    return n.Aggregate(plan, keys, calls, columns)


def sums(rows: Any, *keys: int) -> Counter[tuple[Any, ...]]:
    found: dict[tuple[Any, ...], list[int]] = defaultdict(list)
    for row in rows:
        found[tuple(row[key] for key in keys)].append(row[1])
    return Counter({(*key, sum(values), len(values)): 1 for key, values in found.items()})


EPOCHS = pytest.mark.parametrize("epoch_records", [None, 7])


@EPOCHS
def test_filter_and_projection(epoch_records: int | None) -> None:
    big = n.Filter(T, call(">", [ref(T, 1), Literal(INT.not_null(), 50)]))
    plan = project(big, a=ref(T, 0), twice=call("+", [ref(T, 1), ref(T, 1)]))
    assert final(changelog(plan, epoch_records=epoch_records)) == Counter((a, 2 * b) for a, b, _ in ROWS if b > 50)


@EPOCHS
def test_groups(epoch_records: int | None) -> None:
    assert final(changelog(grouped(T, 2, 0), epoch_records=epoch_records)) == sums(ROWS, 2, 0)


@EPOCHS
def test_an_aggregate_of_an_aggregate(epoch_records: int | None) -> None:
    inner = project(grouped(T, 0), n=ref(grouped(T, 0), 2), s=ref(grouped(T, 0), 1))
    by_count = [(n, s) for _, s, n in sums(ROWS, 0)]
    assert final(changelog(grouped(inner, 0), epoch_records=epoch_records)) == sums(by_count, 0)


@EPOCHS
def test_without_keys(epoch_records: int | None) -> None:
    assert final(changelog(grouped(T), epoch_records=epoch_records)) == sums(ROWS)


@EPOCHS
def test_grouping_sets(epoch_records: int | None) -> None:
    calls = (total(T, 1), AggCall("GROUPING", (ref(T, 0), ref(T, 2)), BIGINT))
    columns = (T.schema[0], T.schema[2], n.Field("s", calls[0].type), n.Field("g", BIGINT))
    plan = n.Aggregate(T, (0, 2), calls, columns, sets=((0, 1), (1,), ()))
    wanted: Counter[tuple[Any, ...]] = Counter()
    for kept, bits in (((0, 2), 0), ((2,), 2), ((), 3)):
        for row in sums(ROWS, *kept):
            key = dict(zip(kept, row))
            wanted[(key.get(0), key.get(2), row[-2], bits)] += 1
    assert final(changelog(plan, epoch_records=epoch_records)) == wanted


@EPOCHS
@pytest.mark.parametrize("kind", n.JOIN_KINDS)
def test_joins_on_computed_values(kind: str, epoch_records: int | None) -> None:
    other = table([(number, f"{number}") for number in range(3, 9)], BIGINT, STRING)
    condition = call("=", [ref(T, 0), n_ref(T, other, 0)])
    assert not condition.args[0].type.is_same(T.schema[0].type), "the key of one side is cast"
    plan = n.Join(T, other, kind, condition)
    assert final(changelog(plan, epoch_records=epoch_records)) == naive_join(ROWS, list(other.rows), kind)


def n_ref(left: n.Rel, right: n.Rel, index: int) -> Any:
    from millrace.relational.rex import Ref

    return Ref(right.schema[index].type, len(left.schema) + index)


def naive_join(left: list[Any], right: list[Any], kind: str) -> Counter[tuple[Any, ...]]:
    pairs = [(one, other) for one in left for other in right if one[0] == other[0]]
    matched_left, matched_right = {one for one, _ in pairs}, {other for _, other in pairs}
    if kind == "SEMI":
        return Counter(row for row in left if row in matched_left)
    if kind == "ANTI":
        return Counter(row for row in left if row not in matched_left)
    found = Counter(one + other for one, other in pairs)
    if kind in ("LEFT", "FULL"):
        found.update((*row, None, None) for row in left if row not in matched_left)
    if kind in ("RIGHT", "FULL"):
        found.update((None, None, None, *row) for row in right if row not in matched_right)
    return found


@EPOCHS
def test_the_first_rows_of_each_key(epoch_records: int | None) -> None:
    plan = n.Rank(T, "ROW_NUMBER", (0,), (SortKey(ref(T, 1), descending=True),), 1, 2)
    wanted: Counter[Any] = Counter()
    for key in range(5):
        best = sorted((row[1] for row in ROWS if row[0] == key), reverse=True)[:2]
        wanted.update((key, value) for value in best)
    found = final(changelog(project(plan, a=ref(T, 0), b=ref(T, 1)), epoch_records=epoch_records))
    assert found == wanted


@EPOCHS
def test_unions(epoch_records: int | None) -> None:
    some = n.Filter(T, call("=", [ref(T, 2), Literal(STRING, "x")]))
    every = n.SetOp("UNION", True, (T, some), T.schema)
    assert final(changelog(every, epoch_records=epoch_records)) == Counter(ROWS) + Counter(
        row for row in ROWS if row[2] == "x"
    )
    distinct = n.SetOp("UNION", False, (T, some), T.schema)
    assert final(changelog(distinct, epoch_records=epoch_records)) == Counter(set(ROWS))
