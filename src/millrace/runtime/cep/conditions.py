"""What an event must be to match: simple conditions, iterative ones, those on columns, and how they are combined.

A condition is called at most once per event and state of the automaton (a simple one once per event), in Flink's
order: the right side of an ``AndCondition`` only if the left one holds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from millrace.common.functions.base import Function, RuntimeContext


class Context(ABC):
    """What an iterative condition sees beside the event."""

    @abstractmethod
    def get_events_for_pattern(self, name: str) -> Sequence[Any]:
        """The events that this partial match has for a pattern so far; empty for a name that is unknown."""

    @abstractmethod
    def timestamp(self) -> int:
        """The event's timestamp, ms; in processing time when it came."""

    @abstractmethod
    def current_processing_time(self) -> int:
        """The clock, ms."""


class IterativeCondition(Function):
    """A condition that may look at what was matched before.

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
        """What the operator has around it."""
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
    """Both hold; the right one is not asked if the left one does not."""

    def __init__(self, left: IterativeCondition, right: IterativeCondition) -> None:
        self.left, self.right = left, right

    def filter(self, event: Any, ctx: Context) -> bool:
        return self.left.filter(event, ctx) and self.right.filter(event, ctx)


class OrCondition(IterativeCondition):
    """One of them holds; the right one is not asked if the left one does."""

    def __init__(self, left: IterativeCondition, right: IterativeCondition) -> None:
        self.left, self.right = left, right

    def filter(self, event: Any, ctx: Context) -> bool:
        return self.left.filter(event, ctx) or self.right.filter(event, ctx)


class NotCondition(IterativeCondition):
    """The other one does not hold."""

    def __init__(self, negated: IterativeCondition) -> None:
        self.negated = negated

    def filter(self, event: Any, ctx: Context) -> bool:
        return not self.negated.filter(event, ctx)
