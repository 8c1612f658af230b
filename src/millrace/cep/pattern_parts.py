"""The parts of a pattern's steps: conditions, ``Quantifier``, and ``AfterMatchSkipStrategy``."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

from millrace.runtime.cep.description import (
    Context,
    Contiguity,
    FunctionCondition,
    IterativeCondition,
    IterativeFunctionCondition,
    MalformedPatternException,
    Skip,
    SkipKind,
    Times,
)
from millrace.runtime.cep.description import Quantifier as Described

ConsumingStrategy = Contiguity
"""Flink's name for the contiguity: which events may lie between two that match"""


class QuantifierProperty(Enum):
    """A property of a quantifier.

    >>> Pattern.begin("a").one_or_more().get_quantifier().has_property(QuantifierProperty.LOOPING)
    True
    """

    SINGLE = "SINGLE"
    LOOPING = "LOOPING"
    TIMES = "TIMES"
    OPTIONAL = "OPTIONAL"
    GREEDY = "GREEDY"


@dataclass(frozen=True)
class Quantifier:
    """How often one pattern repeats. Methods return another quantifier, or raise if the combination is not allowed.

        >>> quantifier = Pattern.begin("a").one_or_more().optional().get_quantifier()
        >>> quantifier.has_property(QuantifierProperty.OPTIONAL)
        True

    :raises MalformedPatternException: two things that do not go together.
    """

    pattern: str
    """the pattern's name, for error messages"""
    consuming_strategy: Contiguity
    described: Described = field(default_factory=Described)

    @property
    def properties(self) -> frozenset[QuantifierProperty]:
        """All properties of the quantifier.

        >>> sorted(each.name for each in Pattern.begin("a").one_or_more().get_quantifier().properties)
        ['LOOPING']
        """
        described = self.described
        kind = QuantifierProperty.SINGLE
        if described.times is not None:
            kind = QuantifierProperty.LOOPING if described.looping else QuantifierProperty.TIMES
        found = {kind}
        if described.optional:
            found.add(QuantifierProperty.OPTIONAL)
        if described.greedy:
            found.add(QuantifierProperty.GREEDY)
        return frozenset(found)

    def has_property(self, property: QuantifierProperty) -> bool:
        """Whether the quantifier has this property."""
        return property in self.properties

    def repeated(self, least: int, most: int | None, window: int | None, optional: bool = False) -> Quantifier:
        """A quantifier for ``least`` to ``most`` repetitions; None: any number."""
        self._check(not self.consuming_strategy.is_not, "Option not applicable to NOT pattern")
        self._check(self.described.times is None, f"Already applied quantifier to this Pattern: {self}")
        # Flink refuses nothing for a number of times after optional(): it forgets optional() then. So do we.
        return replace(self, described=Described(Times(least, most, window), optional))

    def optional(self) -> Quantifier:
        """This quantifier, with no occurrence allowed, too."""
        self._check(not self.described.optional, "Optional already applied")
        self._check(not self.consuming_strategy.is_not, "NOT pattern cannot be optional")
        return self._with(optional=True)

    def greedy(self) -> Quantifier:
        """This quantifier, with as many repetitions as possible."""
        self._check(not self.consuming_strategy.is_not, "Option not applicable to NOT pattern")
        combined = self.described.inner is Contiguity.RELAXED_ANY
        self._check(not combined, "Option not applicable to a pattern with allow_combinations()")
        self._check(self.described.times is not None, "Option not applicable to singleton quantifier: greedy()")
        return self._with(greedy=True)

    def combinations(self) -> Quantifier:
        """This quantifier, with any events between repetitions, also matching ones."""
        self._check(self.described.times is not None, "Combinations not applicable to a single pattern")
        self._check_inner(Contiguity.RELAXED_ANY, "Combinations already applied")
        return self._with(inner=Contiguity.RELAXED_ANY)

    def consecutive(self) -> Quantifier:
        """This quantifier, without any events between repetitions."""
        self._check(self.described.times is not None, "Consecutive not applicable to a single pattern")
        self._check_inner(Contiguity.STRICT, "Consecutive already applied")
        return self._with(inner=Contiguity.STRICT)

    def _check_inner(self, wanted: Contiguity, already: str) -> None:
        inner = self.described.inner
        self._check(inner is not wanted, already)
        self._check(inner is Contiguity.RELAXED, "You can apply either combinations or consecutive, not both")

    def _with(self, **changes: object) -> Quantifier:
        return replace(self, described=replace(self.described, **changes))  # type: ignore[arg-type]

    def _check(self, holds: bool, rule: str) -> None:
        if not holds:
            raise MalformedPatternException(f"Pattern {self.pattern!r}: {rule}")

    def __str__(self) -> str:
        return ", ".join(sorted(each.value for each in self.properties))


class AfterMatchSkipStrategy:
    """Which partial matches, and complete matches that are not emitted yet, are dropped after a match.

    Made by the methods below; given to ``Pattern.begin``.

        >>> pattern = Pattern.begin("a", AfterMatchSkipStrategy.skip_past_last_event()).one_or_more()
    """

    def __init__(self, skip: Skip) -> None:
        self._skip = skip

    @staticmethod
    def no_skip() -> AfterMatchSkipStrategy:
        """Drop nothing: every possible match is emitted."""
        return AfterMatchSkipStrategy(Skip())

    @staticmethod
    def skip_to_next() -> AfterMatchSkipStrategy:
        """Drop matches that begin with the same event: one match for each first event."""
        return AfterMatchSkipStrategy(Skip(SkipKind.SKIP_TO_NEXT))

    @staticmethod
    def skip_past_last_event() -> AfterMatchSkipStrategy:
        """Drop matches that begin before the end of the match: matches have no event in common."""
        return AfterMatchSkipStrategy(Skip(SkipKind.SKIP_PAST_LAST_EVENT))

    @staticmethod
    def skip_to_first(pattern_name: str) -> AfterMatchSkipStrategy:
        """Drop matches that begin before the first event of this pattern."""
        return AfterMatchSkipStrategy(Skip(SkipKind.SKIP_TO_FIRST, _named(pattern_name)))

    @staticmethod
    def skip_to_last(pattern_name: str) -> AfterMatchSkipStrategy:
        """Drop matches that begin before the last event of this pattern."""
        return AfterMatchSkipStrategy(Skip(SkipKind.SKIP_TO_LAST, _named(pattern_name)))

    def throw_exception_on_miss(self) -> AfterMatchSkipStrategy:
        """This strategy, which fails the job for a match that lacks the event to skip to, or begins with it.

        :raises TypeError: the strategy skips to no pattern.
        """
        if self._skip.name is None:
            raise TypeError(f"{self} skips to no pattern, so there is nothing to miss")
        return AfterMatchSkipStrategy(replace(self._skip, throw_on_miss=True))

    def is_skip_strategy(self) -> bool:
        """Whether the strategy drops anything."""
        return self._skip.kind is not SkipKind.NO_SKIP

    def get_pattern_name(self) -> str | None:
        """The pattern that is skipped to."""
        return self._skip.name

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, AfterMatchSkipStrategy) and self._skip == other._skip

    def __hash__(self) -> int:
        return hash(self._skip)

    def __repr__(self) -> str:
        name = "" if self._skip.name is None else f" {self._skip.name}"
        return f"AfterMatchSkipStrategy({self._skip.kind.value}{name})"


def _named(name: Any) -> str:
    if not isinstance(name, str) or not name:
        raise TypeError(f"a strategy skips to the name of a pattern, not to {name!r}")
    return name


_BOTH = 2


class UnboundCondition(IterativeCondition):
    """An expression or SQL text whose fields are not known yet: ``CEP.pattern`` binds it to its stream."""

    def __init__(self, given: Any, where: str) -> None:
        self.given, self.where = given, where

    def filter(self, event: Any, ctx: Context) -> bool:
        raise RuntimeError(f"{self.where}: an expression needs the types of a stream: use CEP.pattern()")


def as_condition(given: Any, where: str) -> IterativeCondition:
    """The condition that was given: one already, a function of the event or of the event and the context, an
    expression, or SQL text.

    :raises TypeError: it is none of these.
    """
    if isinstance(given, IterativeCondition):
        return given
    if isinstance(given, type) and issubclass(given, IterativeCondition):
        raise TypeError(f"{where}: {given.__name__} is a class; give an object of it: {given.__name__}()")
    if isinstance(given, str) or _is_expression(given):
        return UnboundCondition(given, where)
    if callable(given):
        return IterativeFunctionCondition(given) if _takes_context(given) else FunctionCondition(given)
    raise TypeError(
        f"{where}: a condition is a function of the event (or of the event and the context), a SimpleCondition or "
        f"IterativeCondition, an expression like col('price') > 10, or SQL text, not {given!r}"
    )


def _is_expression(given: Any) -> bool:
    """Whether this is an expression of the Table API, without importing that."""
    kinds = type(given).__mro__
    return any(kind.__name__ == "Expression" and kind.__module__.startswith("millrace.table") for kind in kinds)


def _takes_context(function: Any) -> bool:
    """Whether a function must be called with the context, too."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # some built-in functions don't tell
        return False
    places = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    needed = [each for each in parameters if each.kind in places and each.default is inspect.Parameter.empty]
    return len(needed) == _BOTH
