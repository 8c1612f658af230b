"""Functions that make keyed state from data, and how they are put together with it: names as in Flink's Java API."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from millrace.common.functions import Function, KeyedProcessFunction, KeySelector
from millrace.common.state import (
    AggregatingState,
    ListState,
    MapState,
    ReducingState,
    StateDescriptor,
    ValueState,
)
from millrace.state.inputs import Getter, as_selector

__all__ = ["BootstrapTransformation", "KeyedStateBootstrapFunction", "OperatorTransformation"]


class KeyedStateBootstrapFunction(Function):
    """Sees one row at a time and writes the keyed state and the timers that an operator shall begin with.

        class Totals(KeyedStateBootstrapFunction):
            def open(self, runtime_context):
                self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.LONG()))

            def process_element(self, value, ctx):
                self.total.update(value["total"])
                ctx.timer_service().register_event_time_timer(value["expires"])

        >>> class Totals(KeyedStateBootstrapFunction):
        ...     def open(self, runtime_context):
        ...         self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.INT()))
        ...     def process_element(self, value, ctx):
        ...         self.total.update(value["total"])
    """

    class Context(KeyedProcessFunction.Context, ABC):
        """Time, timers, and the key of the row. The watermark is the lowest there is; rows have timestamps with
        ``assign_timestamps``."""

    @abstractmethod
    def process_element(self, value: Any, ctx: KeyedStateBootstrapFunction.Context) -> None:
        """Write what follows from one row. There is no output."""


@dataclass(frozen=True)
class BootstrapTransformation:
    """Rows, and the function that makes keyed state from them: what ``SavepointWriter.with_operator`` takes."""

    rows: Any
    key: KeySelector
    function: KeyedStateBootstrapFunction
    timestamps: Callable[[Any], int] | None
    parallelism: int | None
    """of the Spark job that does it, None for the default; nothing but a Spark DataFrame uses it"""


class OperatorTransformation:
    """``OperatorTransformation.bootstrap_with(rows).key_by(key).transform(function)``.

        >>> transformation = OperatorTransformation.bootstrap_with([("Ann", 3)])
    """

    @staticmethod
    def bootstrap_with(rows: Any, parallelism: int | None = None) -> Rows:
        """Begin with an Arrow table, a pandas or Spark DataFrame, whose rows are dicts, or with any iterable.

        :param parallelism: for a Spark DataFrame: how many tasks make the state, each for a range of key groups.
        """
        return Rows(rows, parallelism)


@dataclass(frozen=True)
class Rows:
    """Data that has no keys yet."""

    rows: Any
    parallelism: int | None = None
    timestamps: Callable[[Any], int] | None = None

    def assign_timestamps(self, timestamps: Callable[[Any], int]) -> Rows:
        """Let each row have a timestamp (ms): state that expires by event time begins to age then."""
        return replace(self, timestamps=timestamps)

    def key_by(self, key: str | KeySelector | Getter) -> KeyedRows:
        """Say what the key of a row is: a column, or a function of the row. It must give what the job's key selector
        gives."""
        return KeyedRows(self, as_selector(key))


@dataclass(frozen=True)
class KeyedRows:
    """Data with keys."""

    rows: Rows
    key: KeySelector

    def transform(self, function: KeyedStateBootstrapFunction) -> BootstrapTransformation:
        """Say what makes state of it."""
        if not isinstance(function, KeyedStateBootstrapFunction):
            raise TypeError(f"transform() takes a KeyedStateBootstrapFunction, not {function!r}")
        return BootstrapTransformation(
            self.rows.rows, self.key, function, self.rows.timestamps, self.rows.parallelism
        )


class OneState(KeyedStateBootstrapFunction):
    """Fills a single state: what ``SavepointWriter.keyed_state`` runs."""

    def __init__(self, descriptor: StateDescriptor, value: Getter) -> None:
        self._descriptor = descriptor
        self._value = value

    def open(self, runtime_context: Any) -> None:
        state = runtime_context.keyed.get_any(self._descriptor)
        self._put: Callable[[Any], None] = _writer_of(state)

    def process_element(self, value: Any, ctx: KeyedStateBootstrapFunction.Context) -> None:
        self._put(self._value(value))


def _writer_of(state: Any) -> Callable[[Any], None]:
    """What takes one row into a state."""
    if isinstance(state, ValueState):
        return state.update
    if isinstance(state, MapState):
        return lambda pair: state.put(*pair)
    assert isinstance(state, (ListState, ReducingState, AggregatingState))
    return state.add
