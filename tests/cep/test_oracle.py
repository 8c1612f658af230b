"""The oracle agrees with Flink, and Millrace with the oracle."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tests.cep import oracle
from tests.cep.answers import answer_of
from tests.flink.cep import kept
from tests.flink.cep.draw import PROFILES, Case, Profile, drawn
from tests.flink.cep.tags import tags

LONGEST = 9
"""events of a recorded case that are enumerated"""
DRAWN = 8
"""events of a case that is made up"""
PLAIN = {profile.name: profile for profile in PROFILES if not (profile.greedy or profile.group or profile.window)}
del PLAIN["skips"], PLAIN["processing"]
GROUPS = Profile("groups", stages=(1, 2, 3), group=0.5, nested=0.2, loop=0.2, within=0.2)
SETTINGS = settings(deadline=None, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])


def found(answer: dict[str, Any]) -> set[oracle.Found]:
    return {frozenset((name, tuple(at)) for name, at in match.items()) for match, _ in answer["matches"]}


@pytest.mark.parametrize("file", ["plain", "automaton", "facts"])
def test_the_oracle_agrees_with_flink(file: str) -> None:
    asked = 0
    for case in kept.cases(file):
        if "refused" in case["answer"] or len(case["events"]) > LONGEST or not oracle.answers_for(case):
            continue
        asked += 1
        assert oracle.matches(case) == found(case["answer"]), case["id"]
        if case["time"] == "event":
            assert oracle.late(case) == sorted(case["answer"]["late"]), case["id"]
    assert asked >= {"plain": 100, "automaton": 0, "facts": 10}[file]


@pytest.mark.parametrize("profile", [*PLAIN.values(), GROUPS], ids=lambda profile: profile.name)
@SETTINGS
@given(numbers=st.randoms(use_true_random=False))
def test_millrace_agrees_with_the_oracle(profile: Profile, numbers: random.Random) -> None:
    case = made_up(profile, numbers)
    assume(oracle.answers_for(case))
    answer = answer_of(case)
    assume(answer.get("refused") != "build")
    assert "refused" not in answer, answer
    assert found(answer) == oracle.matches(case), case
    assert sorted(answer["late"]) == oracle.late(case), case


@SETTINGS
@given(numbers=st.randoms(use_true_random=False), strategy=st.sampled_from(["skipToNext", "skipPastLastEvent"]))
def test_what_is_skipped_is_a_part_of_all_matches(numbers: random.Random, strategy: str) -> None:
    """`skipToNext` leaves one match for a first event, `skipPastLastEvent` none that share their time."""
    case = {**made_up(PLAIN["loops"], numbers), "keyed": False}
    assume(oracle.answers_for(case))
    answer = answer_of({**case, "skip": [strategy]})
    assume(answer.get("refused") != "build")
    matches = found(answer)
    assert matches <= oracle.matches(case), case
    spans = sorted((min(at), max(at)) for at in ([i for _, indexes in match for i in indexes] for match in matches))
    starts = [start for start, _ in spans]
    assert len(set(starts)) == len(starts), case
    if strategy == "skipPastLastEvent" and "unordered" not in tags(case):
        assert all(before[1] < after[0] for before, after in itertools.pairwise(spans)), case


def made_up(profile: Profile, numbers: random.Random) -> Case:
    case = drawn(profile, numbers, "made up")
    case["events"] = case["events"][:DRAWN]
    return {**case, "tags": tags(case)}
