"""Chains of events: what they share, and their order."""

from __future__ import annotations

from typing import Any

from millrace.runtime.cep.key_state import Link, events_by_name, links_of, path


def chain(before: Link | None, *events: str) -> Link:
    link: Any = before
    for event in events:
        link = (link, event[0], event, len(event), 0)
    assert link is not None
    return link


def test_a_path_begins_with_the_first_event() -> None:
    assert [each[2] for each in path(chain(None, "a1", "b2", "b3"))] == ["a1", "b2", "b3"]


def test_a_match_names_steps_in_the_order_of_their_first_events() -> None:
    found = events_by_name(chain(None, "b1", "a2", "b3"))
    assert list(found.items()) == [("b", ["b1", "b3"]), ("a", ["a2"])]


def test_shared_links_come_once_and_behind_those_that_they_lead_back_to() -> None:
    shared = chain(None, "a1", "b2")
    other = chain(None, "a9")
    found = links_of([chain(shared, "c3", "c4"), chain(shared, "d5"), other, shared])
    assert [each[2] for each in found] == ["a1", "b2", "c3", "c4", "d5", "a9"]
    places = {id(each): place for place, each in enumerate(found)}
    assert all(each[0] is None or places[id(each[0])] < place for place, each in enumerate(found))
    assert links_of([]) == []


def test_a_chain_may_be_long() -> None:
    long = chain(None, *[f"b{number}" for number in range(100_000)])
    assert len(path(long)) == len(links_of([long])) == 100_000
