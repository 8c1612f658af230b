"""What a pattern is, as frozen data: its steps one after the other, with windows and the skip strategy.

The handles of ``millrace.cep`` and MATCH_RECOGNIZE both build this; the compiler makes states and transitions of it.
All times are milliseconds.
"""

from __future__ import annotations

from enum import Enum

from millrace.runtime.cep.conditions import IterativeCondition
from millrace.util.record import Record


class Contiguity(Enum):
    """What may lie between a step and the one before it. The values are Flink's names (``ConsumingStrategy``).

        >>> Pattern.begin("a").next("b").get_quantifier().consuming_strategy.name
        'STRICT'
    """

    STRICT = "STRICT"
    """nothing: ``next``"""
    RELAXED = "SKIP_TILL_NEXT"
    """what does not match: ``followed_by``"""
    RELAXED_ANY = "SKIP_TILL_ANY"
    """anything: ``followed_by_any``"""
    NOT_NEXT = "NOT_NEXT"
    """the very next event must not match this step"""
    NOT_FOLLOW = "NOT_FOLLOW"
    """no event until the next step may match this step"""

    @property
    def is_not(self) -> bool:
        """Whether the step is one that must not come."""
        return self in (Contiguity.NOT_NEXT, Contiguity.NOT_FOLLOW)


class WithinType(Enum):
    """What a window bounds: the whole match, or the distance from the event before.

        >>> pattern = Pattern.begin("a").next("b").within(Time.seconds(10), WithinType.PREVIOUS_AND_CURRENT)
    """

    PREVIOUS_AND_CURRENT = "PREVIOUS_AND_CURRENT"
    FIRST_AND_LAST = "FIRST_AND_LAST"


class Times(Record):
    """How often a step repeats."""

    least: int
    most: int | None
    """None: any number from ``least`` on (a loop)"""
    window: int | None = None
    """from the event before to the first one of the loop, as Flink bounds it; None for no bound"""


class Quantifier(Record):
    """Everything about the repetitions of a step. ``times`` None: exactly one event."""

    times: Times | None = None
    optional: bool = False
    greedy: bool = False
    inner: Contiguity = Contiguity.RELAXED
    """between repetitions: STRICT (``consecutive``), RELAXED, or RELAXED_ANY (``allow_combinations``)"""

    @property
    def looping(self) -> bool:
        return self.times is not None and self.times.most is None


ONCE = Quantifier()
GROUP = "GroupPattern"
"""the name that Flink gives to every group"""


class Step(Record):
    """One pattern of the sequence, or a group of them. Of the first step of a sequence ``contiguity`` is STRICT."""

    name: str
    contiguity: Contiguity = Contiguity.STRICT
    condition: IterativeCondition | None = None
    """None: every event matches"""
    quantifier: Quantifier = ONCE
    until: IterativeCondition | None = None
    """ends a loop; its event is not taken by the loop"""
    group: tuple[Step, ...] | None = None
    """the steps of a group; its name is GROUP, and it has no condition"""
    within: int | None = None
    """from the first event of the match to its last (FIRST_AND_LAST); the least of all steps counts"""
    within_previous: int | None = None
    """from the event before to this step's (PREVIOUS_AND_CURRENT)"""


class SkipKind(Enum):
    """Where matching goes on after a match. The values are the kinds of Flink's JSON form."""

    NO_SKIP = "NO_SKIP"
    SKIP_TO_NEXT = "SKIP_TO_NEXT"
    SKIP_PAST_LAST_EVENT = "SKIP_PAST_LAST_EVENT"
    SKIP_TO_FIRST = "SKIP_TO_FIRST"
    SKIP_TO_LAST = "SKIP_TO_LAST"


class Skip(Record):
    """An after-match skip strategy."""

    kind: SkipKind = SkipKind.NO_SKIP
    name: str | None = None
    """the step to skip to, for SKIP_TO_FIRST and SKIP_TO_LAST"""
    throw_on_miss: bool = False
    """whether it is an error if there is no such event in a match, or it is the match's first one"""


NO_SKIP = Skip()


class PatternDescription(Record):
    """A whole pattern."""

    steps: tuple[Step, ...]
    skip: Skip = NO_SKIP


class MalformedPatternException(ValueError):
    """A pattern that breaks a rule; the message names the step and the rule.

        >>> Pattern.begin("a").next("a")
        STRICT a STRICT a
    """
