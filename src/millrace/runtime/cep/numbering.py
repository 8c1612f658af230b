"""Conditions as numbered tests: what is combined is taken apart, and the same condition has one number."""

from __future__ import annotations

from millrace.runtime.cep.automaton import Test
from millrace.runtime.cep.conditions import (
    AndCondition,
    IterativeCondition,
    NotCondition,
    OrCondition,
    SimpleCondition,
)
from millrace.runtime.cep.description import Step


class Numbering:
    """The conditions of a pattern, each with its number; simple ones come first."""

    def __init__(self, steps: tuple[Step, ...]) -> None:
        found: dict[int, IterativeCondition] = {}
        for condition in _conditions(steps):
            found[id(condition)] = condition
        simple = [each for each in found.values() if isinstance(each, SimpleCondition)]
        others = [each for each in found.values() if not isinstance(each, SimpleCondition)]
        self.conditions = (*simple, *others)
        self.simple = len(simple)
        self._numbers = {id(condition): number for number, condition in enumerate(self.conditions)}

    def test(self, condition: IterativeCondition | None) -> Test:
        """The test that a condition is; None is always true."""
        if condition is None:
            return True
        if isinstance(condition, AndCondition):
            return ("and", self.test(condition.left), self.test(condition.right))
        if isinstance(condition, OrCondition):
            return ("or", self.test(condition.left), self.test(condition.right))
        if isinstance(condition, NotCondition):
            return ("not", self.test(condition.negated))
        return self._numbers[id(condition)]


def _conditions(steps: tuple[Step, ...]) -> list[IterativeCondition]:
    """The conditions of all steps that are not made of others."""
    found: list[IterativeCondition] = []
    for step in steps:
        for condition in (step.condition, step.until):
            if condition is not None:
                found += _leaves(condition)
        found += _conditions(step.group or ())
    return found


def _leaves(condition: IterativeCondition) -> list[IterativeCondition]:
    if isinstance(condition, (AndCondition, OrCondition)):
        return [*_leaves(condition.left), *_leaves(condition.right)]
    if isinstance(condition, NotCondition):
        return _leaves(condition.negated)
    return [condition]
