"""A pattern as frozen data: conditions on events, a sequence of steps, time limits, the skip strategy.

The handles of ``millrace.cep`` and MATCH_RECOGNIZE both build this description; the compiler turns it into states and
transitions. All times are milliseconds. As in Flink, a condition is evaluated at most once per event and state of the
automaton (a simple one once per event); the right side of an ``AndCondition`` is evaluated only if the left one holds.

``fingerprint`` is a short text of everything that partial matches in state depend on: state can be restored only for a
pattern with the same text. Conditions are no part of it, since functions can't be compared; after a change of
conditions partial matches continue.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from millrace.common.functions.function_base import Function, RuntimeContext
from millrace.util.record import Record

# Conditions


class Context(ABC):
    """The context of an iterative condition, besides the event."""

    @abstractmethod
    def get_events_for_pattern(self, name: str) -> Sequence[Any]:
        """The events that this partial match has for a pattern so far; empty for a name that is unknown."""

    @abstractmethod
    def timestamp(self) -> int:
        """The event's timestamp (ms); in processing time the time of its arrival."""

    @abstractmethod
    def current_processing_time(self) -> int:
        """The clock, ms."""


class IterativeCondition(Function):
    """A condition that may look at the events matched before.

    >>> class Rising(IterativeCondition):
    ...     def filter(self, value, context):
    ...         return all(value > earlier for earlier in context.get_events_for_pattern("a"))
    >>> pattern = Pattern.begin("a").where(Rising()).one_or_more()
    """

    @abstractmethod
    def filter(self, event: Any, ctx: Context) -> bool:
        """Whether the event matches."""


class SimpleCondition(IterativeCondition):
    """A condition on the event alone.

    >>> class Large(SimpleCondition):
    ...     def filter(self, value):
    ...         return value > 100
    >>> pattern = Pattern.begin("large").where(Large())
    """

    @abstractmethod
    def filter(self, event: Any, ctx: Context | None = None) -> bool:
        """Whether the event matches; ``ctx`` is never given."""

    @staticmethod
    def of(function: Callable[[Any], bool]) -> SimpleCondition:
        """The condition that a function is."""
        return FunctionCondition(function)


class RichIterativeCondition(IterativeCondition):
    """An iterative condition that knows where it runs; ``open`` and ``close`` are called once per subtask.

    >>> class Above(RichIterativeCondition):
    ...     def open(self, runtime_context):
    ...         self.limit = 3
    ...     def filter(self, value, context):
    ...         return value > self.limit
    """

    _runtime_context: RuntimeContext | None = None

    def set_runtime_context(self, runtime_context: RuntimeContext) -> None:
        """Called by the operator, before ``open``."""
        self._runtime_context = runtime_context

    def get_runtime_context(self) -> RuntimeContext:
        """The operator's runtime context."""
        if self._runtime_context is None:
            raise RuntimeError("The runtime context has not been initialized.")
        return self._runtime_context


class FunctionCondition(SimpleCondition):
    """A Python function of the event."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.function = function

    def filter(self, event: Any, ctx: Context | None = None) -> bool:
        return bool(self.function(event))


class IterativeFunctionCondition(IterativeCondition):
    """A Python function of the event and the context."""

    def __init__(self, function: Callable[[Any, Context], Any]) -> None:
        self.function = function

    def filter(self, event: Any, ctx: Context) -> bool:
        return bool(self.function(event, ctx))


class SubtypeCondition(SimpleCondition):
    """The event is an instance of a class."""

    def __init__(self, subtype: type) -> None:
        self.subtype = subtype

    def filter(self, event: Any, ctx: Context | None = None) -> bool:
        return isinstance(event, self.subtype)


class ColumnCondition(SimpleCondition):
    """A condition that is computed for many events at once, before the automaton sees them."""

    @abstractmethod
    def mask(self, events: Sequence[Any]) -> Sequence[bool]:
        """For each event whether it matches, as bools or a numpy array of them."""

    def filter(self, event: Any, ctx: Context | None = None) -> bool:
        return bool(self.mask([event])[0])


class AndCondition(IterativeCondition):
    """True if both conditions hold; the right one is not evaluated if the left one is False."""

    def __init__(self, left: IterativeCondition, right: IterativeCondition) -> None:
        self.left, self.right = left, right

    def filter(self, event: Any, ctx: Context) -> bool:
        return self.left.filter(event, ctx) and self.right.filter(event, ctx)


class OrCondition(IterativeCondition):
    """True if one of the two conditions holds; the right one is not evaluated if the left one is True."""

    def __init__(self, left: IterativeCondition, right: IterativeCondition) -> None:
        self.left, self.right = left, right

    def filter(self, event: Any, ctx: Context) -> bool:
        return self.left.filter(event, ctx) or self.right.filter(event, ctx)


class NotCondition(IterativeCondition):
    """True if the negated condition is False."""

    def __init__(self, negated: IterativeCondition) -> None:
        self.negated = negated

    def filter(self, event: Any, ctx: Context) -> bool:
        return not self.negated.filter(event, ctx)


# Patterns


class Contiguity(Enum):
    """Which events may lie between a step and the one before it. The values are Flink's names (``ConsumingStrategy``).

    >>> Pattern.begin("a").next("b").get_quantifier().consuming_strategy.name
    'STRICT'
    """

    STRICT = "STRICT"
    """no event: ``next``"""
    RELAXED = "SKIP_TILL_NEXT"
    """events that do not match the step: ``followed_by``"""
    RELAXED_ANY = "SKIP_TILL_ANY"
    """any events: ``followed_by_any``"""
    NOT_NEXT = "NOT_NEXT"
    """the very next event must not match this step"""
    NOT_FOLLOW = "NOT_FOLLOW"
    """no event until the next step may match this step"""

    @property
    def is_not(self) -> bool:
        """Whether the step must not occur."""
        return self in (Contiguity.NOT_NEXT, Contiguity.NOT_FOLLOW)


class WithinType(Enum):
    """What a time limit applies to: the whole match, or the time since the event before.

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
    """the longest time (ms) from the event before to the first event of the loop, as in Flink; None: no limit"""


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
    """condition that ends a loop; the loop does not take the event"""
    group: tuple[Step, ...] | None = None
    """the steps of a group; its name is GROUP, and it has no condition"""
    within: int | None = None
    """the longest time (ms) between the first and the last event of a match (FIRST_AND_LAST); the least of all steps
    counts"""
    within_previous: int | None = None
    """the longest time (ms) between the event before and the event of this step (PREVIOUS_AND_CURRENT)"""


class SkipKind(Enum):
    """Where matching continues after a match. The values are the kinds of Flink's JSON form."""

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


# The fingerprint of a pattern


def fingerprint(pattern: PatternDescription) -> str:
    """The fingerprint, with the names of the pattern in front for people."""
    digest = hashlib.sha256(repr([_shape(step) for step in pattern.steps]).encode()).hexdigest()[:16]
    return f"{' '.join(map(_name, pattern.steps))} {digest}"


def _shape(step: Step) -> tuple[object, ...]:
    quantifier, times = step.quantifier, step.quantifier.times
    return (
        step.name,
        step.contiguity.value,
        None if times is None else (times.least, times.most, times.window),
        quantifier.optional,
        quantifier.greedy,
        quantifier.inner.value,
        step.until is not None,
        step.within,
        step.within_previous,
        None if step.group is None else [_shape(inner) for inner in step.group],
    )


def _name(step: Step) -> str:
    return step.name if step.group is None else f"({' '.join(map(_name, step.group))})"


# Patterns that are exchanged while a job runs


@dataclass(frozen=True)
class PatternUpdate:
    """A version of a pattern, or its removal."""

    id: str
    version: int
    pattern: str | None
    """the pattern's text; None: the pattern is removed"""
    function: str = ""
    """name of the function that gets the pattern's matches; empty: there is only one function"""


@dataclass(frozen=True)
class PatternUpdates:
    """The pattern updates of one message."""

    updates: tuple[PatternUpdate, ...]
    whole: bool = False
    """whether these are all patterns: others are removed, and an older version may come back"""


class PatternReader(ABC):
    """Reads messages and the texts of patterns; raises an error that says what is wrong with them."""

    @abstractmethod
    def updates(self, message: Any) -> PatternUpdates:
        """The pattern updates in a message."""

    @abstractmethod
    def pattern(self, update: PatternUpdate) -> PatternDescription:
        """The pattern of an update that has a text."""
