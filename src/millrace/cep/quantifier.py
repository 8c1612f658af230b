"""``Quantifier``: how often a pattern repeats, with the rules for what goes together."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum

from millrace.runtime.cep.description import Contiguity, MalformedPatternException, Times
from millrace.runtime.cep.description import Quantifier as Described

__all__ = ["ConsumingStrategy", "Quantifier", "QuantifierProperty"]

ConsumingStrategy = Contiguity
"""Flink's name: what may lie between events"""


class QuantifierProperty(Enum):
    """What a quantifier says.

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
    """The repetitions of one pattern; methods give another quantifier, or refuse.

        >>> quantifier = Pattern.begin("a").one_or_more().optional().get_quantifier()
        >>> quantifier.has_property(QuantifierProperty.OPTIONAL)
        True

    :raises MalformedPatternException: two things that do not go together.
    """

    pattern: str
    """the pattern's name, for messages"""
    consuming_strategy: Contiguity
    described: Described = field(default_factory=Described)

    @property
    def properties(self) -> frozenset[QuantifierProperty]:
        """All that it says.

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
        """``least`` to ``most`` times, None for any number."""
        self._check(not self.consuming_strategy.is_not, "Option not applicable to NOT pattern")
        self._check(self.described.times is None, f"Already applied quantifier to this Pattern: {self}")
        # Flink refuses nothing for a number of times after optional(): it forgets optional() then. So do we.
        return replace(self, described=Described(Times(least, most, window), optional))

    def optional(self) -> Quantifier:
        """The same, and none at all."""
        self._check(not self.described.optional, "Optional already applied")
        self._check(not self.consuming_strategy.is_not, "NOT pattern cannot be optional")
        return self._with(optional=True)

    def greedy(self) -> Quantifier:
        """The same, as often as possible."""
        self._check(not self.consuming_strategy.is_not, "Option not applicable to NOT pattern")
        combined = self.described.inner is Contiguity.RELAXED_ANY
        self._check(not combined, "Option not applicable to a pattern with allow_combinations()")
        self._check(self.described.times is not None, "Option not applicable to singleton quantifier: greedy()")
        return self._with(greedy=True)

    def combinations(self) -> Quantifier:
        """The same, with any of the events that fit."""
        self._check(self.described.times is not None, "Combinations not applicable to a single pattern")
        self._check_inner(Contiguity.RELAXED_ANY, "Combinations already applied")
        return self._with(inner=Contiguity.RELAXED_ANY)

    def consecutive(self) -> Quantifier:
        """The same, without events between."""
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
