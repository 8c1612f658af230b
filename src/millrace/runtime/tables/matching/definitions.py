"""DEFINE: conditions on the row alone are computed for whole batches, conditions on the match row by row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from millrace.relational.functions.evaluate import Evaluator
from millrace.relational.rex import (
    Classifier,
    MatchNumber,
    MatchPart,
    Navigation,
    Rex,
    conjunction,
    conjuncts,
    rewrite,
    walk,
)
from millrace.runtime.cep.backtracking import Definitions, Row, Way
from millrace.runtime.tables.matching.conditions import Evaluate, compiled
from millrace.runtime.tables.matching.parts import MASK, Kept, Labels, Look, Parts

Failures = dict[int, str]
"""number of a variable -> why its condition has no value for a row"""


class Defined(Definitions):
    """The definitions of all variables.

    :param conditions: the condition of each variable.
    """

    def __init__(self, conditions: dict[str, Rex], labels: Labels, kept: Kept, evaluate: Evaluate) -> None:
        self.names = list(dict.fromkeys(labels.names))
        self._number = [self.names.index(name) for name in labels.names]
        self._parts = Parts(kept, labels)
        self._alone: list[Rex | None] = []
        rests: list[Rex | None] = []
        for name in self.names:
            alone, rest = _divided(conditions.get(name), partial(_is_alone, labels.of(name) or (), labels))
            self._alone.append(alone)
            rests.append(None if rest is None else self._parts.settle(rest))
        self._rests = [None if rest is None else compiled(rest, self._parts.found, evaluate) for rest in rests]
        self.looks_back = any(not _is_near(part.expression) for part in self._parts.found)
        self.nothing = self._parts.aggregates.nothing
        self.rest_of: Sequence[Look | None] = [self._rests[number] for number in self._number]
        """for each label, the part of its condition that depends on the match; None: there is none"""

    def settle(self) -> None:
        """Called when all expressions are known."""
        self.remember = self._parts.aggregates.settle()

    def masks(self, evaluator: Evaluator, length: int) -> list[Any]:
        """For each row of a batch a number with a bit for each variable whose condition on the row alone is TRUE; if a
        condition fails for a row, with the reasons."""
        masks = [0] * length
        failures: dict[int, Failures] = {}
        for number, condition in enumerate(self._alone):
            bit = 1 << number
            if condition is None:
                masks = [mask | bit for mask in masks]
                continue
            try:
                values = evaluator.column(condition).to_pylist()
            except (ValueError, ArithmeticError) as problem:
                values = _one_by_one(evaluator, condition, length, number, failures, problem)
            masks = [mask | bit if value else mask for mask, value in zip(masks, values)]
        for row, reasons in failures.items():
            masks[row] = (masks[row], reasons)  # type: ignore[call-overload]
        return masks

    def fits_alone(self, label: int, row: Row) -> bool:
        """Whether the condition on the row alone allows this label.

        :raises ValueError: the condition fails.
        """
        mask = row[MASK]
        number = self._number[label]
        if mask.__class__ is tuple:
            if number in mask[1]:
                raise ValueError(f"the condition of {self.names[number]} in DEFINE: {mask[1][number]}")
            mask = mask[0]
        return bool(mask >> number & 1)

    def take(self, symbol: int, rows: Sequence[Row], at: int, way: Way, number: int) -> tuple[bytes, Any] | None:
        row = rows[at]
        if not self.fits_alone(symbol, row):
            return None
        labels = way.labels + bytes((symbol,))
        memory = self.remember(way.memory, row, symbol) if way.memory else way.memory
        rest = self.rest_of[symbol]
        if rest is not None and rest(rows, at, labels, memory, number) is not True:
            return None
        return labels, memory


def _one_by_one(
    evaluator: Evaluator,
    condition: Rex,
    length: int,
    number: int,
    failures: dict[int, Failures],
    problem: Exception,
) -> list[Any]:
    values: list[Any] = []
    for row in range(length):
        try:
            values += evaluator.some_rows([row], condition).to_pylist()
        except (ValueError, ArithmeticError) as error:
            # This row may not be tested as one of the variable.
            failures.setdefault(row, {})[number] = str(error) or str(problem)
            values.append(False)
    return values


def _divided(condition: Rex | None, is_alone: Callable[[MatchPart], bool]) -> tuple[Rex | None, Rex | None]:
    """(condition on the row alone, over its columns; the rest of the condition, over parts); None where there is
    none.
    """
    alone, rest = [], []
    for each in [] if condition is None else conjuncts(condition):
        if all(not isinstance(part, MatchPart) or is_alone(part) for part in walk(each)):
            alone.append(rewrite(each, lambda part: part.expression if isinstance(part, Navigation) else None))
        else:
            rest.append(each)
    return conjunction(alone) if alone else None, conjunction(rest) if rest else None


def _is_alone(own: tuple[int, ...], labels: Labels, part: MatchPart) -> bool:
    """Whether a part is a value of the tested row."""
    if not isinstance(part, Navigation) or part.first or part.offset or part.shift:
        return False
    if isinstance(part.expression, Classifier):
        return False
    wanted = labels.of(part.variable)
    return wanted is None or set(own) <= set(wanted)


def _is_near(part: MatchPart) -> bool:
    """Whether a part is the same for all matches that the row may belong to."""
    if isinstance(part, MatchNumber):
        return True
    if isinstance(part, Classifier):
        return part.variable is None
    return isinstance(part, Navigation) and part.is_current and not isinstance(part.expression, Classifier)
