"""The state of a key on its way into the stored form and back, and through pickle."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from tests.cep.cases import events_of, pattern_of, read

from millrace.cep import Pattern
from millrace.runtime.cep.key_state import KeyState, load, store
from millrace.runtime.cep.nfa import Nfa


def content(state: KeyState) -> tuple[Any, ...]:
    """All of it; links that are shared have one number."""
    links = state.links()
    places = {id(link): place for place, link in enumerate(links)}
    flat = [(None if link[0] is None else places[id(link[0])], *link[1:]) for link in links]
    both = [[(each[0], places[id(each[1])], *each[2:]) for each in some] for some in (state.partials, state.completed)]
    return state.time, state.event_number, *both, flat


class Priced:
    """An event that is no plain data."""

    def __init__(self, price: int) -> None:
        self.price = price

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Priced) and self.price == other.price

    __hash__ = None  # type: ignore[assignment]


@pytest.mark.parametrize("case", read("flink_examples.jsonl"), ids=lambda case: case["id"])
def test_state_survives_every_event(case: dict[str, Any]) -> None:
    nfa = Nfa(pattern_of(case["pattern"], case["skip"]).describe())
    state = KeyState()
    for event in events_of(case):
        nfa.prune(state, event[4])
        nfa.advance(state, event, event[4], 0)
        restored = load(store(state))
        assert content(restored) == content(state)
        assert content(pickle.loads(pickle.dumps(state))) == content(state)
        state = restored


def test_one_plain_event_is_stored_in_few_bytes() -> None:
    nfa = Nfa(Pattern.begin("a").next("b").describe())
    state = KeyState()
    nfa.advance(state, (376, "e", 48, 24691), 24691, 0)
    stored = store(state)
    assert isinstance(stored, bytes)
    assert len(stored) < 64
    assert content(load(stored)) == content(state)


def test_events_of_classes_are_stored_as_they_are() -> None:
    nfa = Nfa(Pattern.begin("a").next("b").describe())
    state = KeyState()
    nfa.advance(state, Priced(3), 5, 0)
    assert content(load(store(state))) == content(state)


def test_a_large_state_is_not_packed_again_for_every_event() -> None:
    nfa = Nfa(Pattern.begin("a").one_or_more().next("b").where(lambda event: False).describe())
    state = KeyState()
    for event in range(20):
        nfa.advance(state, event, event, 0)
    assert store(state) is state
    assert content(pickle.loads(pickle.dumps(state))) == content(state)
