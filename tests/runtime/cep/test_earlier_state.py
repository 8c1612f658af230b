"""States that were stored with versioned edges become chains."""

from __future__ import annotations

import marshal
from typing import Any

from millrace.runtime.cep.key_state import load, path


def events_of(link: Any) -> list[Any]:
    return [each[2] for each in path(link)]


def test_a_single_event() -> None:
    state = load(marshal.dumps((3, "a", ("k", 7), 50, 1, 2)))
    ((number, link, first, first_id),) = state.partials
    assert (number, first, first_id, state.time, state.event_number) == (3, 50, 0, 50, 1)
    assert link == (None, "a", ("k", 7), 50, 0)


def test_partial_matches_go_back_along_the_edges_of_their_versions() -> None:
    # Two partial matches share the nodes a1 (0), and c3 (2): one has come there over b2 (1), the other one has not.
    nodes = (
        (0, "a", "a1", 1, 0, 2, ((None, (1,), 2),)),
        (1, "b", "b2", 2, 0, 1, ((0, (1, 0), 1),)),
        (2, "c", "c3", 3, 0, 2, ((1, (1, 0, 0), 1), (0, (1, 1), 1))),
    )
    partials = ((4, (1, 0, 0, 0), 2, 1, 0, 3), (5, (1, 1, 0), 2, 1, 0, 3))
    completed = ((6, (1, 0, 0), 1, 1, 0, 2),)
    state = load(marshal.dumps(((2, 3, 1, 3), partials, completed, nodes)))
    assert [(number, events_of(link)) for number, link, _, _ in state.partials] == [
        (4, ["a1", "b2", "c3"]),
        (5, ["a1", "c3"]),
    ]
    assert events_of(state.completed[0][1]) == ["a1", "b2"]
    first, second = (path(each[1]) for each in state.partials)
    assert first[0] is second[0], "what they have in common is there once"
    assert (state.time, state.event_number, state.kept) == (3, 1, 4)


def test_a_partial_match_whose_events_are_gone_is_left_out() -> None:
    assert load(((2, 3, 1, 3), ((4, (1, 0), 9, 1, 0, 3),), (), ())).idle
