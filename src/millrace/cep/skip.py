"""``AfterMatchSkipStrategy``: where matching goes on after a match."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from millrace.runtime.cep.description import Skip, SkipKind

__all__ = ["AfterMatchSkipStrategy"]


class AfterMatchSkipStrategy:
    """Which partial matches, and matches that are complete but not told yet, are dropped after a match.

    Made by the methods below; given to ``Pattern.begin``.

        >>> pattern = Pattern.begin("a", AfterMatchSkipStrategy.skip_past_last_event()).one_or_more()
    """

    def __init__(self, skip: Skip) -> None:
        self._skip = skip

    @staticmethod
    def no_skip() -> AfterMatchSkipStrategy:
        """Drop nothing: every possible match is told."""
        return AfterMatchSkipStrategy(Skip())

    @staticmethod
    def skip_to_next() -> AfterMatchSkipStrategy:
        """Drop what begins with the same event: one match for each first event."""
        return AfterMatchSkipStrategy(Skip(SkipKind.SKIP_TO_NEXT))

    @staticmethod
    def skip_past_last_event() -> AfterMatchSkipStrategy:
        """Drop whatever begins before the end of the match: matches have no event in common."""
        return AfterMatchSkipStrategy(Skip(SkipKind.SKIP_PAST_LAST_EVENT))

    @staticmethod
    def skip_to_first(pattern_name: str) -> AfterMatchSkipStrategy:
        """Drop what begins before the first event of this pattern."""
        return AfterMatchSkipStrategy(Skip(SkipKind.SKIP_TO_FIRST, _named(pattern_name)))

    @staticmethod
    def skip_to_last(pattern_name: str) -> AfterMatchSkipStrategy:
        """Drop what begins before the last event of this pattern."""
        return AfterMatchSkipStrategy(Skip(SkipKind.SKIP_TO_LAST, _named(pattern_name)))

    def throw_exception_on_miss(self) -> AfterMatchSkipStrategy:
        """The same, but a match without such an event is an error, as is one that begins with it.

        :raises TypeError: the strategy skips to no pattern.
        """
        if self._skip.name is None:
            raise TypeError(f"{self} skips to no pattern, so there is nothing to miss")
        return AfterMatchSkipStrategy(replace(self._skip, throw_on_miss=True))

    def is_skip_strategy(self) -> bool:
        """Whether anything is dropped."""
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
