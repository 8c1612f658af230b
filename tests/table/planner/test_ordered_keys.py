"""Which keys' changes come in order, and what is done without old rows because of that."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
from tests.table.planner.programs import BIGINT, INT, STRING, changelog, final, project, ref, table

from millrace.datastream import StreamExecutionEnvironment
from millrace.relational import nodes as n
from millrace.relational.functions.aggregates.registry import aggregate_call
from millrace.relational.functions.registry import Surroundings, call
from millrace.relational.rex import Literal, SortKey
from millrace.relational.rules.optimizer import optimise_streaming
from millrace.runtime.tables.aggregates.group_aggregate import GroupAggregate
from millrace.runtime.tables.ordering.rank import Rank
from millrace.table.planner.engine import add_to_program
from millrace.table.planner.plan import Options, changes_of, ordered_keys

DRAW = random.Random(11)
ROWS = [(DRAW.randrange(3), DRAW.randrange(4), DRAW.choice("xy")) for _ in range(60)]
T = table(ROWS, INT, BIGINT, STRING)


def counts() -> n.Aggregate:
    """a, b, how many"""
    call = aggregate_call("COUNT", [])
    return n.Aggregate(T, (0, 1), (call,), (T.schema[0], T.schema[1], n.Field("n", call.type)))


def top(plan: n.Rel, partition: tuple[int, ...], last: int = 2) -> n.Rank:
    """The rows with the largest counts; of equal ones those with the smallest b."""
    order = (SortKey(ref(plan, 2), True, False), SortKey(ref(plan, 1)), SortKey(ref(plan, 0)))
    return n.Rank(plan, "ROW_NUMBER", partition, order, 1, last)


def keys_of(plan: n.Rel) -> frozenset[tuple[int, ...]]:
    return ordered_keys(plan, changes_of)


def test_keys_of_groups() -> None:
    assert keys_of(counts()) == {(0, 1)}
    assert keys_of(project(counts(), n=ref(counts(), 2), b=ref(counts(), 1), a=ref(counts(), 0))) == {(2, 1)}
    assert keys_of(project(counts(), a=ref(counts(), 0))) == set()


def test_rows_that_move_to_another_task() -> None:
    """The group of a row is one task's, but its count decides which task ranks it."""
    by_count = top(counts(), (2,))
    assert changes_of(by_count).keys == {(0, 1)}
    assert keys_of(by_count) == set()
    assert keys_of(top(counts(), (0,))) == {(0, 1)}
    assert keys_of(n.Sort(counts(), (SortKey(ref(counts(), 2)),), fetch=3)) == {(0, 1)}


def test_joins_have_none() -> None:
    same = call("=", [ref(counts(), 2), Literal(BIGINT, 3)])
    assert keys_of(n.Join(counts(), counts(), "INNER", same)) == set()


def configs(plan: n.Rel) -> list[Any]:
    environment = StreamExecutionEnvironment()
    add_to_program([optimise_streaming(plan, Surroundings(1))], environment._program, Options(two_phase=False))
    return [node.spec.config for node in environment._program.added() if hasattr(node.spec, "config")]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("partition", "unique", "before"), [((0,), (1,), False), ((), (0, 1), False), ((2,), None, True)], ids=str
)
def test_a_top_n_without_old_rows(partition: tuple[int, ...], unique: Any, before: bool) -> None:
    found = configs(top(counts(), partition))
    (rank,) = (each for each in found if isinstance(each, Rank))
    (groups,) = (each for each in found if isinstance(each, GroupAggregate))
    assert (rank.unique, groups.before) == (unique, before)


@pytest.mark.parametrize("partition", [(0,), (), (2,)], ids=str)
def test_its_rows(partition: tuple[int, ...]) -> None:
    every = [(*group, count) for group, count in Counter((a, b) for a, b, _ in ROWS).items()]
    expected: Counter[Any] = Counter()
    for key in {tuple(row[each] for each in partition) for row in every}:
        rows = [row for row in every if tuple(row[each] for each in partition) == key]
        expected.update(sorted(rows, key=lambda row: (-row[2], row[1], row[0]))[:2])
    assert final(changelog(top(counts(), partition), epoch_records=5)) == expected
