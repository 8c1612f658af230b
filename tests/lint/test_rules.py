"""The examples of each rule: it finds something in the one, and no rule finds anything in the other."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.lint.linting import found_in, written

from millrace.lint import RULES, Rule
from millrace.lint.facts import HEAD


def codes(folder: Path, text: str) -> list[str]:
    return [each["code"] for each in found_in(written(folder, HEAD + text), "-p", "2")]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_the_bad_example_triggers_its_rule_only(rule: Rule, tmp_path: Path) -> None:
    assert set(codes(tmp_path, rule.bad)) == {rule.code}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_the_good_example_triggers_none(rule: Rule, tmp_path: Path) -> None:
    assert codes(tmp_path, rule.good) == []


def test_codes_and_names_are_told_apart() -> None:
    assert [rule.code for rule in RULES] == [f"ML{number:03}" for number in range(1, len(RULES) + 1)]
    assert len({rule.name for rule in RULES}) == len(RULES)
