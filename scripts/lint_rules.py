#!/usr/bin/env python
"""Writes the rules into docs/guide/lint.md: what each means, its cure, and its examples.

    make tables

The examples are run by tests/lint/test_rules.py.
"""

from __future__ import annotations

import re
from pathlib import Path

from millrace.lint import RULES, Rule
from millrace.lint.facts import HEAD

PAGE = Path(__file__).parents[1] / "docs" / "guide" / "lint.md"
COMMAND = "make tables"
_PART = re.compile(r"(?<=<!-- rules -->\n).*?(?=<!-- end of rules -->)", re.DOTALL)
_TESTED = "<!-- run: no, tests/lint/test_rules.py looks at it without running it -->"


def rules() -> str:
    """The table of all rules, then a part for each."""
    table = ["| rule | name | cure |", "|---|---|---|"]
    table += [f"| [{rule.code}](#{_anchor(rule)}) | {rule.name} | {rule.cure} |" for rule in RULES]
    head = f"\nThe examples go on from this:\n\n{_TESTED}\n```python\n{HEAD}```\n"
    return "\n".join([*table, head, *map(_part, RULES)])


def _anchor(rule: Rule) -> str:
    return f"{rule.code}-{rule.name}".lower()


def _part(rule: Rule) -> str:
    cure = rule.cure[0].upper() + rule.cure[1:]
    return (
        f"### {rule.code} {rule.name}\n\n{rule.meaning}\n\n{_TESTED}\n```python\n{rule.bad}```\n\n{cure}:\n\n"
        f"{_TESTED}\n```python\n{rule.good}```\n"
    )


def with_rules(page: str) -> str:
    """The page with the rules as they are.

    :raises ValueError: it has no place for them.
    """
    found, number = _PART.subn(lambda _: rules(), page)
    if number != 1:
        raise ValueError(f"{PAGE} has {number} places for the rules")
    return found


def main() -> None:
    PAGE.write_text(with_rules(PAGE.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
