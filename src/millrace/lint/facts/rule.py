"""What a rule is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from millrace.lint.facts.finding import Hit
from millrace.lint.facts.subject import Subject


@dataclass(frozen=True)
class Rule:
    """A kind of mistake. Its examples are its tests, and stand in the documentation."""

    code: str
    """ML001: never given to another rule"""
    name: str
    meaning: str
    """what goes wrong if nothing is done: whole sentences"""
    cure: str
    """what to do, as an order"""
    bad: str
    """lines of a program, behind ``examples.HEAD``, in which the rule finds something"""
    good: str
    """the same mended: no rule finds anything in it"""
    check: Callable[[Subject], Iterator[Hit]]
