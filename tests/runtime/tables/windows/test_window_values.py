"""The values of windows as a table of state, in memory and on disk: copies follow by changes, go on, fail and are
killed, and get the values of their keys, against a dict."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from tests.rings import one_of
from tests.runtime.state.copies import Machine, TaskCopy, Turns, machine_with

from millrace.relational import types as t
from millrace.relational.functions.aggregates.registry import aggregate_call, choosing, counting
from millrace.relational.nodes import WindowSpec
from millrace.relational.rex import AggCall, Ref
from millrace.runtime.exchange.keys import groups_of, key_group
from millrace.runtime.state.address import Scoped
from millrace.runtime.state.backend import KeyedStateBackend, only_keys
from millrace.runtime.state.column_deltas import divided, table_of
from millrace.runtime.state.window_tables import WindowTable
from millrace.runtime.state.working import WorkingState
from millrace.runtime.tables.stored_calls import NotKeptError, StoredCalls, kept
from millrace.runtime.tables.windows import stored_slices
from millrace.runtime.tables.windows.window_aggregate import WINDOWS
from millrace.runtime.tables.windows.window_config import WindowAggregate
from millrace.runtime.tables.windows.window_values import WindowValues, _Values, value_calls

NAME = "values"
Model = dict[int, dict[Any, tuple[int, int | None]]]
"""end -> (key, value) -> how often, the least number"""


def table() -> WindowValues:
    slots = [counting(), choosing(pa.int64(), "min")]
    return WindowValues(_Values([pa.string(), pa.int64()], slots, own=1))


def act(values: WindowValues, model: Model, draw: random.Random) -> None:
    """Change the table and the model in the same way, or compare a window."""
    end, choice = draw.randrange(4), draw.random()
    if choice < 0.15:
        values.drop(end)
        model.pop(end, None)
        return
    if choice < 0.3:
        assert (values.row(end) or {}) == model.get(end, {})
        return
    rows = [
        (draw.choice(["a", "b", None]), draw.choice([None, *range(5)]), draw.choice([1, -1]), draw.randrange(9))
        for _ in range(draw.randrange(1, 9))
    ]
    keys, numbers, signs, first = zip(*rows)
    columns = [pa.array(keys, pa.string()), pa.array(numbers, pa.int64())]
    values.add(end, values.partials.batch(columns, [pa.array(signs), pa.array(first)], len(rows)))
    content = model.setdefault(end, {})
    for key, number, sign, at in rows:
        count, least = content.get(Scoped((key,), (number,)), (0, None))
        content[Scoped((key,), (number,))] = (count + sign, at if least is None else min(least, at))


def content(backend: KeyedStateBackend) -> Model:
    plain = WindowTable()
    for piece in backend.full_pieces():
        if NAME in piece:
            plain.apply(piece[NAME][1])
    return {end: dict(row) for end, row in plain.rows.items()}


class ValuesCopy(TaskCopy):
    def __init__(self, working: WorkingState) -> None:
        super().__init__(working)
        self.table = self.backend.use(NAME, table())


@pytest.fixture(params=[None, 0, 1 << 20], ids=["in memory", "nothing stays", "all rows stay"])
def machine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    """:return: a machine whose tasks may have this much in memory, beside what has changed."""
    monkeypatch.setattr(stored_slices, "PIECE", 9)
    with machine_with(request.param) as found:
        yield found


@pytest.mark.parametrize("seed", one_of(range(4)))
def test_copies_go_on_fail_and_are_killed(machine: Machine, seed: int) -> None:
    draw, model, before = random.Random(seed), Model(), Model()
    turns: Turns[ValuesCopy] = Turns(machine, ValuesCopy)
    for _ in range(50):
        for _ in range(draw.randrange(4)):
            act(turns.copy.table, model, draw)
        outcome = draw.random()
        if outcome < 0.6:
            turns.end_epoch(whole=draw.random() < 0.2)
        elif outcome < 0.8:
            turns.fail_epoch(after_its_end=draw.random() < 0.5)
            model = {end: dict(row) for end, row in before.items()}
        else:
            turns.end_epoch()
            turns.drop(killed=draw.random() < 0.5)
        before = {end: dict(row) for end, row in model.items()}
        turns.begin_epoch(draw.randrange(2))
        assert content(turns.copy.backend) == model
    turns.close()


def test_values_go_with_their_keys() -> None:
    """In columns, and as entries of a savepoint."""
    draw, model, values = random.Random(7), Model(), table()
    for _ in range(60):
        act(values, model, draw)
    found: Model = {}
    for piece in values.told_pieces():
        for group, part in divided(piece, lambda hashes: groups_of(hashes, 16)).items():
            copy: Any = table_of(part)
            copy.apply(part)
            for end in copy.addresses():
                row = copy.row(end)
                assert all(key_group(at.key, 16) == group for at in row)
                found.setdefault(end, {}).update(row)
    assert found == model
    backend = KeyedStateBackend()
    backend.use(NAME, values)
    parts = [only_keys(backend.full(), lambda key, group=group: key_group(key, 16) == group) for group in range(16)]
    again = KeyedStateBackend()
    again.use(NAME, table())
    for part in parts:
        again.apply(part)
    assert content(again) == model


# -- which calls ------------------------------------------------------------------------------------------------------

NUMBER, OTHER = Ref(t.IntType(), 1), Ref(t.DoubleType(), 2)


def config(*calls: AggCall, retracts: bool = False, **more: Any) -> WindowAggregate:
    window = WindowSpec("CUMULATE", 20, 5)
    types = (t.VarCharType(3),)
    return WindowAggregate(
        window=window, time=0, zoned=False, keys=(0,), key_types=types, calls=calls, retracts=retracts, **more
    )


def test_calls_over_the_same_arguments_share_their_values() -> None:
    count, total = (aggregate_call(name, (NUMBER,), distinct=True) for name in ("COUNT", "SUM"))
    other = aggregate_call("COUNT", (OTHER,), distinct=True)
    found = value_calls(config(count, aggregate_call("SUM", (NUMBER,)), total, other))
    assert [[each.place for each in several.calls] for several in found] == [[0, 2], [3]]


@pytest.mark.parametrize("name", ["FIRST_VALUE", "COLLECT", "ARRAY_AGG"])
def test_values_whose_order_matters_stay_objects(name: str) -> None:
    assert value_calls(config(aggregate_call(name, (NUMBER,), distinct=name == "FIRST_VALUE"))) == ()


def test_the_smallest_of_rows_that_may_be_taken_back_is_one_of_values() -> None:
    least = aggregate_call("MIN", (NUMBER,))
    assert value_calls(config(least)) == ()
    assert [each.args for each in value_calls(config(least, retracts=True))] == [(NUMBER,)]


def test_the_layout_of_state_has_no_slots_for_them() -> None:
    calls = (aggregate_call("COUNT", (NUMBER,), distinct=True), aggregate_call("SUM", (NUMBER,)))
    found = config(*calls, meaning=("windows",), call_texts=("COUNT(DISTINCT n)", "SUM(n)")).stored()
    assert found is not None
    layout, zero = found
    assert (layout.state, layout.places, len(zero)) == (WINDOWS, [1, 1], 1 + layout.calls[1].width)
    assert [call.distinct for call in layout.calls] == ["window values 0", ""]


def layout_of(*calls: AggCall) -> tuple[StoredCalls, Any]:
    texts = tuple(f"{call.function}({'DISTINCT ' * call.distinct}n)" for call in calls)
    found = config(*calls, meaning=("windows",), call_texts=texts).stored()
    assert found is not None
    return found


def test_state_that_has_them_in_accumulators_is_refused() -> None:
    """As that of an earlier version."""
    layout, zero = layout_of(aggregate_call("COUNT", (NUMBER,), distinct=True))
    (call,) = layout.calls
    before = replace(layout, shape="", calls=(replace(call, slots=("int64",), width=1, distinct="distinct-0"),))
    with pytest.raises(NotKeptError, match="in another way"):
        kept(before, layout, zero, begin_empty=False)


def test_other_calls_go_on_when_they_come_or_go() -> None:
    total, count = aggregate_call("SUM", (NUMBER,)), aggregate_call("COUNT", (NUMBER,), distinct=True)
    (plain, zero), (both, zero_of_both) = layout_of(total), layout_of(count, total)
    slots = tuple(range(len(zero)))
    assert kept(plain, both, zero_of_both, begin_empty=True).slots == slots
    assert kept(both, plain, zero, begin_empty=False).slots == slots
    with pytest.raises(NotKeptError, match="is new"):
        kept(plain, both, zero_of_both, begin_empty=False)


def test_slices_are_no_windows() -> None:
    """Values in the order of their arrival have an object for each window, and overlapping windows no slices then."""
    total, several = aggregate_call("SUM", (NUMBER,)), aggregate_call("ARRAY_AGG", (NUMBER,))
    (plain, zero), (both, zero_of_both) = layout_of(total), layout_of(total, several)
    for before, (now, empty) in ((plain, (both, zero_of_both)), (both, (plain, zero))):
        with pytest.raises(NotKeptError, match="in another way"):
            kept(before, now, empty, begin_empty=True)
