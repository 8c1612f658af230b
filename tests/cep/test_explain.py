"""``CEP.explain``: the matches are those of the operator, and each partial match that ends has its reason."""

from __future__ import annotations

import random
from typing import Any

import pytest
from tests.cep.answers import answer_of, as_bag
from tests.cep.cases import TS, events_of, indexes, pattern_of
from tests.flink.cep import kept

from millrace.cep import CEP, AfterMatchSkipStrategy, Explanation, Pattern, Why
from millrace.common.time import Time
from millrace.common.typeinfo import Types
from millrace.runtime.cep.key_state import KeyState, store
from millrace.runtime.cep.nfa import Nfa

Event = tuple[str, int]


def is_(name: str) -> Any:
    def named(event: Event) -> bool:
        return event[0] == name

    return named


def explain(pattern: Pattern, names: str, until: int | None = None) -> Explanation:
    """The events have a millisecond each."""
    events = [(name, time) for time, name in enumerate(names, 1)]
    return CEP.explain(events, pattern, lambda event: event[1], until=until)


def ends(found: Explanation) -> list[tuple[int, Why]]:
    return [(step.time, ended.why) for step in found.steps for ended in step.ended]


def test_a_match_and_what_is_left() -> None:
    found = explain(Pattern.begin("a").where(is_("a")).followed_by_any("b").where(is_("b")), "acb")
    assert found.matches == [{"a": [("a", 1)], "b": [("b", 3)]}]
    assert [(live.state, live.events) for live in found.live] == [("b", {"a": [("a", 1)]})]
    assert found.steps[0].asked == {"named": True}
    assert not found.ended


REASONS: dict[str, tuple[Pattern, str, int | None, list[tuple[int, Why]]]] = {
    "strict": (Pattern.begin("a").where(is_("a")).next("b").where(is_("b")), "acb", None, [(2, Why.STRICT)]),
    "not": (
        Pattern.begin("a").where(is_("a")).not_followed_by("c").where(is_("c")).followed_by("b").where(is_("b")),
        "axcb",
        None,
        [(3, Why.NOT_PATTERN)],
    ),
    "within": (
        Pattern.begin("a").where(is_("a")).followed_by("b").where(is_("b")).within(Time(2)),
        "axxb",
        None,
        [(3, Why.WITHIN)],
    ),
    "only time passes": (
        Pattern.begin("a").where(is_("a")).followed_by("b").where(is_("b")).within(Time(20)),
        "a",
        30,
        [(30, Why.WITHIN)],
    ),
    "skip": (
        Pattern.begin("a", AfterMatchSkipStrategy.skip_past_last_event())
        .where(is_("a"))
        .followed_by("b")
        .where(is_("b")),
        "aab",
        None,
        [(3, Why.SKIP)],
    ),
    "until": (
        Pattern.begin("a").where(is_("a")).next("b").where(is_("b")).one_or_more().until(is_("u")).next("c")
        .where(is_("c")),
        "abbux",
        None,
        [(2, Why.UNTIL)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", [name for name in REASONS if name != "until"])
def test_each_end_has_its_reason(name: str) -> None:
    pattern, names, until, wanted = REASONS[name]
    assert ends(explain(pattern, names, until)) == wanted


def test_a_loop_that_is_over_says_so() -> None:
    pattern, names, _, _ = REASONS["until"]
    found = explain(pattern, names)
    assert (4, Why.UNTIL) in ends(found)


def test_the_text_tells_what_was_needed() -> None:
    pattern, names, _, _ = REASONS["strict"]
    text = str(explain(pattern, names))
    assert "2: ('c', 2)" in text
    assert "[a: ('a', 1)] in b ended: strict contiguity: take b needs named" in text


def test_expressions_are_shown_as_they_were_written() -> None:
    kind = Types.TUPLE([Types.STRING(), Types.INT()])
    pattern = Pattern.begin("a").where("f0 = 'a'")
    found = CEP.explain([("a", 1), ("b", 2)], pattern, lambda each: each[1], type_info=kind)
    assert [step.asked for step in found.steps] == [{"f0 = 'a'": True}, {"f0 = 'a'": False}]


def test_only_events_of_the_key_are_looked_at() -> None:
    events = [("x", 1), ("y", 2), ("x", 3)]
    found = CEP.explain(events, Pattern.begin("any"), lambda each: each[1], lambda each: each[0], "x")
    assert [step.event for step in found.steps] == [("x", 1), ("x", 3)]


def test_matches_are_those_of_the_operator_in_recorded_cases() -> None:
    cases = [
        case
        for file in ("plain", "automaton")
        for case in kept.cases(file)
        if not case["keyed"] and "refused" not in case["answer"] and case.get("delay") is None
        and case.get("time", "event") == "event" and not case.get("comparator")
    ]  # fmt: skip
    assert len(cases) > 100
    for case in random.Random(5).sample(cases, 60):
        found = CEP.explain(
            events_of(case), pattern_of(case["pattern"], case.get("skip")), lambda event: event[TS], until=2**63 - 1
        )
        told = [[indexes(match), 0] for match in found.matches]
        wanted = [[match, 0] for match, _ in answer_of(case)["matches"]]
        assert as_bag(told) == as_bag(wanted), case["id"]


def test_partial_matches_of_a_stored_state_can_be_read() -> None:
    pattern = Pattern.begin("a").where(is_("a")).followed_by("b").where(is_("b"))
    nfa, state = Nfa(pattern.describe()), KeyState()
    for time, name in enumerate("aca"):
        nfa.advance(state, (name, time), time, 0)
    found = CEP.partial_matches(store(state), pattern)
    assert [each.events for each in found] == [{"a": [("a", 0)]}, {"a": [("a", 2)]}]
