"""``Pattern`` and ``GroupPattern``: describe what to look for, step by step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, overload

from millrace.cep.pattern_parts import AfterMatchSkipStrategy, Quantifier, QuantifierProperty, as_condition
from millrace.common.time import TimeSpan, to_millis
from millrace.runtime.cep.description import (
    GROUP,
    AndCondition,
    Contiguity,
    IterativeCondition,
    MalformedPatternException,
    OrCondition,
    PatternDescription,
    Step,
    SubtypeCondition,
    WithinType,
)

__all__ = ["GroupPattern", "Pattern"]

P = TypeVar("P", bound="Pattern")


class Pattern:
    """One step of a pattern, with the steps before it.

    Methods change the step and return it, or begin the next step and return that.

        Pattern.begin("start").where(lambda e: e.price > 10).next("middle").one_or_more().within(Duration.of_seconds(5))

        >>> pattern = Pattern.begin("first").where(SimpleCondition.of(lambda n: n == 1)).followed_by("then").where(
        ...     SimpleCondition.of(lambda n: n > 1)).times(2).within(Time.minutes(10))
        >>> pattern.get_name()
        'then'
    """

    _group: Pattern | None = None
    """the pattern in the group, if this is a group"""

    def __init__(
        self,
        name: str,
        previous: Pattern | None,
        contiguity: Contiguity,
        skip: AfterMatchSkipStrategy,
    ) -> None:
        if not isinstance(name, str) or not name:
            raise TypeError(f"the name of a pattern is a text, not {name!r}")
        self._name, self._previous, self._skip = name, previous, skip
        self._quantifier = Quantifier(name, contiguity)
        self._condition: IterativeCondition | None = None
        self._until: IterativeCondition | None = None
        self._within: dict[WithinType, int] = {}

    # -- the steps ------------------------------------------------------------------------------------------------

    @overload
    @staticmethod
    def begin(pattern: str, after_match_skip_strategy: AfterMatchSkipStrategy | None = None) -> Pattern: ...

    @overload
    @staticmethod
    def begin(pattern: Pattern, after_match_skip_strategy: AfterMatchSkipStrategy | None = None) -> GroupPattern: ...

    @staticmethod
    def begin(pattern: str | Pattern, after_match_skip_strategy: AfterMatchSkipStrategy | None = None) -> Pattern:
        """The first step: its name, or a group.

        >>> Pattern.begin("first").get_name()
        'first'
        """
        skip = after_match_skip_strategy or AfterMatchSkipStrategy.no_skip()
        if not isinstance(skip, AfterMatchSkipStrategy):
            raise TypeError(f"begin() takes an AfterMatchSkipStrategy, not {skip!r}")
        return _step(pattern, None, Contiguity.STRICT, skip)

    @overload
    def next(self, pattern: str) -> Pattern: ...

    @overload
    def next(self, pattern: Pattern) -> GroupPattern: ...

    def next(self, pattern: str | Pattern) -> Pattern:
        """The step (or group) that follows with nothing in between.

        >>> pattern = Pattern.begin("a").next("b")
        >>> pattern.get_previous().get_name()
        'a'
        """
        return _step(pattern, self, Contiguity.STRICT, self._skip)

    @overload
    def followed_by(self, pattern: str) -> Pattern: ...

    @overload
    def followed_by(self, pattern: Pattern) -> GroupPattern: ...

    def followed_by(self, pattern: str | Pattern) -> Pattern:
        """The step (or group) that follows; events that do not match it may come in between.

        >>> pattern = Pattern.begin("a").followed_by("b")
        """
        return _step(pattern, self, Contiguity.RELAXED, self._skip)

    @overload
    def followed_by_any(self, pattern: str) -> Pattern: ...

    @overload
    def followed_by_any(self, pattern: Pattern) -> GroupPattern: ...

    def followed_by_any(self, pattern: str | Pattern) -> Pattern:
        """The step (or group) that follows; any events may come in between, so each later match counts."""
        return _step(pattern, self, Contiguity.RELAXED_ANY, self._skip)

    def not_next(self, name: str) -> Pattern:
        """The very next event must not match this step."""
        return self._not("not_next", name, Contiguity.NOT_NEXT)

    def not_followed_by(self, name: str) -> Pattern:
        """No event before the next step may match this one; at the end it needs ``within``."""
        return self._not("not_followed_by", name, Contiguity.NOT_FOLLOW)

    def _not(self, method: str, name: str, contiguity: Contiguity) -> Pattern:
        if self._quantifier.has_property(QuantifierProperty.OPTIONAL):
            raise MalformedPatternException(
                f"Pattern {self._name!r}: {method}({name!r}) cannot come after an optional pattern; make two patterns, "
                f"one with and one without the optional part"
            )
        return Pattern(name, self, contiguity, self._skip)

    # -- conditions -----------------------------------------------------------------------------------------------

    def where(self: P, condition: Any) -> P:
        """Require a condition of an event; all conditions must hold.

        >>> pattern = Pattern.begin("large").where(SimpleCondition.of(lambda n: n > 100))
        """
        given = as_condition(condition, f"where() of pattern {self._name!r}")
        self._condition = given if self._condition is None else AndCondition(self._condition, given)
        return self

    def or_(self: P, condition: Any) -> P:
        """Add an alternative: an event matches by this condition, or by the conditions so far."""
        given = as_condition(condition, f"or_() of pattern {self._name!r}")
        self._condition = given if self._condition is None else OrCondition(self._condition, given)
        return self

    def subtype(self: P, subtype_class: type) -> P:
        """Require the events' class, too."""
        if not isinstance(subtype_class, type):
            raise TypeError(f"subtype() of pattern {self._name!r} takes a class, not {subtype_class!r}")
        return self.where(SubtypeCondition(subtype_class))

    def until(self: P, until_condition: Any) -> P:
        """End a loop at an event that fulfils the condition; the loop does not take that event."""
        given = as_condition(until_condition, f"until() of pattern {self._name!r}")
        if self._until is not None:
            raise self._refused("Only one until condition can be applied")
        if not self._quantifier.has_property(QuantifierProperty.LOOPING):
            raise self._refused("The until condition is only applicable to looping states (one_or_more(), ...)")
        self._until = given
        return self

    # -- quantifiers ----------------------------------------------------------------------------------------------

    def times(self: P, times: int, to: int | TimeSpan | None = None, window_time: TimeSpan | None = None) -> P:
        """Exactly ``times``, or ``times`` to ``to`` times; 0 makes the step optional.

            >>> pattern = Pattern.begin("a").times(2, 4)

        :param window_time: the longest time from the event before.
        """
        if to is not None and not isinstance(to, int):
            to, window_time = None, to
        least, most = self._number(times), times if to is None else self._number(to)
        optional = to is not None and least == 0
        if optional:
            least = 1
        if least < 1:
            raise self._refused(f"You should give a positive number greater than 0, not {times}")
        if most < least:
            raise self._refused(f"times({times}, {to}): the second number should be at least {least}")
        self._quantifier = self._quantifier.repeated(least, most, self._millis(window_time), optional)
        return self

    def times_or_more(self: P, times: int, window_time: TimeSpan | None = None) -> P:
        """At least ``times`` times; ``window_time`` is the longest time from the event before."""
        if self._number(times) < 1:
            raise self._refused(f"You should give a positive number greater than 0, not {times}")
        self._quantifier = self._quantifier.repeated(times, None, self._millis(window_time))
        return self

    def one_or_more(self: P, window_time: TimeSpan | None = None) -> P:
        """Any number of times, but once at least; ``window_time`` is the longest time from the event before."""
        return self.times_or_more(1, window_time)

    def optional(self: P) -> P:
        """Make the step optional: a match may lack it."""
        previous = self._previous
        if previous is not None and previous._quantifier.has_property(QuantifierProperty.GREEDY):
            raise self._refused(f"Optional pattern cannot be preceded by greedy pattern {previous._name!r}")
        self._quantifier = self._quantifier.optional()
        return self

    def greedy(self: P) -> P:
        """As many repetitions as possible: an event that the loop takes is not one of the next step."""
        self._quantifier = self._quantifier.greedy()
        return self

    def consecutive(self: P) -> P:
        """Nothing may come in between the repetitions.

        >>> pattern = Pattern.begin("a").one_or_more().consecutive()
        """
        self._quantifier = self._quantifier.consecutive()
        return self

    def allow_combinations(self: P) -> P:
        """Any events may come in between the repetitions, also matching ones."""
        self._quantifier = self._quantifier.combinations()
        return self

    def within(self: P, window_time: TimeSpan | None, within_type: WithinType = WithinType.FIRST_AND_LAST) -> P:
        """The longest time of a match, or from the event before to that of this step. None changes nothing.

        >>> pattern = Pattern.begin("a").next("b").within(Time.seconds(10))
        """
        if not isinstance(within_type, WithinType):
            raise TypeError(f"within() of pattern {self._name!r} takes a WithinType, not {within_type!r}")
        millis = self._millis(window_time)
        if millis is not None:
            self._within[within_type] = millis
        return self

    # -- what it is -----------------------------------------------------------------------------------------------

    def get_name(self) -> str:
        """The name of the step."""
        return self._name

    def get_previous(self) -> Pattern | None:
        """The step before; None: this is the first."""
        return self._previous

    def get_quantifier(self) -> Quantifier:
        """How often the step may come."""
        return self._quantifier

    def get_condition(self) -> IterativeCondition | None:
        """All conditions together; None if every event matches."""
        return self._condition

    def get_until_condition(self) -> IterativeCondition | None:
        """The condition that ends the loop; None: there is none."""
        return self._until

    def get_window_size(self, within_type: WithinType = WithinType.FIRST_AND_LAST) -> int | None:
        """The window that was set at this very step, ms."""
        return self._within.get(within_type)

    def get_after_match_skip_strategy(self) -> AfterMatchSkipStrategy:
        """Where the search goes on after a match."""
        return self._skip

    def describe(self) -> PatternDescription:
        """The pattern up to this step, as data."""
        return PatternDescription(self._steps(), self._skip._skip)

    def to_json(self, conditions: Mapping[str, Any] | None = None, indent: int | None = None) -> str:
        """The pattern up to this step as text, in the form of Flink's dynamic CEP.

            >>> Pattern.begin("a").where("amount > 3").to_json()[:1]
            '{'

        :param conditions: names for the conditions that are functions or objects; expressions and SQL text need none.
        :raises MalformedPatternException: a condition without a name.
        """
        from millrace.cep.json_form import pattern_to_json

        return pattern_to_json(self, conditions, indent)

    @staticmethod
    def from_json(given: str | Mapping[str, Any], conditions: Mapping[str, Any] | None = None) -> Pattern:
        """The pattern that a text describes. Nothing in it is run or imported: it may only name ``conditions``.

            >>> text = Pattern.begin("a").where("amount > 3").to_json()
            >>> Pattern.from_json(text).get_name()
            'a'

        :param conditions: name -> what ``where`` takes, or a class of conditions that is made with the text's ``args``.
        :raises MalformedPatternException: it is no pattern, or names what is not there.
        """
        from millrace.cep.json_form import pattern_from_json

        return pattern_from_json(given, conditions, Pattern.begin)

    def to_mermaid(self, states: bool = False) -> str:
        """The pattern up to this step as a diagram of Mermaid.

            >>> Pattern.begin("a").next("b").to_mermaid().splitlines()[0]
            'flowchart LR'

        :param states: draw the automaton that it is compiled to: its states, and when they take or pass over events.
        """
        from millrace.cep.explanation import automaton_diagram, pattern_diagram

        return automaton_diagram(self.describe()) if states else pattern_diagram(self.describe())

    def _steps(self) -> tuple[Step, ...]:
        steps, here = [], self
        while True:
            steps.append(here._step())
            if here._previous is None:
                return tuple(reversed(steps))
            here = here._previous

    def _step(self) -> Step:
        return Step(
            self._name,
            self._quantifier.consuming_strategy,
            self._condition,
            self._quantifier.described,
            self._until,
            self._group_steps(),
            self._within.get(WithinType.FIRST_AND_LAST),
            self._within.get(WithinType.PREVIOUS_AND_CURRENT),
        )

    def _group_steps(self) -> tuple[Step, ...] | None:
        return None

    def __repr__(self) -> str:
        before = "" if self._previous is None else f"{self._previous!r} "
        return f"{before}{self._quantifier.consuming_strategy.name} {self._name}"

    # -- arguments ------------------------------------------------------------------------------------------------

    def _refused(self, rule: str) -> MalformedPatternException:
        return MalformedPatternException(f"Pattern {self._name!r}: {rule}")

    def _number(self, given: Any) -> int:
        if isinstance(given, bool) or not isinstance(given, int):
            raise TypeError(f"pattern {self._name!r}: a number of times is an int, not {given!r}")
        return given

    def _millis(self, span: TimeSpan | None) -> int | None:
        if span is None:
            return None
        millis = to_millis(span)
        if millis < 0:
            raise self._refused(f"a window of {millis} ms is negative")
        return millis


class GroupPattern(Pattern):
    """A pattern as one step of another: it can be repeated, or be left out. Made by ``begin``, ``next``,
    ``followed_by`` and ``followed_by_any`` with a pattern.

        >>> inner = Pattern.begin("a").next("b")
        >>> pattern = Pattern.begin(inner).times(2)
        >>> isinstance(pattern, GroupPattern)
        True
    """

    def __init__(
        self, previous: Pattern | None, group: Pattern, contiguity: Contiguity, skip: AfterMatchSkipStrategy
    ) -> None:
        super().__init__(GROUP, previous, contiguity, skip)
        self._group: Pattern = group

    def get_raw_pattern(self) -> Pattern:
        """The pattern in the group."""
        return self._group

    def where(self: P, condition: Any) -> P:
        raise self._refused("GroupPattern does not support where clause")

    def or_(self: P, condition: Any) -> P:
        raise self._refused("GroupPattern does not support or clause")

    def subtype(self: P, subtype_class: type) -> P:
        raise self._refused("GroupPattern does not support subtype clause")

    def greedy(self: P) -> P:
        raise self._refused("Option not applicable to group pattern: greedy()")

    def _group_steps(self) -> tuple[Step, ...] | None:
        return self._group._steps()

    def _refused(self, rule: str) -> MalformedPatternException:
        return MalformedPatternException(f"The group of pattern {self._group._name!r}: {rule}")


def _step(
    pattern: str | Pattern, previous: Pattern | None, contiguity: Contiguity, skip: AfterMatchSkipStrategy
) -> Pattern:
    if isinstance(pattern, Pattern):
        return GroupPattern(previous, pattern, contiguity, skip)
    return Pattern(pattern, previous, contiguity, skip)
