"""The explanation of one key's events as data and as text: live partial matches, and why others ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

__all__ = ["Ended", "Explanation", "ExplainedStep", "PartialMatch", "Why"]


class Why(Enum):
    """Why a partial match ended without having become a match.

    >>> Why.WITHIN.name
    'WITHIN'
    """

    STRICT = "strict contiguity"
    """the event does not match, and strict contiguity allows none in between"""
    CONDITION = "condition"
    """no transition's condition holds for the event"""
    NOT_PATTERN = "not pattern"
    """the event matches a NOT pattern"""
    UNTIL = "until"
    """the until condition has ended the loop, and no other transition is possible"""
    WITHIN = "within"
    """the time of its window has passed"""
    SKIP = "skip"
    """a match was found, and the skip strategy drops partial matches that began before a certain event"""


@dataclass(frozen=True)
class PartialMatch:
    """A partial match: its state in the automaton, and its events.

    >>> PartialMatch("b", {"a": [1]}).events
    {'a': [1]}
    """

    state: str
    """name of the state: that of the step that the partial match waits for, with a number if need be"""
    events: Mapping[str, list[Any]]

    def __str__(self) -> str:
        return f"[{_events(self.events)}] waits for {self.state}"


@dataclass(frozen=True)
class Ended:
    """A partial match that has ended.

    >>> sorted(each.name for each in Why)[:2]
    ['CONDITION', 'NOT_PATTERN']
    """

    partial: PartialMatch
    why: Why
    detail: str

    def __str__(self) -> str:
        return f"[{_events(self.partial.events)}] in {self.partial.state} ended: {self.why.value}: {self.detail}"


@dataclass(frozen=True)
class ExplainedStep:
    """The effects of one event, or of passing time.

    >>> pattern = Pattern.begin("a").where(SimpleCondition.of(lambda n: n == 1)).next("b")
    >>> CEP.explain([1, 2], pattern, timestamps=lambda n: n * 1000).steps[0].time
    1000
    """

    time: int
    event: Any
    """the event; None where only time passes"""
    asked: Mapping[str, bool]
    """condition -> its answer for this event, for conditions on the event alone; conditions that were not evaluated are
    missing"""
    matches: tuple[Mapping[str, list[Any]], ...]
    ended: tuple[Ended, ...]
    live: tuple[PartialMatch, ...]
    """partial matches that live after the event"""

    def __str__(self) -> str:
        lines = [f"{self.time}: time passes" if self.event is None else f"{self.time}: {self.event!r}"]
        if self.asked:
            lines.append("  asked: " + ", ".join(f"{text} is {answer}" for text, answer in self.asked.items()))
        lines += [f"  match: [{_events(match)}]" for match in self.matches]
        lines += [f"  {ended}" for ended in self.ended]
        lines += [f"  live: {partial}" for partial in self.live]
        return "\n".join(lines)


@dataclass(frozen=True)
class Explanation:
    """All steps of one key.

    >>> pattern = Pattern.begin("a").where(SimpleCondition.of(lambda n: n == 1)).next("b")
    >>> CEP.explain([1, 2], pattern, timestamps=lambda n: n * 1000).matches
    [{'a': [1], 'b': [2]}]
    """

    steps: tuple[ExplainedStep, ...]

    @property
    def matches(self) -> list[Mapping[str, list[Any]]]:
        """All matches, in their order."""
        return [match for step in self.steps for match in step.matches]

    @property
    def ended(self) -> list[Ended]:
        """All partial matches that ended, in their order.

        >>> pattern = Pattern.begin("a").where(SimpleCondition.of(lambda n: n == 1)).next("b").where(
        ...     SimpleCondition.of(lambda n: n == 2))
        >>> for ended in CEP.explain([1, 3], pattern, timestamps=lambda n: n * 1000).ended:
        ...     print(ended.why.name)
        STRICT
        """
        return [ended for step in self.steps for ended in step.ended]

    @property
    def live(self) -> tuple[PartialMatch, ...]:
        """The partial matches at the end."""
        return self.steps[-1].live if self.steps else ()

    def __str__(self) -> str:
        return "\n".join(map(str, self.steps))


def _events(found: Mapping[str, list[Any]]) -> str:
    return ", ".join(f"{name}: {' '.join(map(repr, events))}" for name, events in found.items()) or "nothing"
