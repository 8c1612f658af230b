"""The functions that a user writes to process matches: ``PatternProcessFunction`` and its simpler variants."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from millrace.common.functions.function_base import Function, RuntimeContext
from millrace.common.output_tag import OutputTag

Match = dict[str, list[Any]]
"""name of a step -> its events; steps are in the order of their first events"""
Results = Iterable[Any] | None


class PatternContext(ABC):
    """The context of a function for a match."""

    @abstractmethod
    def output(self, output_tag: OutputTag, value: Any) -> None:
        """Send a value to a side output."""

    @abstractmethod
    def timestamp(self) -> int:
        """Timestamp (ms) of the match's last event, or the time at which a time limit completed the match or ended
        it.
        """

    @abstractmethod
    def current_processing_time(self) -> int:
        """The processing time (ms)."""

    def pattern_id(self) -> str | None:
        """The id of the match's pattern, with several patterns (``CEP.dynamic_patterns``); None with one pattern."""
        return None

    def pattern_version(self) -> int | None:
        """The version of that pattern."""
        return None


class PatternProcessFunction(Function):
    """Processes each match; yields results, or ``(OutputTag, value)`` for a side output.

    >>> class Pairs(PatternProcessFunction):
    ...     def process_match(self, match, ctx):
    ...         yield match["a"][0], match["b"][0]
    >>> pattern = Pattern.begin("a").next("b")
    >>> matches = CEP.pattern(env.from_collection([1, 2]), pattern).in_processing_time()
    >>> list(matches.process(Pairs()).execute_and_collect())
    [(1, 2)]
    """

    Context = PatternContext

    @abstractmethod
    def process_match(self, match: Match, ctx: PatternContext) -> Results:
        """Process a match."""


class TimedOutPartialMatchHandler(ABC):
    """Mixed into a PatternProcessFunction: also processes partial matches that have timed out.

    >>> class Pairs(PatternProcessFunction, TimedOutPartialMatchHandler):
    ...     def process_match(self, match, ctx):
    ...         yield "match"
    ...     def process_timed_out_match(self, match, ctx):
    ...         ctx.output(OutputTag("late"), sorted(match))
    """

    @abstractmethod
    def process_timed_out_match(self, match: Match, ctx: PatternContext) -> Results:
        """Process a partial match that has timed out; ``ctx.timestamp()`` is the time of its time-out."""


class PatternSelectFunction(Function):
    """One result per match.

    >>> class First(PatternSelectFunction):
    ...     def select(self, pattern):
    ...         return pattern["a"][0]
    >>> matches = CEP.pattern(env.from_collection([1, 2]), Pattern.begin("a")).in_processing_time()
    >>> list(matches.select(First()).execute_and_collect())
    [1, 2]
    """

    @abstractmethod
    def select(self, match: Match) -> Any:
        """The result."""


class PatternFlatSelectFunction(Function):
    """Any number of results per match.

    >>> class Names(PatternFlatSelectFunction):
    ...     def flat_select(self, pattern):
    ...         yield from sorted(pattern)
    """

    @abstractmethod
    def flat_select(self, match: Match) -> Results:
        """Yields the results."""


class PatternTimeoutFunction(Function):
    """One result per partial match that has timed out.

    >>> class Late(PatternTimeoutFunction):
    ...     def timeout(self, pattern, timeout_timestamp):
    ...         return sorted(pattern), timeout_timestamp
    """

    @abstractmethod
    def timeout(self, match: Match, timeout_timestamp: int) -> Any:
        """The result."""


class PatternFlatTimeoutFunction(Function):
    """Any number of results per partial match that has timed out.

    >>> class Names(PatternFlatTimeoutFunction):
    ...     def timeout(self, pattern, timeout_timestamp):
    ...         yield from sorted(pattern)
    """

    @abstractmethod
    def timeout(self, match: Match, timeout_timestamp: int) -> Results:
        """Yields the results."""


class EventComparator(ABC):
    """The order of events with the same timestamp.

    >>> class ByAmount(EventComparator):
    ...     def compare(self, first, second):
    ...         return first["amount"] - second["amount"]
    >>> ByAmount().compare({"amount": 3}, {"amount": 1})
    2
    """

    @abstractmethod
    def compare(self, left: Any, right: Any) -> int:
        """Negative if ``left`` comes first, 0 if either may, positive if ``right`` does."""


class Select(PatternProcessFunction):
    """A PatternSelectFunction or PatternFlatSelectFunction as a process function."""

    def __init__(self, function: PatternSelectFunction | PatternFlatSelectFunction) -> None:
        self.function = function

    def open(self, runtime_context: RuntimeContext) -> None:
        self.function.open(runtime_context)

    def close(self) -> None:
        self.function.close()

    def process_match(self, match: Match, ctx: PatternContext) -> Results:
        function = self.function
        if isinstance(function, PatternSelectFunction):
            return (function.select(match),)
        return function.flat_select(match)


class SelectOrTimeout(Select, TimedOutPartialMatchHandler):
    """``Select`` that also sends the results of timed-out partial matches to a side output."""

    def __init__(
        self,
        function: PatternSelectFunction | PatternFlatSelectFunction,
        timeout: PatternTimeoutFunction | PatternFlatTimeoutFunction,
        tag: OutputTag,
    ) -> None:
        super().__init__(function)
        self._timeout, self._tag = timeout, tag

    def open(self, runtime_context: RuntimeContext) -> None:
        super().open(runtime_context)
        self._timeout.open(runtime_context)

    def close(self) -> None:
        super().close()
        self._timeout.close()

    def process_timed_out_match(self, match: Match, ctx: PatternContext) -> Results:
        found = self._timeout.timeout(match, ctx.timestamp())
        results = (found,) if isinstance(self._timeout, PatternTimeoutFunction) else found
        for result in results or ():
            ctx.output(self._tag, result)
        return None
