"""Functions that create keyed state from data, with the names of Flink's Java API, and the operator that runs them.

The data are elements of a program, or rows of a table as dicts. The operator runs a function as a job would, for a
range of key groups at a time.
"""

from __future__ import annotations

import datetime
import pickle
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import pyarrow as pa

from millrace.common.functions import Function, KeyedProcessFunction, KeySelector
from millrace.common.functions.callables import as_key_selector
from millrace.common.state import AggregatingState, ListState, MapState, ReducingState, StateDescriptor, ValueState
from millrace.runtime.bases.operator import OperatorContext
from millrace.runtime.bases.process_operators import KeyedProcessBase
from millrace.runtime.bases.runtime_context import OperatorRuntimeContext
from millrace.runtime.elements import Chunk, Status
from millrace.runtime.exchange.keys import key_group, one_nan, subtask_of_group, unhashable
from millrace.runtime.failure import OperatorError
from millrace.runtime.state.backend import KeyedStateBackend
from millrace.util.by_value import pickled_by_value

__all__ = ["BootstrapTransformation", "KeyedStateBootstrapFunction", "OperatorTransformation"]

# Data

Getter = Callable[[Any], Any]
BATCH = 10_000


def is_frame(rows: Any) -> bool:
    """Whether this is a Spark DataFrame."""
    return hasattr(rows, "mapInArrow")


def batches_of(rows: Any) -> Iterator[list[Any]]:
    """The rows of an Arrow table, a pandas DataFrame or any iterable, in batches.

    :raises TypeError: ``rows`` is none of these.
    """
    if isinstance(rows, pa.RecordBatch):
        yield from map(rows_of, pa.Table.from_batches([rows]).to_batches(BATCH))
    elif isinstance(rows, pa.Table):
        yield from map(rows_of, rows.to_batches(BATCH))
    elif isinstance(rows, pa.RecordBatchReader):
        yield from map(rows_of, rows)
    elif type(rows).__module__.partition(".")[0] == "pandas":
        yield from map(rows_of, pa.Table.from_pandas(rows, preserve_index=False).to_batches(BATCH))
    elif isinstance(rows, Iterable) and not isinstance(rows, (str, bytes)):
        remaining = iter(rows)
        while batch := list(islice(remaining, BATCH)):
            yield batch
    else:
        raise TypeError(
            f"state is made from a pyarrow Table, a DataFrame of pandas or Spark, or an iterable, not from {rows!r}"
        )


def rows_of(batch: Any) -> list[dict[str, Any]]:
    """The rows of a record batch as dicts."""
    names = batch.schema.names
    return [dict(zip(names, values)) for values in zip(*(_values(column) for column in batch.columns))]


def _values(column: Any) -> list[Any]:
    if pa.types.is_timestamp(column.type) and column.type.tz is not None:
        # UTC as the one object that all savepoints know.
        utc = datetime.timezone.utc
        local: list[Any] = column.cast(pa.timestamp("us", "UTC")).cast(pa.timestamp("us")).to_pylist()
        return [value and value.replace(tzinfo=utc) for value in local]
    values: list[Any] = column.to_pylist()
    return values


class _Column:
    """A function that gets one column of a row."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, row: Any) -> Any:
        return row[self._name]


class _Whole:
    """A function that gets the row itself."""

    def __call__(self, row: Any) -> Any:
        return row


def as_getter(part: str | Getter | None, what: str) -> Getter:
    """The function for a part of a row: a column by its name, a function itself, or the whole row for None."""
    if part is None:
        return _Whole()
    if isinstance(part, str):
        return _Column(part)
    if callable(part):
        return part
    raise TypeError(f"{what} must be the name of a column or a function of a row, not {part!r}")


def as_selector(key: str | KeySelector | Getter) -> KeySelector:
    """The key selector for a column name, a function of a row, or a key selector."""
    return key if isinstance(key, KeySelector) else as_key_selector(as_getter(key, "key"))


# Functions


class KeyedStateBootstrapFunction(Function):
    """Sees one row at a time, and writes the keyed state and the timers that an operator starts with.

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
        """Time, timers, and the key of the row. The watermark is the lowest possible one; rows have timestamps after
        ``assign_timestamps``."""

    @abstractmethod
    def process_element(self, value: Any, ctx: KeyedStateBootstrapFunction.Context) -> None:
        """Write the state for one row. There is no output."""


@dataclass(frozen=True)
class BootstrapTransformation:
    """Rows, and the function that creates keyed state from them, for ``SavepointWriter.with_operator``."""

    rows: Any
    key: KeySelector
    function: KeyedStateBootstrapFunction
    timestamps: Callable[[Any], int] | None
    parallelism: int | None
    """number of tasks of the Spark job, None for the default; only used for a Spark DataFrame"""


class OperatorTransformation:
    """``OperatorTransformation.bootstrap_with(rows).key_by(key).transform(function)``.

    >>> transformation = OperatorTransformation.bootstrap_with([("Ann", 3)])
    """

    @staticmethod
    def bootstrap_with(rows: Any, parallelism: int | None = None) -> Rows:
        """Start with an Arrow table, a pandas or Spark DataFrame, whose rows are dicts, or with any iterable.

        :param parallelism: for a Spark DataFrame: number of tasks that create the state, each for a range of key
            groups.
        """
        return Rows(rows, parallelism)


@dataclass(frozen=True)
class Rows:
    """Data without keys."""

    rows: Any
    parallelism: int | None = None
    timestamps: Callable[[Any], int] | None = None

    def assign_timestamps(self, timestamps: Callable[[Any], int]) -> Rows:
        """Give each row a timestamp (ms), which is the last access of state that expires by event time."""
        return replace(self, timestamps=timestamps)

    def key_by(self, key: str | KeySelector | Getter) -> KeyedRows:
        """Set the key of a row: a column, or a function of the row. It must return the same as the job's key
        selector.
        """
        return KeyedRows(self, as_selector(key))


@dataclass(frozen=True)
class KeyedRows:
    """Data with keys."""

    rows: Rows
    key: KeySelector

    def transform(self, function: KeyedStateBootstrapFunction) -> BootstrapTransformation:
        """Set the function that creates state from the rows."""
        if not isinstance(function, KeyedStateBootstrapFunction):
            raise TypeError(f"transform() takes a KeyedStateBootstrapFunction, not {function!r}")
        return BootstrapTransformation(self.rows.rows, self.key, function, self.rows.timestamps, self.rows.parallelism)


class OneState(KeyedStateBootstrapFunction):
    """Fills a single state, for ``SavepointWriter.keyed_state``."""

    def __init__(self, descriptor: StateDescriptor, value: Getter) -> None:
        self._descriptor = descriptor
        self._value = value

    def open(self, runtime_context: Any) -> None:
        state = runtime_context.keyed.get_any(self._descriptor)
        self._put: Callable[[Any], None] = _writer_of(state)

    def process_element(self, value: Any, ctx: KeyedStateBootstrapFunction.Context) -> None:
        self._put(self._value(value))


def _writer_of(state: Any) -> Callable[[Any], None]:
    """A function that writes one row into a state."""
    if isinstance(state, ValueState):
        return state.update
    if isinstance(state, MapState):
        return lambda pair: state.put(*pair)
    assert isinstance(state, (ListState, ReducingState, AggregatingState))
    return state.add


# Running them

KeyedChunk = tuple[list[Any], list[int | None] | None, list[Any]]
"""(keys, timestamps in ms, rows)"""


class BootstrapError(Exception):
    """State could not be created; the text names the operator, the row and the user's line.

    >>> issubclass(BootstrapError, Exception)
    True
    """


class Recipe:
    """A ``BootstrapTransformation`` without its rows, as it is sent to Spark's workers."""

    def __init__(
        self, transformation: BootstrapTransformation, uid: str, origin: str, max_parallelism: int, parallelism: int = 1
    ) -> None:
        parts = (transformation.key, transformation.timestamps, transformation.function)
        self._payload: bytes = pickled_by_value(parts)
        self.uid = uid
        self.origin = origin
        self.max_parallelism = max_parallelism
        self.parallelism = parallelism
        """number of ranges of key groups"""

    def keyed(self, batches: Iterable[list[Any]]) -> Iterator[KeyedChunk]:
        """Add keys and timestamps to the rows. Raises ``BootstrapError``."""
        key, timestamps, _ = pickle.loads(self._payload)
        for rows in batches:
            keys = one_nan(self._each(key.get_key, rows, "to give a row its key"))
            times = None if timestamps is None else self._each(timestamps, rows, "to give a row its timestamp")
            yield keys, times, rows

    def _each(self, function: Any, rows: list[Any], during: str) -> list[Any]:
        found = []
        for row in rows:
            try:
                found.append(function(row))
            except Exception as error:
                raise self._failed_on(row, error, during) from error
        return found

    def split(self, chunk: KeyedChunk) -> dict[int, KeyedChunk]:
        """Range of key groups -> its part of a chunk. Raises ``BootstrapError`` for a key without a stable hash."""
        keys, times, rows = chunk
        parts: dict[int, KeyedChunk] = {}
        for place, key in enumerate(keys):
            try:
                group = key_group(key, self.max_parallelism)
            except TypeError as error:
                raise self._failed_on(rows[place], unhashable(key, error), "to find the group of its key") from error
            target = subtask_of_group(group, self.max_parallelism, self.parallelism)
            part = parts.setdefault(target, ([], None if times is None else [], []))
            part[0].append(key)
            if times is not None and part[1] is not None:
                part[1].append(times[place])
            part[2].append(rows[place])
        return parts

    def run(self, chunks: Iterable[KeyedChunk], subtask: int = 0) -> KeyedStateBackend:
        """The state of one range of key groups. Raises ``BootstrapError``."""
        operator = _BootstrapOperator(pickle.loads(self._payload)[2])
        operator.setup(self._context(subtask), _NoOutput())
        try:
            operator.open()
            try:
                for keys, times, rows in chunks:
                    operator.process(Chunk(rows, times, keys), 0)
            finally:
                operator.close()
        except OperatorError as error:
            raise BootstrapError(str(error)) from error.__cause__
        return operator.keyed_state()

    def _context(self, subtask: int) -> OperatorContext:
        runtime = OperatorRuntimeContext(self.uid, subtask, self.parallelism, self.max_parallelism, clock=_now)
        return OperatorContext(runtime, self.uid, self.origin, None, {}, _now)

    def _failed_on(self, row: Any, error: Exception, during: str) -> BootstrapError:
        return BootstrapError(str(self._context(0).error(error, row, f" {during}")))


class _BootstrapOperator(KeyedProcessBase[KeyedStateBootstrapFunction]):
    def process(self, chunk: Chunk, input: int) -> None:
        function: Any = self.function
        self.run(chunk, function.process_element)

    def emit(self, values: list[Any], timestamps: list[int | None] | None) -> None:
        if values:
            raise self.context.error(
                TypeError(f"process_element() of a bootstrap function has no output, but gave {values[0]!r}")
            )


class _NoOutput:
    """An output for an operator whose function has none."""

    def emit(self, chunk: Chunk) -> None:
        """Does nothing; it is never called."""

    def emit_side(self, tag: str, chunk: Chunk) -> None:
        raise TypeError(f"a bootstrap function has no side output, but gave {chunk.values[0]!r} to {tag!r}")

    def mark(self, mark: int | Status) -> None:
        """Does nothing: there are no later operators."""


def _now() -> int:
    return time.time_ns() // 1_000_000
