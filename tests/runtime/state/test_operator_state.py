"""The three kinds of operator state against lists and dicts, on copies that follow each other by deltas."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from millrace.common.time import Time
from millrace.common.typeinfo import Types
from millrace.datastream.state import (
    BroadcastState,
    ListStateDescriptor,
    MapStateDescriptor,
    ReadOnlyBroadcastState,
    StateTtlConfig,
    ValueStateDescriptor,
)
from millrace.runtime.state.operator_state import Distribution, OperatorStateBackend

INT = Types.INT()
ITEMS = ListStateDescriptor("items", INT)
UNION = ListStateDescriptor("union", INT)
RULES = MapStateDescriptor("rules", INT, INT)
NUMBERS = st.integers(-3, 3)


class States:
    """A backend with one state of each kind."""

    def __init__(self) -> None:
        self.backend = backend = OperatorStateBackend()
        self.items = backend.get_list_state(ITEMS)
        self.union = backend.get_union_list_state(UNION)
        self.rules = backend.get_broadcast_state(RULES)

    def content(self) -> dict[str, list[Any]]:
        """Maps as lists: their order must not depend on the worker."""
        return {"items": list(self.items), "union": list(self.union), "rules": list(self.rules.items())}


class StateMachine(RuleBasedStateMachine):
    """Random calls on the worker at hand; epochs end, workers change, new ones come."""

    @initialize()
    def begin(self) -> None:
        self.workers = [States(), States()]
        self.versions = [0, 0]
        self.at_work = 0
        self.deltas: list[bytes] = []
        self.lists: dict[str, list[int]] = {"items": [], "union": []}
        self.rules: dict[int, int] = {}

    @property
    def states(self) -> States:
        return self.workers[self.at_work]

    @rule(name=st.sampled_from(["items", "union"]), value=NUMBERS)
    def add(self, name: str, value: int) -> None:
        getattr(self.states, name).add(value)
        self.lists[name].append(value)

    @rule(name=st.sampled_from(["items", "union"]), values=st.lists(NUMBERS, max_size=3), all_new=st.booleans())
    def many(self, name: str, values: list[int], all_new: bool) -> None:
        state = getattr(self.states, name)
        if all_new:
            state.update(values)
            self.lists[name] = list(values)
        else:
            state.add_all(values)
            self.lists[name] += values

    @rule(name=st.sampled_from(["items", "union", "rules"]))
    def clear(self, name: str) -> None:
        getattr(self.states, name).clear()
        (self.rules if name == "rules" else self.lists[name]).clear()

    @rule(key=NUMBERS, value=NUMBERS)
    def put(self, key: int, value: int) -> None:
        self.states.rules[key] = value
        self.rules[key] = value

    @rule(key=NUMBERS)
    def remove(self, key: int) -> None:
        del self.states.rules[key]
        self.rules.pop(key, None)

    @rule(next_worker=st.integers(0, 1))
    def end_epoch(self, next_worker: int) -> None:
        self.deltas.append(pickle.dumps(self.states.backend.delta()))
        self.versions[self.at_work] = len(self.deltas)
        self.at_work = next_worker
        for delta in self.deltas[self.versions[next_worker] :]:
            self.states.backend.apply(pickle.loads(delta))

    @rule(full=st.booleans())
    def restart(self, full: bool) -> None:
        old = self.states.backend
        self.deltas.append(pickle.dumps(old.delta()))
        fresh = States()
        for delta in [pickle.dumps(old.full())] if full else self.deltas:
            fresh.backend.apply(pickle.loads(delta))
        self.workers[self.at_work] = fresh
        self.versions[self.at_work] = len(self.deltas)

    @invariant()
    def like_the_model(self) -> None:
        assert self.states.content() == {**self.lists, "rules": list(self.rules.items())}
        view = self.states.backend.read_only("rules")
        assert list(view.items()) == list(self.rules.items())
        assert [view.get(key) for key in range(-3, 4)] == [self.rules.get(key) for key in range(-3, 4)]
        assert [key for key in range(-3, 4) if key in view] == sorted(self.rules)
        assert view.is_empty() == (not self.rules)

    @invariant()
    def the_full_state_is_what_there_is(self) -> None:
        kinds = {name: kind for name, (kind, _) in self.states.backend.full().items()}
        filled = {name for name, items in (*self.lists.items(), ("rules", self.rules)) if items}
        assert kinds == {name: KINDS[name] for name in filled}


KINDS = {"items": Distribution.SPLIT_DISTRIBUTE, "union": Distribution.UNION, "rules": Distribution.BROADCAST}

TestStateMachine = StateMachine.TestCase


def test_a_delta_holds_what_was_touched() -> None:
    states = States()
    states.items.add_all(list(range(100)))
    states.rules.put_all({number: number for number in range(100)})
    states.backend.delta()
    assert states.backend.delta() == {}
    states.items.add(100)
    states.rules.put(5, 0)
    assert states.backend.delta() == {
        "items": (Distribution.SPLIT_DISTRIBUTE, (100, [100])),
        "rules": (Distribution.BROADCAST, (False, {5: 0}, [])),
    }


def test_names_that_were_asked_for_or_restored() -> None:
    states = States()
    states.items.add(1)
    states.rules.put(1, 1)
    states.union.clear()
    assert states.backend.get_registered_state_names() == {"items", "union"}
    assert states.backend.get_registered_broadcast_state_names() == {"rules"}
    restored = OperatorStateBackend()
    assert not restored.restored
    restored.apply(states.backend.full())
    assert restored.restored
    assert restored.get_registered_state_names() == {"items"}
    assert restored.get_registered_broadcast_state_names() == {"rules"}


def test_an_empty_delta_restores_too() -> None:
    backend = OperatorStateBackend()
    backend.apply({})
    assert backend.restored
    assert backend.get_registered_state_names() == set()


def test_a_state_is_asked_for_as_often_as_one_likes() -> None:
    backend = OperatorStateBackend()
    assert backend.get_list_state(ITEMS) is backend.get_list_state(ListStateDescriptor("items", Types.STRING()))
    assert isinstance(backend.get_broadcast_state(RULES), BroadcastState)
    view = backend.read_only("rules")
    assert isinstance(view, ReadOnlyBroadcastState)
    assert not isinstance(view, BroadcastState)


CLASHES: list[tuple[Callable[[OperatorStateBackend], Any], str]] = [
    (
        lambda b: b.get_union_list_state(ITEMS),
        "state 'items' is registered as SPLIT_DISTRIBUTE, so it can't be UNION as well",
    ),
    (
        lambda b: b.get_broadcast_state(MapStateDescriptor("items", INT, INT)),
        "state 'items' is registered as SPLIT_DISTRIBUTE, so it can't be BROADCAST as well",
    ),
]


@pytest.mark.parametrize("restored", [False, True])
@pytest.mark.parametrize(("ask", "text"), CLASHES)
def test_a_name_stands_for_one_state(ask: Callable[[OperatorStateBackend], Any], text: str, restored: bool) -> None:
    backend = OperatorStateBackend()
    backend.get_list_state(ITEMS).add(1)
    if restored:
        full, backend = backend.full(), OperatorStateBackend()
        backend.apply(full)
    with pytest.raises(ValueError, match=text):
        ask(backend)


def test_descriptors_of_other_kinds() -> None:
    backend = OperatorStateBackend()
    value: Any = ValueStateDescriptor("v", INT)
    with pytest.raises(TypeError, match="takes a ListStateDescriptor here, not ValueStateDescriptor"):
        backend.get_list_state(value)
    with pytest.raises(TypeError, match="takes a MapStateDescriptor here"):
        backend.get_broadcast_state(value)
    living = ListStateDescriptor("l", INT)
    living.enable_time_to_live(StateTtlConfig.new_builder(Time.seconds(1)).build())
    with pytest.raises(ValueError, match="state 'l': operator state has no time to live"):
        backend.get_union_list_state(living)


CHANGES: list[Callable[[Any], Any]] = [
    lambda view: view.put(1, 2),
    lambda view: view.put_all({1: 2}),
    lambda view: view.remove(1),
    lambda view: view.clear(),
    lambda view: view.__setitem__(1, 2),
    lambda view: view.__delitem__(1),
]


@pytest.mark.parametrize("change", CHANGES)
def test_a_view_can_only_be_read(change: Callable[[Any], Any]) -> None:
    states = States()
    states.rules.put(1, 1)
    view = states.backend.read_only("rules")
    with pytest.raises(RuntimeError, match=r"on broadcast state 'rules': only process_broadcast_element may"):
        change(view)
    assert dict(states.rules.items()) == {1: 1}
