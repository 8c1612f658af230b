"""The values that depend on the rows of a match, as functions of the rows and their labels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pyarrow as pa

from millrace.relational.rex import (
    Classifier,
    MatchAggregate,
    MatchNumber,
    MatchPart,
    MatchRowtime,
    Navigation,
    Ref,
    Rex,
    rewrite,
)
from millrace.relational.type_table import arrow_type
from millrace.runtime.cep.backtracking import Row
from millrace.runtime.functions.runner import FunctionRunner
from millrace.runtime.tables.columns.row_codec import cell_column, cell_values
from millrace.runtime.tables.matching.aggregates import Memory, Running, running

Look = Callable[[Sequence[Row], int, bytes, Memory, int], Any]
"""(rows, index of the match's last row so far, its labels, memories of the aggregates, number of the match) -> a value
as a cell, or the memory of an aggregate"""

TIME, MASK, FIRST_CELL = 0, 1, 2
"""What a stored row begins with: its time (ms), and a bit mask of the variables that the row alone allows."""


class Kept:
    """The content of stored rows: values of expressions over the columns, and cells of aggregates."""

    def __init__(self, functions: FunctionRunner) -> None:
        self.functions = functions
        self.expressions: list[Rex] = []
        self.aggregates: list[Running] = []
        self._known: list[MatchAggregate] = []

    def cell(self, expression: Rex) -> int:
        """The index of an expression's value in a stored row. To be called for all expressions before the first row is
        made."""
        if expression not in self.expressions:
            self.expressions.append(expression)
        return FIRST_CELL + self.expressions.index(expression)

    def aggregate(self, part: MatchAggregate) -> int:
        """The number of an aggregate; its cell is at ``FIRST_CELL`` plus the number of expressions plus this number."""
        for number, known in enumerate(self._known):
            if known.call == part.call:
                return number
        self._known.append(part)
        self.aggregates.append(running(part.call, self.functions))
        return len(self.aggregates) - 1


class Part:
    """One distinct part of definitions or measures."""

    def __init__(self, expression: MatchPart, look: Look, values: Callable[[Sequence[Any]], pa.Array]) -> None:
        self.expression = expression
        self.look = look
        self.values = values
        """converts several results of ``look`` to a column"""
        self.is_final = bool(getattr(expression, "final", False)) or isinstance(expression, MatchRowtime)


class Labels:
    """The labels of rows: symbols of the automaton, and the variables and subsets that they belong to."""

    def __init__(self, symbols: Sequence[str], subsets: Iterable[tuple[str, tuple[str, ...]]]) -> None:
        self.names = tuple(symbols)
        """name of the variable for each label"""
        self._members = dict(subsets)

    def of(self, variable: str | None) -> tuple[int, ...] | None:
        """The labels of a variable or subset; None: all labels."""
        if variable is None:
            return None
        members = self._members.get(variable, (variable,))
        return tuple(label for label, name in enumerate(self.names) if name in members)


class Aggregates:
    """The aggregates of definitions, or of measures, and how a row changes their memory."""

    def __init__(self, kept: Kept) -> None:
        self._kept = kept
        self._numbers: list[tuple[int, tuple[int, ...] | None]] = []

    @property
    def nothing(self) -> Memory:
        return tuple(self._kept.aggregates[number].nothing for number, _ in self._numbers)

    def place(self, part: MatchAggregate, labels: tuple[int, ...] | None) -> tuple[int, Running]:
        """(index in the memory, aggregate) for an aggregate over the rows with these labels."""
        number = self._kept.aggregate(part)
        if (number, labels) not in self._numbers:
            self._numbers.append((number, labels))
        return self._numbers.index((number, labels)), self._kept.aggregates[number]

    def settle(self) -> Callable[[Memory, Row, int], Memory]:
        """(memory, row, its label) -> the memory with the row. To be called when all expressions are known."""
        first = FIRST_CELL + len(self._kept.expressions)
        steps = [(self._kept.aggregates[number].add, first + number, labels) for number, labels in self._numbers]

        def add(memory: Memory, row: Row, label: int) -> Memory:
            return tuple(
                [
                    one(old, row[cell]) if labels is None or label in labels else old
                    for old, (one, cell, labels) in zip(memory, steps)
                ]
            )

        return add


class Parts:
    """The distinct parts of some expressions, which then refer to them as columns."""

    def __init__(self, kept: Kept, labels: Labels) -> None:
        self.found: list[Part] = []
        self.aggregates = Aggregates(kept)
        self._kept = kept
        self._labels = labels

    def settle(self, expression: Rex) -> Rex:
        """The expression over the values of the parts."""

        def part(each: Rex) -> Rex | None:
            return Ref(each.type, self._place(each)) if isinstance(each, MatchPart) else None

        return rewrite(expression, part)

    def _place(self, expression: MatchPart) -> int:
        for place, known in enumerate(self.found):
            if known.expression == expression:
                return place
        self.found.append(self._part(expression))
        return len(self.found) - 1

    def _part(self, expression: MatchPart) -> Part:
        if isinstance(expression, MatchAggregate):
            place, how = self.aggregates.place(expression, self._labels.of(expression.variable))
            return Part(expression, lambda rows, at, labels, memory, number: memory[place], how.values)
        kind = arrow_type(expression.type)
        return Part(expression, self._look(expression), lambda values: cell_column(values, kind))

    def _look(self, expression: MatchPart) -> Look:
        if isinstance(expression, MatchNumber):
            return lambda rows, at, labels, memory, number: number
        if isinstance(expression, Classifier):
            return _classifier(self._labels, self._labels.of(expression.variable))
        if isinstance(expression, MatchRowtime):
            cell = self._kept.cell(expression.time)
            return lambda rows, at, labels, memory, number: rows[at if labels else at + 1][cell]
        assert isinstance(expression, Navigation)
        find = _finder(expression, self._labels.of(expression.variable))
        if isinstance(expression.expression, Classifier):
            names = self._labels.names

            def name(rows: Sequence[Row], at: int, labels: bytes, memory: Memory, number: int) -> Any:
                place = find(labels)
                return names[labels[place]] if place is not None and 0 <= place < len(labels) else None

            return name
        return _value(find, self._kept.cell(expression.expression))


Find = Callable[[bytes], "int | None"]
"""labels -> index of a row, counted from the first row of the match; None: there is none"""


def _value(find: Find, cell: int) -> Look:
    def look(rows: Sequence[Row], at: int, labels: bytes, memory: Memory, number: int) -> Any:
        place = find(labels)
        if place is None:
            return None
        row = at + 1 - len(labels) + place
        return rows[row][cell] if 0 <= row < len(rows) else None

    return look


def _finder(part: Navigation, wanted: tuple[int, ...] | None) -> Find:
    offset, shift = part.offset, part.shift
    if wanted is None:
        if part.first:
            return lambda labels: offset + shift if offset < len(labels) else None
        return lambda labels: len(labels) - 1 - offset + shift if offset < len(labels) else None
    if len(wanted) == 1:
        find = _nth_first if part.first else _nth_last
        (label,) = wanted
        return lambda labels: find(labels, label, offset, shift)
    members = frozenset(wanted)

    def among(labels: bytes) -> int | None:
        places = [place for place, each in enumerate(labels) if each in members]
        if offset >= len(places):
            return None
        return places[offset if part.first else -1 - offset] + shift

    return among


def _nth_last(labels: bytes, label: int, offset: int, shift: int) -> int | None:
    place = labels.rfind(label)
    while offset and place >= 0:
        place = labels.rfind(label, 0, place)
        offset -= 1
    return None if place < 0 else place + shift


def _nth_first(labels: bytes, label: int, offset: int, shift: int) -> int | None:
    place = labels.find(label)
    while offset and place >= 0:
        place = labels.find(label, place + 1)
        offset -= 1
    return None if place < 0 else place + shift


def _classifier(labels: Labels, wanted: tuple[int, ...] | None) -> Look:
    names = labels.names

    def look(rows: Sequence[Row], at: int, given: bytes, memory: Memory, number: int) -> Any:
        for label in reversed(given):
            if wanted is None or label in wanted:
                return names[label]
        return None

    return look


def value_of(part: Part, seen: Any) -> Any:
    """A single result of a part as the value of a cell."""
    return cell_values(part.values([seen]))[0]
