"""Operator state for another number of subtasks: nothing lost, nothing doubled, evenly dealt."""

from __future__ import annotations

import pickle
from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from millrace.common.typeinfo import Types
from millrace.datastream.state import ListStateDescriptor, MapStateDescriptor
from millrace.runtime.state.operator_state import OperatorDelta, OperatorStateBackend
from millrace.runtime.state.restoring.redistribute import redistribute

INT = Types.INT()
NAMES = ("a", "b")


def backend_of(lists: dict[str, list[Any]], unions: dict[str, list[Any]], maps: dict[str, Any]) -> OperatorStateBackend:
    backend = OperatorStateBackend()
    for name, items in lists.items():
        backend.get_list_state(ListStateDescriptor(f"list {name}", INT)).update(items)
    for name, items in unions.items():
        backend.get_union_list_state(ListStateDescriptor(f"union {name}", INT)).update(items)
    for name, entries in maps.items():
        backend.get_broadcast_state(MapStateDescriptor(f"map {name}", INT, INT)).put_all(entries)
    return backend


def restored(state: OperatorDelta) -> OperatorStateBackend:
    backend = OperatorStateBackend()
    backend.apply(pickle.loads(pickle.dumps(state)))
    return backend


LISTS = st.fixed_dictionaries({name: st.lists(st.integers(), max_size=7) for name in NAMES})
MAPS = st.fixed_dictionaries({name: st.dictionaries(st.integers(0, 9), st.integers(), max_size=4) for name in NAMES})


@given(st.lists(st.tuples(LISTS, LISTS), min_size=1, max_size=5), MAPS, st.integers(1, 6))
def test_every_kind_in_its_way(subtasks: list[tuple[Any, Any]], maps: Any, parallelism: int) -> None:
    old = [backend_of(lists, unions, maps).full() for lists, unions in subtasks]
    new = [restored(state) for state in redistribute(old, parallelism)]
    assert len(new) == parallelism
    everything = []
    for name in NAMES:
        items = [item for lists, _ in subtasks for item in lists[name]]
        parts = [backend.content(f"list {name}") or [] for backend in new]
        assert Counter(item for part in parts for item in part) == Counter(items), "each item exactly once"
        everything.append([len(part) for part in parts])
        union = [item for _, unions in subtasks for item in unions[name]]
        assert [backend.content(f"union {name}") or [] for backend in new] == [union] * parallelism
        for backend in new:
            assert list((backend.content(f"map {name}") or {}).items()) == list(maps[name].items())
    if parallelism != len(subtasks):
        for lengths in (*everything, [sum(both) for both in zip(*everything)]):
            assert max(lengths) - min(lengths) <= 1, "dealt evenly, also over all states"


@given(st.lists(LISTS, min_size=1, max_size=4), st.integers(1, 5))
def test_neighbours_stay_together(subtasks: list[Any], parallelism: int) -> None:
    old = [backend_of({"a": lists["a"]}, {}, {}).full() for lists in subtasks]
    new = [restored(state).content("list a") or [] for state in redistribute(old, parallelism)]
    if parallelism == len(subtasks):
        assert new == [lists["a"] for lists in subtasks], "as many subtasks as before: everybody keeps what he had"
        return
    assert [item for part in new for item in part] == [item for lists in subtasks for item in lists["a"]]


def test_there_and_back() -> None:
    old = [backend_of({"a": [n, n + 10]}, {}, {"a": {1: 1}}).full() for n in range(3)]
    more = redistribute(old, 5)
    assert [restored(state).content("map a") for state in more] == [{1: 1}] * 5
    fewer = [restored(state).content("list a") for state in redistribute(more, 1)]
    assert [sorted(items) for items in fewer] == [[0, 1, 2, 10, 11, 12]]


def test_without_state_there_is_nothing() -> None:
    assert redistribute([{}, {}], 3) == [{}, {}, {}]
