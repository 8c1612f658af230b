"""The rules in docs/guide/lint.md are those that there are."""

from __future__ import annotations

import pytest
from scripts.lint_rules import COMMAND, PAGE, with_rules


def test_the_page_is_up_to_date() -> None:
    page = PAGE.read_text("utf-8")
    assert page == with_rules(page), f"run `{COMMAND}` and look at what changed"


def test_a_page_without_a_place_is_refused() -> None:
    with pytest.raises(ValueError, match="has 0 places for the rules"):
        with_rules("# Lint\n")
