"""One element in, one element out."""

from __future__ import annotations

from millrace.common.functions import MapFunction
from millrace.runtime.bases.base import failing
from millrace.runtime.bases.function import FunctionOperator
from millrace.runtime.elements import Chunk
from millrace.runtime.failure import check_complete


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
