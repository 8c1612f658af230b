"""Whole cases recorded from Flink: equal in their order, however the input is cut and interrupted."""

from __future__ import annotations

from typing import Any

import pytest
from tests.cep.cases import harness_of, read, script_of

from millrace.testing import check_variants

CASES = read("flink_examples.jsonl")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_answer_is_that_of_flink(case: dict[str, Any]) -> None:
    found = check_variants(lambda: harness_of(case), script_of(case), seed=1)
    answer = case["answer"]
    assert [list(value) for value in found.values] == answer["matches"]
    assert [list(each.value) for each in found.sides.get("timeouts", [])] == answer["timeouts"]
    assert [each.value[0] for each in found.sides.get("late", [])] == answer["late"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_answer_is_the_same_when_many_partial_matches_are_told_apart(
    case: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("millrace.runtime.cep.nfa.MANY", 1)
    found = check_variants(lambda: harness_of(case), script_of(case), random_runs=1)
    assert [list(value) for value in found.values] == case["answer"]["matches"]
