"""Keeps the elements that a predicate accepts."""

from __future__ import annotations

from itertools import compress

from millrace.common.functions import FilterFunction
from millrace.common.functions.adapt import CallableFilter
from millrace.runtime.bases.base import failing
from millrace.runtime.bases.function import FunctionOperator
from millrace.runtime.elements import Chunk
from millrace.runtime.failure import check_complete


class FilterOperator(FunctionOperator[FilterFunction]):
    """``DataStream.filter``."""

    def open(self) -> None:
        super().open()
        # A plain callable needs no method around it: bool() follows below.
        function = self.function
        self._predicate = function.func if isinstance(function, CallableFilter) else function.filter

    def process(self, chunk: Chunk, input: int) -> None:
        remaining = iter(chunk.values)
        try:
            # bool() here: a result without truth value (an array) is the user's error and shall name its element
            accepted = list(map(bool, map(self._predicate, remaining)))
            check_complete(accepted, chunk.values)
        except Exception as error:
            raise self.context.error(error, failing(chunk.values, remaining)) from error
        timestamps = None if chunk.timestamps is None else list(compress(chunk.timestamps, accepted))
        self.emit(list(compress(chunk.values, accepted)), timestamps)
