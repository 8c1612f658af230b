"""Window tables: deltas bring a copy to the same rows in the same order, and the full content is the sum of them."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.runtime.state.window_tables import WindowListTable, WindowTable

TABLES = [WindowTable, WindowListTable]
ENDS, KEYS = [10, 20, 30], ["a", "b", "c"]
Operation = Callable[[Any, dict[int, dict[Any, Any]]], None]
"""does the same to a table and to a plain dict of dicts"""


def write(end: int, key: str, number: int) -> Operation:
    """As the operators do it: appended to the list, or a new accumulator."""

    def do(table: Any, plain: dict[int, dict[Any, Any]]) -> None:
        if isinstance(table, WindowTable):
            plain.setdefault(end, {})[key] = number
            table.put(end, key, number)
            return
        row, touched = table.begin(end)
        plain.setdefault(end, {}).setdefault(key, []).append(number)
        if touched is not None:
            touched.setdefault(key, len(row.get(key, ())))
        row.setdefault(key, []).append(number)

    return do


def drop(end: int) -> Operation:
    def do(table: Any, plain: dict[int, dict[Any, Any]]) -> None:
        table.drop(end)
        plain.pop(end, None)

    return do


operations = st.one_of(
    st.builds(write, st.sampled_from(ENDS), st.sampled_from(KEYS), st.integers(0, 99)),
    st.builds(drop, st.sampled_from(ENDS)),
)


def in_order(rows: dict[int, dict[Any, Any]]) -> list[Any]:
    return [(end, list(row.items())) for end, row in rows.items()]


@pytest.mark.parametrize("make", TABLES)
@given(epochs=st.lists(st.lists(operations, max_size=8), max_size=6))
def test_deltas_to_a_copy(make: Any, epochs: list[list[Operation]]) -> None:
    table, follower, plain = make(), make(), dict[int, dict[Any, Any]]()
    for epoch in epochs:
        for operation in epoch:
            operation(table, plain)
        assert in_order(table.rows) == in_order(plain)
        follower.apply(pickle.loads(pickle.dumps(table.delta())))
        assert in_order(follower.rows) == in_order(plain)
        restored = make()
        restored.apply(pickle.loads(pickle.dumps(table.entries())))
        assert in_order(restored.rows) == in_order(plain)
        assert table.delta() == {}
        assert follower.delta() == {}, "what came from outside is no change of its own"


@pytest.mark.parametrize("make", TABLES)
@given(epochs=st.lists(st.tuples(st.booleans(), st.lists(operations, max_size=5)), max_size=8))
def test_copies_take_turns(make: Any, epochs: list[tuple[bool, list[Operation]]]) -> None:
    """Either copy writes now and then, after it has caught up with the other."""
    tables, behind, plain = [make(), make()], [list[Any](), list[Any]()], dict[int, dict[Any, Any]]()
    for which, epoch in epochs:
        table = tables[which]
        for delta in behind[which]:
            table.apply(pickle.loads(delta))
        behind[which].clear()
        for operation in epoch:
            operation(table, plain)
        assert in_order(table.rows) == in_order(plain)
        behind[not which].append(pickle.dumps(table.delta()))


def test_a_delta_has_what_was_touched() -> None:
    table, plain = WindowTable(), dict[int, dict[Any, Any]]()
    for key in KEYS:
        write(10, key, 1)(table, plain)
    write(20, "a", 2)(table, plain)
    table.delta()
    write(10, "b", 3)(table, plain)
    assert table.delta() == {10: (False, {"b": 3})}


def test_a_delta_has_all_keys_when_many_were_touched() -> None:
    table, plain = WindowTable(), dict[int, dict[Any, Any]]()
    for key in range(10):
        write(10, str(key), 1)(table, plain)
    table.delta()
    for key in range(5):
        write(10, str(key), 2)(table, plain)
        assert table.begin(10)[1] is not None or key == 4
    write(10, "new", 3)(table, plain)
    assert table.delta() == {10: (False, plain[10])}
    write(10, "9", 4)(table, plain)
    assert table.delta() == {10: (False, {"9": 4})}


def test_appending_costs_what_is_appended() -> None:
    table, plain = WindowListTable(), dict[int, dict[Any, Any]]()
    for number in range(100):
        write(10, "a", number)(table, plain)
    table.delta()
    write(10, "a", 100)(table, plain)
    write(10, "a", 101)(table, plain)
    assert table.delta() == {10: (False, {"a": (100, [100, 101])})}


@pytest.mark.parametrize("make", TABLES)
def test_dropping_costs_one_entry(make: Any) -> None:
    table, plain = make(), dict[int, dict[Any, Any]]()
    for key in KEYS:
        write(10, key, 1)(table, plain)
    table.delta()
    drop(10)(table, plain)
    drop(99)(table, plain)
    assert list(table.delta()) == [10]


@pytest.mark.parametrize("make", TABLES)
def test_keys(make: Any) -> None:
    table, plain = make(), dict[int, dict[Any, Any]]()
    for end, key in ((10, "b"), (20, "a"), (20, "b")):
        write(end, key, 1)(table, plain)
    assert list(table.keys()) == ["b", "a"]
    before = copy.deepcopy(table.rows)
    list(table.keys())
    assert table.rows == before
