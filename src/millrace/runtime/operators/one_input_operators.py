"""Operators with one input around one user function.

They take elements one by one: map, filter, flat_map, process and reduce, on plain or on keyed streams. Entry points
(``millrace.operators``) say which operator runs which description of ``specs``; a new operator needs its line there.
Checkpoints record the name of an operator's class.
"""

from __future__ import annotations

from collections.abc import Collection
from itertools import compress
from typing import Any

from millrace.common.functions import (
    FilterFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    MapFunction,
    ProcessFunction,
    ReduceFunction,
)
from millrace.common.functions.callables import CallableFilter
from millrace.runtime.bases.batch_operators import ByKey, OneKeyAtATime
from millrace.runtime.bases.operator import OperatorContext, Output, failing
from millrace.runtime.bases.process_operators import (
    ElementFunction,
    FunctionOperator,
    KeyedProcessBase,
    UnkeyedProcessBase,
    keyed_backend,
)
from millrace.runtime.elements import MAX_WATERMARK, Chunk
from millrace.runtime.failure import check_complete
from millrace.runtime.state.backend import KeyedStateBackend
from millrace.runtime.state.tables import ValueTable


class MapOperator(FunctionOperator[MapFunction]):
    """``DataStream.map``."""

    def process(self, chunk: Chunk, input: int) -> None:
        remaining = iter(chunk.values)
        try:
            values = list(map(self.function.map, remaining))
            check_complete(values, chunk.values)
        except Exception as error:
            raise self.context.error(error, failing(chunk.values, remaining)) from error
        self.emit(values, chunk.timestamps)


class FilterOperator(FunctionOperator[FilterFunction]):
    """``DataStream.filter``."""

    def open(self) -> None:
        super().open()
        # A plain callable is called without a method around it: bool() follows below.
        function = self.function
        self._predicate = function.func if isinstance(function, CallableFilter) else function.filter

    def process(self, chunk: Chunk, input: int) -> None:
        remaining = iter(chunk.values)
        try:
            # bool() here, so that the error for a result without truth value (an array) names its element
            accepted = list(map(bool, map(self._predicate, remaining)))
            check_complete(accepted, chunk.values)
        except Exception as error:
            raise self.context.error(error, failing(chunk.values, remaining)) from error
        timestamps = None if chunk.timestamps is None else list(compress(chunk.timestamps, accepted))
        self.emit(list(compress(chunk.values, accepted)), timestamps)


class FlatMapOperator(FunctionOperator[FlatMapFunction]):
    """``DataStream.flat_map``: the function returns an iterable or None; results keep the element's timestamp."""

    def process(self, chunk: Chunk, input: int) -> None:
        flat_map = self.function.flat_map
        values: list[object] = []
        remaining = iter(chunk.values)
        if chunk.timestamps is None:
            extend = values.extend
            try:
                for value in remaining:
                    results = flat_map(value)
                    if results is not None:
                        extend(results)
            except Exception as error:
                raise self.context.error(error, failing(chunk.values, remaining)) from error
            self.emit(values, None)
            return
        timestamps: list[int | None] = []
        try:
            for timestamp, value in zip(chunk.timestamps, remaining):
                results = flat_map(value)
                if results is not None:
                    values.extend(results)
                    timestamps.extend([timestamp] * (len(values) - len(timestamps)))
        except Exception as error:
            raise self.context.error(error, failing(chunk.values, remaining)) from error
        self.emit(values, timestamps)


class ProcessOperator(UnkeyedProcessBase[ProcessFunction]):
    """A ProcessFunction on a stream without keys."""

    def process(self, chunk: Chunk, input: int) -> None:
        self.run(chunk, self.function.process_element)


class KeyedProcessOperator(KeyedProcessBase[KeyedProcessFunction]):
    """A KeyedProcessFunction: keyed state and timers."""

    def process(self, chunk: Chunk, input: int) -> None:
        self.run(chunk, self.function.process_element)


class BatchKeyedProcessOperator(OneKeyAtATime, KeyedProcessOperator):
    """``KeyedProcessOperator`` in batch mode: one key after the other."""

    def method_of(self, input: int) -> ElementFunction:
        return self.function.process_element


STATE = "_reduce"


class ReduceOperator(FunctionOperator[ReduceFunction]):
    """Emits the running result with every element."""

    def setup(self, context: OperatorContext, output: Output) -> None:
        super().setup(context, output)
        self._backend = keyed_backend(self)

    def keyed_state(self) -> KeyedStateBackend:
        return self._backend

    def fold(self, chunk: Chunk) -> list[Any]:
        """The running result after each element; the last one of each key becomes its state."""
        table: ValueTable = self._backend.value_table(STATE)
        rows, reduce, results = table.rows, self.function.reduce, []
        keys, backend = chunk.keys or [], self._backend
        has_state = bool(backend.infos)  # the function, of its own
        remaining = iter(chunk.values)
        try:
            for key, value in zip(keys, remaining):
                if key in rows:
                    if has_state:
                        backend.at = key
                    value = reduce(rows[key], value)
                rows[key] = value
                results.append(value)
        except Exception as error:
            raise self.context.error(error, failing(chunk.values, remaining)) from error
        table.touched.update(dict.fromkeys(keys))
        return results

    def process(self, chunk: Chunk, input: int) -> None:
        self.emit(self.fold(chunk), chunk.timestamps)


class BatchReduceOperator(ByKey, ReduceOperator):
    """Emits one result per key, at its end."""

    folds = True

    def process(self, chunk: Chunk, input: int) -> None:
        self.fold(chunk)

    def process_watermark(self, watermark: int) -> None:
        if watermark == MAX_WATERMARK:
            self._emit_all()
        super().process_watermark(watermark)

    def end_keys(self) -> None:
        self._emit_all()
        self._backend.wipe()

    def _emit_all(self) -> None:
        self.emit(list(self._backend.value_table(STATE).rows.values()), None)

    def folded_entries(self) -> int:
        return len(self._backend.value_table(STATE).rows)

    def folded_keys(self) -> Collection[Any]:
        return self._backend.value_table(STATE).rows.keys()
