"""``KeyedStream.reduce``: folds each key's elements; emits the running result, in batch mode only the last one."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from millrace.common.functions import ReduceFunction
from millrace.runtime.bases.base import failing
from millrace.runtime.bases.by_key import ByKey
from millrace.runtime.bases.function import FunctionOperator
from millrace.runtime.bases.keyed import keyed_backend
from millrace.runtime.elements import MAX_WATERMARK, Chunk
from millrace.runtime.state.backend import KeyedStateBackend
from millrace.runtime.state.tables import ValueTable

STATE = "_reduce"


class ReduceOperator(FunctionOperator[ReduceFunction]):
    """Emits the running result with every element."""

    def setup(self, context: Any, output: Any) -> None:
        super().setup(context, output)
        self._backend = keyed_backend(self)

    def keyed_state(self) -> KeyedStateBackend:
        return self._backend

    def fold(self, chunk: Chunk) -> list[Any]:
        """The running result after each element; the last one of a key is its new state."""
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
