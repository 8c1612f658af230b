"""The accumulators of groups in columns: against a dict and against those that are objects, in copies that follow,
divided by key groups, and in tasks that have entries instead."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runtime.tables.table_runs import changes_of, element, few, harness, run, table_of

from millrace.relational import types as t
from millrace.relational.functions.aggregates.registry import aggregate_call, choosing, counting
from millrace.relational.rex import AggCall, Ref
from millrace.relational.rows import DELETE
from millrace.runtime.exchange.keys import groups_of, key_group
from millrace.runtime.state.backend import KeyedStateBackend
from millrace.runtime.state.column_deltas import by_address, divided, is_told
from millrace.runtime.state.column_deltas import table_of as told_table
from millrace.runtime.state.tables import ABSENT, ValueTable
from millrace.runtime.tables import group_table
from millrace.runtime.tables.aggregates import group_aggregate
from millrace.runtime.tables.aggregates.accumulators import Accumulators
from millrace.runtime.tables.aggregates.aggregating import AggregatingOperator
from millrace.runtime.tables.aggregates.group_aggregate import GroupAggregate, GroupAggregateOperator
from millrace.runtime.tables.columns import pieces as piecewise
from millrace.runtime.tables.group_table import GroupTable
from millrace.runtime.tables.joins.inserted_rows import IndexedRows
from millrace.testing import EpochEnd, OperatorHarness, Step

MAX = 16
Model = dict[Any, tuple[Any, ...]]


def table() -> GroupTable:
    return group_table.group_table([pa.string(), pa.int64()], [counting(), choosing(pa.string(), "last")])


def put(target: GroupTable, rows: Model) -> None:
    keys = [pa.array(each, kind) for each, kind in zip(zip(*rows), target.types)]
    numbers, _ = target.place(keys, len(rows))
    target.write(numbers, [pa.array(each, kind) for each, kind in zip(zip(*rows.values()), (pa.int64(), pa.string()))])


def remove(target: GroupTable, keys: list[Any]) -> None:
    numbers, known = target.place([pa.array(each, kind) for each, kind in zip(zip(*keys), target.types)], len(keys))
    assert known.all()
    target.remove(numbers)


def drawn(draw: random.Random) -> Model:
    keys = [(draw.choice([None, "a", "b"]), draw.choice([None, 1, 2, 3])) for _ in range(draw.randrange(1, 6))]
    return {key: (draw.randrange(9), draw.choice([None, "x", "y"])) for key in keys}


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that are gone are soon forgotten, and few are told at a time."""
    monkeypatch.setattr(group_table, "FEW_DEAD", 2)
    monkeypatch.setattr(piecewise, "PIECE", 3)


@pytest.mark.usefixtures("small")
def test_copies_follow() -> None:
    draw = random.Random(4)
    leader, copy, entries, model = table(), table(), ValueTable(), Model()
    for _ in range(80):
        rows = drawn(draw)
        put(leader, rows)
        model.update(rows)
        if draw.random() < 0.4:
            gone = draw.sample(sorted(model, key=repr), draw.randrange(1, len(model) + 1))
            remove(leader, gone)
            for key in gone:
                del model[key]
        if draw.random() < 0.5:
            leader.settle()
            assert leader.length <= 2 * len(model) + 3
        if draw.random() < 0.3:
            told = leader.delta()
            assert is_told(told)
            copy.apply(told)
            entries.apply(by_address(told))
            assert copy.entries() == entries.entries() == model
            whole = table()
            for piece in leader.told_pieces():
                whole.apply(piece)
            assert whole.entries() == model and whole.delta() == {}
        assert leader.entries() == model
        key = draw.choice([*model, ("c", 1)])
        assert leader.row(key) == model.get(key)


def test_nothing_is_told_twice() -> None:
    found = table()
    put(found, {("a", 1): (1, "x")})
    found.settle()
    assert found.delta() and found.delta() == {}
    assert told_table(_told({("a", 1): (1, "x")})).entries() == {}


def _told(rows: Model) -> dict[Any, Any]:
    found = table()
    put(found, rows)
    return found.delta()


@pytest.mark.usefixtures("small")
def test_division_by_key_groups() -> None:
    rows = {("a", number): (number, "x") for number in range(20)}
    leader = table()
    put(leader, {**rows, ("b", 0): (1, None)})
    remove(leader, [("b", 0)])
    parts = divided(leader.delta(), lambda hashes: groups_of(hashes, MAX))
    found = {group: by_address(part) for group, part in parts.items()}
    assert all(key_group(key, MAX) == group for group, part in found.items() for key in part)
    assert {key: entry for part in found.values() for key, entry in part.items()} == {**rows, ("b", 0): ABSENT}
    assert len(found) > 5


def test_what_only_columns_can_take_in_is_refused_by_entries() -> None:
    rows = IndexedRows([pa.int64()], (0,))
    rows.add(pa.record_batch([pa.array([1])], ["c0"]), np.zeros(1, np.uint64))
    told = {"accumulators": (ValueTable.kind, rows.delta())}
    backend = KeyedStateBackend()
    backend.value_table("accumulators")
    with pytest.raises(ValueError, match="take a savepoint instead"):
        backend.apply(told)


# -- the operator ------------------------------------------------------------------------------------------------------

TYPES = (
    t.DoubleType(),
    t.BigIntType(),
    t.DoubleType(),
    t.DecimalType(10, 2),
    t.VarCharType(5),
    t.BooleanType(),
    t.TimestampType(3),
    t.ArrayType(t.IntType()),
    t.LocalZonedTimestampType(3),
)
KEY, NUMBER, REAL, MONEY, TEXT, FLAG, TIME, LIST, ZONED = (Ref(each, index) for index, each in enumerate(TYPES))
FOLDED: tuple[AggCall, ...] = (
    aggregate_call("COUNT", ()),
    aggregate_call("COUNT", (NUMBER,)),
    aggregate_call("SUM", (NUMBER,), filter=FLAG),
    aggregate_call("SUM", (MONEY,)),
    aggregate_call("AVG", (NUMBER,)),
    aggregate_call("AVG", (MONEY,)),
    aggregate_call("STDDEV_POP", (REAL,)),
)
CHOSEN: tuple[AggCall, ...] = (
    *(aggregate_call("MIN", (each,)) for each in (NUMBER, REAL, MONEY, TEXT, FLAG, ZONED)),
    *(aggregate_call("MAX", (each,)) for each in (NUMBER, REAL, TEXT, TIME, ZONED)),
    *(aggregate_call("FIRST_VALUE", (each,)) for each in (NUMBER, TEXT, LIST)),
    *(aggregate_call("LAST_VALUE", (each,)) for each in (MONEY, FLAG, LIST)),
    aggregate_call("COUNT", (TEXT,), distinct=True),
    aggregate_call("SUM", (NUMBER,), distinct=True, filter=FLAG),
)
RETAINED: tuple[AggCall, ...] = (
    *(aggregate_call("MIN", (each,)) for each in (NUMBER, REAL, MONEY, TEXT, FLAG, ZONED)),
    *(aggregate_call("MAX", (each,), filter=FLAG) for each in (NUMBER, REAL, TEXT, TIME, ZONED)),
    aggregate_call("COUNT", (TEXT,), distinct=True),
    aggregate_call("COUNT", (NUMBER, LIST), distinct=True),
    aggregate_call("SUM", (NUMBER,), distinct=True, filter=FLAG),
    aggregate_call("SUM", (NUMBER,), distinct=True),
)
CASES: dict[str, dict[str, Any]] = {
    "insertions": {"calls": (*FOLDED, *CHOSEN)},
    "changes": {"calls": FOLDED, "retracts": True},
    "without old rows": {"calls": FOLDED, "retracts": True, "before": False},
    "each change": {"calls": FOLDED, "retracts": True, "every_change": True},
    "changes of values": {"calls": (*FOLDED, *RETAINED), "retracts": True},
    "each insertion": {"calls": (*FOLDED, *CHOSEN), "every_change": True},
    "each change of values": {"calls": (*FOLDED, *RETAINED), "retracts": True, "every_change": True},
    "keys alone": {"calls": (), "retracts": True},
}

ROWS = st.tuples(
    st.sampled_from([None, 0.0, -0.0, 1.5, float("nan")]),
    st.none() | st.sampled_from([-1, 3, 2**62]),
    st.none() | st.sampled_from([0.5, -2.0, float("nan")]),
    st.none() | st.integers(-300, 300).map(lambda number: Decimal(number) / 100),
    st.sampled_from([None, "x", "", "z"]),
    st.none() | st.booleans(),
    st.none() | st.sampled_from([1_000, 2_000]),
    st.none() | st.lists(st.integers(0, 2), max_size=2),
    st.none() | st.sampled_from([1_000, 2_000]),
)


@st.composite
def scripts(draw: st.DrawFn) -> list[tuple[Any, bool]]:
    """(row, whether it is taken back), None for the end of an epoch."""
    found: list[Any] = []
    left: list[Any] = []
    for _ in range(draw(st.integers(0, 20))):
        if left and draw(st.integers(0, 2)) == 0:
            found.append((left.pop(draw(st.integers(0, len(left) - 1))), True))
        else:
            left.append(draw(ROWS))
            found.append((left[-1], False))
        if draw(st.integers(0, 3)) == 0:
            found.append(None)
    return found


def steps(script: list[Any], retracts: bool) -> list[Step]:
    chosen = [each for each in script if each is None or retracts or not each[1]]
    found = [EpochEnd() if each is None else element(each[0], TYPES, DELETE if each[1] else 0) for each in chosen]
    return [*found, EpochEnd()]


def config(case: str) -> GroupAggregate:
    return GroupAggregate(keys=(0,), key_types=TYPES[:1], **CASES[case])


def as_objects(operator: GroupAggregateOperator, calls: Any, retracts: bool, lasting: Any) -> None:
    """As for an aggregation of which a part can only be objects."""
    AggregatingOperator.aggregate(operator, calls, retracts)


@pytest.mark.parametrize("together", [1, 1000])
@pytest.mark.parametrize("case", CASES)
@few
@given(script=scripts())
def test_the_same_changes_as_of_objects(case: str, together: int, script: list[Any]) -> None:
    """In the same order, too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(group_aggregate, "TOGETHER", together)
        patch.setattr(piecewise, "PIECE", 3)
        given_steps = steps(script, bool(CASES[case].get("retracts")))
        columns = run(config(case), given_steps)
        with_objects(patch)
        objects = run(config(case), given_steps)
    assert list(map(repr, columns)) == list(map(repr, objects))


def with_objects(patch: pytest.MonkeyPatch) -> None:
    """Let groups be objects, and their DISTINCT values entries, as where calls do not consist of slots."""
    patch.setattr(Accumulators, "in_columns", False)
    patch.setattr(GroupAggregateOperator, "aggregate", as_objects)


@contextmanager
def run_with(columns: bool, case: str) -> Iterator[OperatorHarness]:
    with pytest.MonkeyPatch.context() as patch:
        if not columns:
            with_objects(patch)
        with harness(config(case)) as found:
            yield found


def some_rows(seed: int) -> list[Any]:
    draw = random.Random(seed)
    return [
        (draw.choice([None, 0.0, 2.5]), draw.randrange(9), 0.5, Decimal("1.25"), draw.choice("xy"), True, None, [1], 7)
        for _ in range(12)
    ]


@pytest.mark.parametrize("case", ["insertions", "changes"])
@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("after", [True, False])
def test_state_moves_between_columns_and_objects(
    case: str, before: bool, after: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a savepoint, and by the changes of a checkpoint."""
    if case == "insertions" and before != after:
        calls = [each for each in CASES[case]["calls"] if not each.distinct]  # their values move by a savepoint only
        monkeypatch.setitem(CASES, case, {"calls": tuple(calls)})
    whole = run(config(case), [*(element(row, TYPES) for row in [*some_rows(1), *some_rows(2)]), EpochEnd()])
    with run_with(before, case) as first:
        deltas = []
        for row in some_rows(1):
            first.process_element(element(row, TYPES).value)
            first.end_epoch()
            deltas.append(first.operator.keyed_state().delta())
        pieces = list(first.operator.keyed_state().full_pieces())
        begun = changes_of(first.values)
    for state in (pieces, deltas):
        with run_with(after, case) as second:
            second.operator.take_over_keyed(state)
            for row in some_rows(2):
                second.process_element(element(row, TYPES).value)
            second.end_epoch()
            assert table_of([*begun, *changes_of(second.values)]) == table_of(whole)
