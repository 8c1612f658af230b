"""Patterns of MATCH_RECOGNIZE, and the expressions that only it has: values of the rows of a match."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from millrace.relational.rex import AggCall, Rex
from millrace.util.record import Record

# -- patterns ---------------------------------------------------------------------------------------------------------


class Pattern(Record):
    """Base of all parts of a pattern."""

    @property
    def parts(self) -> tuple[Pattern, ...]:
        return ()


class Variable(Pattern):
    """One row that its definition takes."""

    name: str

    def __str__(self) -> str:
        return self.name


class _Several(Pattern):
    items: tuple[Pattern, ...]

    @property
    def parts(self) -> tuple[Pattern, ...]:
        return self.items


class Sequence(_Several):
    """One after the other. Without items it takes no row."""

    def __str__(self) -> str:
        return " ".join(_in_brackets(each, Sequence, Alternation) for each in self.items) or "()"


class Alternation(_Several):
    """One of these; the first one that fits is preferred."""

    def __str__(self) -> str:
        return " | ".join(_in_brackets(each, Alternation) for each in self.items)


class Permutation(_Several):
    """PERMUTE: all of these patterns in any order; the order in the text is preferred, then the order of their
    positions."""

    def __str__(self) -> str:
        return f"PERMUTE({', '.join(map(str, self.items))})"


class _Around(Pattern):
    inner: Pattern

    @property
    def parts(self) -> tuple[Pattern, ...]:
        return (self.inner,)


class Exclusion(_Around):
    """Rows that are a part of the match, and are not given out by ALL ROWS PER MATCH."""

    def __str__(self) -> str:
        return f"{{- {self.inner} -}}"


class Repetition(_Around):
    """A pattern from ``low`` to ``high`` times (None: any number): as often as possible, or as rarely if it is
    reluctant."""

    low: int
    high: int | None
    reluctant: bool = False

    def __str__(self) -> str:
        inner = _in_brackets(self.inner, Sequence, Alternation, Repetition)
        return f"{inner}{_QUANTIFIERS.get((self.low, self.high)) or self._bounds()}{'?' * self.reluctant}"

    def _bounds(self) -> str:
        if self.low == self.high:
            return f"{{{self.low}}}"
        return f"{{{self.low},{'' if self.high is None else self.high}}}"


_QUANTIFIERS = {(0, None): "*", (1, None): "+", (0, 1): "?"}


def _in_brackets(part: Pattern, *kinds: type[Pattern]) -> str:
    text = str(part)
    return f"({text})" if isinstance(part, kinds) and text != "()" else text


def parts_of(pattern: Pattern) -> Iterator[Pattern]:
    """The pattern and everything in it, outside first."""
    yield pattern
    for each in pattern.parts:
        yield from parts_of(each)


def variables_of(pattern: Pattern) -> list[str]:
    """The variables in the order in which they are written, each once."""
    return list(dict.fromkeys(each.name for each in parts_of(pattern) if isinstance(each, Variable)))


# -- values of a match ------------------------------------------------------------------------------------------------


class MatchPart(Rex):
    """Base of what depends on the rows of a match. While it is matched, and in RUNNING measures, these are the rows so
    far with the one that is looked at; else all."""


class Navigation(MatchPart):
    """FIRST, LAST, PREV, NEXT: a value of one row of a match. That row is the first or last one of a variable (or of
    all rows), moved by ``offset`` rows of the variable, then by ``shift`` rows of the partition.

    NULL if there is no such row.
    """

    expression: Rex
    """over the columns of that row; or a ``Classifier``: the variable that has it"""
    variable: str | None = None
    """or a subset; None: all rows of the match"""
    first: bool = False
    offset: int = 0
    """how many rows after the first, or before the last"""
    shift: int = 0
    """PREV (below 0) and NEXT: how many rows on, within the partition"""
    final: bool = False

    @property
    def children(self) -> tuple[Rex, ...]:
        return (self.expression,)

    def with_children(self, children: tuple[Rex, ...]) -> Rex:
        return replace(self, expression=children[0])

    @property
    def is_current(self) -> bool:
        """Whether the row is the current one, or at a fixed distance from it."""
        return self.variable is None and not self.first and self.offset == 0 and not self.final


class MatchAggregate(MatchPart):
    """An aggregate over the rows that a variable has, or over all."""

    call: AggCall
    variable: str | None = None
    final: bool = False

    @property
    def children(self) -> tuple[Rex, ...]:
        return tuple(self.call.inputs())

    def with_children(self, children: tuple[Rex, ...]) -> Rex:
        given = iter(children)
        return replace(self, call=self.call.map(lambda _: next(given)))


class Classifier(MatchPart):
    """The variable that the last row has, or the last row of a subset."""

    variable: str | None = None
    final: bool = False


class MatchNumber(MatchPart):
    """The number of the match in its partition, from 1 on."""


class MatchRowtime(MatchPart):
    """The time of the last row of the match; of an empty one that of the row where it was found."""

    time: Rex

    @property
    def children(self) -> tuple[Rex, ...]:
        return (self.time,)

    def with_children(self, children: tuple[Rex, ...]) -> Rex:
        return replace(self, time=children[0])
