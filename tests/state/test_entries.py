"""Entries of tables as pairs, and changed: against the state objects over the same tables."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.common import Time, Types
from millrace.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from millrace.datastream.window import TimeWindow
from millrace.runtime.state.address import Scoped
from millrace.runtime.state.backend import EVENT_TIMERS, PROCESSING_TIMERS, KeyedStateBackend
from millrace.runtime.state.kinds import TABLES
from millrace.runtime.state.state_time import StateTime
from millrace.runtime.windows.aligned_window import SLICES
from millrace.state.state_columns import Slice, Timer, changed, changed_operator_state, operator_state_pairs, pairs

LONG = Types.LONG()
LISTS = st.dictionaries(st.integers(0, 4), st.lists(st.integers(0, 9), min_size=1, max_size=4), max_size=4)
MAPS = st.dictionaries(
    st.integers(0, 4), st.dictionaries(st.integers(0, 4), st.integers(0, 9), min_size=1, max_size=4), max_size=4
)


def backend(ttl: bool) -> tuple[KeyedStateBackend, dict[str, Any]]:
    """A backend whose clock goes on with each access, and its states."""
    clock = iter(range(1, 10_000))
    keyed = KeyedStateBackend(StateTime(lambda: next(clock), lambda: 0, lambda: None))
    descriptors = [
        ValueStateDescriptor("value", LONG),
        ListStateDescriptor("list", LONG),
        MapStateDescriptor("map", LONG, LONG),
    ]
    for descriptor in descriptors if ttl else ():
        descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.days(1)).build())
    return keyed, {descriptor.get_name(): keyed.get_any(descriptor) for descriptor in descriptors}


def filled(ttl: bool, lists: Any, maps: Any, at: Any = lambda key: key) -> KeyedStateBackend:
    keyed, states = backend(ttl)
    for key, values in lists.items():
        keyed.at = at(key)
        states["value"].update(values[0])
        states["list"].update(values)
    for key, values in maps.items():
        keyed.at = at(key)
        for map_key, value in values.items():
            states["map"].put(map_key, value)
    return keyed


def with_changes(keyed: KeyedStateBackend, change: Any) -> dict[str, dict[Any, Any]]:
    """name -> what another backend shows after it got the changed entries."""
    other, _ = backend(any(kind.startswith("TTL ") for kind, _ in keyed.full().values()))
    other.apply({name: (kind, changed(name, kind, entries, change)) for name, (kind, entries) in keyed.full().items()})
    return {name: dict(pairs(name, kind, entries)) for name, (kind, entries) in other.full().items()}


@pytest.mark.parametrize("ttl", [False, True])
@given(lists=LISTS, maps=MAPS)
def test_pairs_are_what_the_states_hold(ttl: bool, lists: Any, maps: Any) -> None:
    for at in (lambda key: key, lambda key: Scoped(key, TimeWindow(0, key))):
        full = filled(ttl, lists, maps, at).full()
        found = {name: dict(pairs(name, kind, entries)) for name, (kind, entries) in full.items()}
        assert found.get("value", {}) == {at(key): values[0] for key, values in lists.items()}
        assert found.get("list", {}) == {at(key): values for key, values in lists.items()}
        assert found.get("map", {}) == {at(key): values for key, values in maps.items()}


@pytest.mark.parametrize("ttl", [False, True])
@given(lists=LISTS, maps=MAPS)
def test_changed_entries_are_those_of_a_loop(ttl: bool, lists: Any, maps: Any) -> None:
    def change(key: Any, value: Any) -> Any:
        if isinstance(value, list):
            return [each + key for each in value if each % 2]
        if isinstance(value, dict):
            return {**{k: v + 1 for k, v in value.items() if k % 2}, **({9: 9} if key else {})}
        return value + key if value else None

    found = with_changes(filled(ttl, lists, maps), change)
    assert found.get("value", {}) == {key: change(key, values[0]) for key, values in lists.items() if values[0]}
    new_lists = {key: change(key, values) for key, values in lists.items()}
    assert found.get("list", {}) == {key: values for key, values in new_lists.items() if values}
    new_maps = {key: change(key, values) for key, values in maps.items()}
    assert found.get("map", {}) == {key: values for key, values in new_maps.items() if values}


def test_times_to_live_go_on() -> None:
    keyed = filled(True, {1: [5, 6]}, {1: {7: 70, 8: 80}})
    stamps = {name: entries[1] for name, (_, entries) in keyed.full().items()}
    change = lambda key, value: (
        [*value, 9] if isinstance(value, list) else {**value, 9: 90} if isinstance(value, dict) else -value
    )
    new = {name: changed(name, kind, entries, change)[1] for name, (kind, entries) in keyed.full().items()}
    assert new["value"] == (stamps["value"][0], -5)
    old = [stamp for stamp, _ in stamps["list"][1]]
    assert new["list"] == (0, [(old[0], 5), (old[1], 6), (max(old), 9)])
    assert old[0] <= old[1]
    before = {key: stamp for key, (stamp, _) in stamps["map"][1].items()}
    assert {key: stamp for key, (stamp, _) in new["map"][1].items()} == {**before, 9: max(before.values())}
    assert before[7] < before[8]


def test_windows() -> None:
    table = TABLES["windows"]()
    for end, key, value in ((100, "a", 1), (100, "b", 2), (200, "a", 3)):
        table.put(end, key, value)  # type: ignore[attr-defined]
    assert dict(pairs("w", "windows", table.entries())) == {("a", 100): 1, ("b", 100): 2, ("a", 200): 3}
    new = changed("w", "windows", table.entries(), lambda at, value: None if at == ("a", 200) else (at, value))
    assert dict(pairs("w", "windows", new)) == {("a", 100): (("a", 100), 1), ("b", 100): (("b", 100), 2)}
    assert list(new) == [100], "no window without a key"


def test_slices_are_no_windows() -> None:
    entries = {100: (True, {"a": 1}), 200: (True, {"a": 2})}
    assert dict(pairs(SLICES, "windows", entries)) == {("a", Slice(100)): 1, ("a", Slice(200)): 2}
    new = changed(SLICES, "windows", entries, lambda at, value: at[1].end + value if at[1] == Slice(100) else None)
    assert new == {100: (True, {"a": 101})}


def test_sessions() -> None:
    entries = {"a": [[0, 10, 1], [20, 30, 2]], "b": [[5, 15, 3]]}
    expected = {("a", TimeWindow(0, 10)): 1, ("a", TimeWindow(20, 30)): 2, ("b", TimeWindow(5, 15)): 3}
    assert dict(pairs("s", "sessions", entries)) == expected
    new = changed("s", "sessions", entries, lambda at, value: value * 10 if value < 3 else None)
    assert new == {"a": [[0, 10, 10], [20, 30, 20]]}
    assert entries["a"] == [[0, 10, 1], [20, 30, 2]], "the old ones stay"


def test_buffers_are_put_into_the_order_of_time() -> None:
    entries = {"a": ([1, 5], ["x", "y"])}
    assert dict(pairs("b", "time buffers", entries)) == {"a": [(1, "x"), (5, "y")]}
    new = changed("b", "time buffers", entries, lambda key, found: [*found, (3, "z")])
    assert new == {"a": ([1, 3, 5], ["x", "z", "y"])}
    assert changed("b", "time buffers", entries, lambda key, found: []) == {}


def test_timers() -> None:
    entries = {(5, "a"): 0, (7, Scoped("b", 1)): 1}
    assert list(pairs(EVENT_TIMERS, "timers", entries)) == [("a", Timer("event", 5)), (("b", 1), Timer("event", 7))]
    assert list(pairs(PROCESSING_TIMERS, "timers", {(5, "a"): 0})) == [("a", Timer("processing", 5))]


@pytest.mark.parametrize(("kind", "entry", "wrong"), [("list", (0, [1]), "x"), ("map", (True, {1: 1}, []), [1])])
def test_a_value_of_the_wrong_kind_is_refused(kind: str, entry: Any, wrong: Any) -> None:
    text = f"the state holds a {kind.replace('map', 'dict')} for each key, but the function gave {wrong!r}"
    with pytest.raises(TypeError, match=re.escape(text)):
        changed("s", kind, {"a": entry}, lambda key, value: wrong)


def test_operator_state() -> None:
    assert list(operator_state_pairs("UNION", 3, (0, ["a", "b"]))) == [(3, "a"), (3, "b")]
    assert list(operator_state_pairs("BROADCAST", 3, (True, {"a": 1}, []))) == [("a", 1)]
    drop_b = lambda key, value: None if value == "b" else f"{key}{value}"
    assert changed_operator_state("SPLIT_DISTRIBUTE", 3, (0, ["a", "b"]), drop_b) == (0, ["3a"])
    assert changed_operator_state("BROADCAST", 3, (True, {"a": "x", "c": "b"}, []), drop_b) == (True, {"a": "ax"}, [])
