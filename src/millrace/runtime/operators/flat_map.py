"""One element in, any number out."""

from __future__ import annotations

from millrace.common.functions import FlatMapFunction
from millrace.runtime.bases.base import failing
from millrace.runtime.bases.function import FunctionOperator
from millrace.runtime.elements import Chunk


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
