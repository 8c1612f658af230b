"""Patterns find what Flink found in the recorded cases: as often, at the same time, in the order for one key."""

from __future__ import annotations

import pytest
from tests.cep.answers import answer_of, difference, in_order
from tests.flink.cep import kept
from tests.flink.cep.draw import Case

ANSWERED = ("plain", "automaton", "facts")
RESTORED = 16
"""every so many cases are run with a restore after each event, too"""


def profile_of(case: Case) -> str:
    return str(case["id"].rsplit("-", 1)[0])


def groups() -> list[tuple[str, str]]:
    """(file, profile); facts in one."""
    found = {(file, profile_of(case)) for file in ("plain", "automaton") for case in kept.cases(file)}
    return [*sorted(found), ("facts", "fact")]


def cases_of(file: str, profile: str) -> list[Case]:
    return [case for case in kept.cases(file) if file == "facts" or profile_of(case) == profile]


@pytest.mark.parametrize(("file", "profile"), groups())
def test_a_recorded_case_is_answered_as_by_flink(file: str, profile: str) -> None:
    told = []
    for case in cases_of(file, profile):
        ours, theirs = answer_of(case), case["answer"]
        different = difference(case, ours)
        if not different and "refused" not in theirs and not case["keyed"]:
            for part in ("matches", "timeouts"):
                if in_order(ours[part]) != in_order(theirs[part]):
                    different = f"{part} in another order: Flink {theirs[part]}, we {ours[part]}"
        if different:
            told.append(f"{case['id']} {case['pattern']}\n  {different}")
    assert not told, "\n".join(told)


@pytest.mark.parametrize("file", ANSWERED)
def test_a_restore_after_every_event_changes_nothing(file: str) -> None:
    for case in kept.cases(file)[::RESTORED]:
        if "refused" not in case["answer"]:
            assert not difference(case, answer_of(case, restoring=True)), case["id"]


def test_what_flink_refuses_is_refused() -> None:
    told = [(case["id"], difference(case, answer_of(case))) for case in kept.cases("refused")]
    assert [each for each in told if each[1]] == []


def test_a_refusal_says_what_is_wrong() -> None:
    """An error of ours, not one that Python raised somewhere inside."""
    for case in kept.cases("refused"):
        text = answer_of(case)["text"]
        assert not text.startswith(("AttributeError", "IndexError", "KeyError", "NameError", "RecursionError")), text


def test_there_are_enough_cases() -> None:
    """Those that do not follow from enumeration are the ones that need Flink."""
    assert len(kept.cases("plain")) + len(kept.cases("automaton")) >= 600
    assert len(kept.cases("automaton")) >= 300
    assert len(kept.cases("refused")) >= 60
