"""Runs bootstrap functions: on the operator that runs keyed functions in a job, for a range of key groups at a time."""

from __future__ import annotations

import pickle
import time
from collections.abc import Iterable, Iterator
from typing import Any

from millrace.runtime.bases.base import OperatorContext
from millrace.runtime.bases.process_base import KeyedProcessBase
from millrace.runtime.context.context import OperatorRuntimeContext
from millrace.runtime.elements import Chunk, Status
from millrace.runtime.exchange.keygroups import key_group, subtask_of_group, unhashable
from millrace.runtime.exchange.nan_keys import one_nan
from millrace.runtime.failure import OperatorError
from millrace.runtime.state.backend import KeyedStateBackend
from millrace.state.bootstrap import BootstrapTransformation, KeyedStateBootstrapFunction
from millrace.util.by_value import pickled_by_value

__all__ = ["BootstrapError", "KeyedChunk", "Recipe"]

KeyedChunk = tuple[list[Any], list[int | None] | None, list[Any]]
"""keys, timestamps (ms) and rows"""


class BootstrapError(Exception):
    """State could not be made: the text names the operator, the row and the user's line.

        >>> issubclass(BootstrapError, Exception)
        True
    """


class Recipe:
    """All but the rows of a ``BootstrapTransformation``, as it travels to Spark's workers."""

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
        """Give the rows their keys and timestamps. Raises ``BootstrapError``."""
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
        """The parts of a chunk by range of key groups. Raises ``BootstrapError`` for keys that have no group."""
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
    """There is nothing to send to."""

    def emit(self, chunk: Chunk) -> None:
        """Never called."""

    def emit_side(self, tag: str, chunk: Chunk) -> None:
        raise TypeError(f"a bootstrap function has no side output, but gave {chunk.values[0]!r} to {tag!r}")

    def mark(self, mark: int | Status) -> None:
        """No watermarks either."""


def _now() -> int:
    return time.time_ns() // 1_000_000

