"""Keeps the elements of a stream for later jobs, and hands them on."""

from __future__ import annotations

from millrace.runtime.elements import Chunk
from millrace.runtime.operators.sink import SinkOperator


class CacheOperator(SinkOperator):
    """``DataStream.cache``: a sink in the middle of a stream."""

    def process(self, chunk: Chunk, input: int) -> None:
        super().process(chunk, input)
        try:
            # Before anybody below changes an element in place.
            self._open_writer().flush(False)
        except Exception as error:
            raise self.context.error(error, during=" to keep its elements") from error
        self.output.emit(chunk)
