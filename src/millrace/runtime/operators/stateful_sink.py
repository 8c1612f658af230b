"""``add_sink`` with a function that has operator state: it stays open from epoch to epoch."""

from __future__ import annotations

from itertools import repeat
from typing import Any

from millrace.common.functions import SinkFunction
from millrace.common.functions.adapt import invoke_of
from millrace.runtime.bases.base import failing
from millrace.runtime.bases.contexts import OfElement
from millrace.runtime.bases.function import FunctionOperator
from millrace.runtime.elements import Chunk


class _Context(OfElement, SinkFunction.Context): ...


class StatefulSinkOperator(FunctionOperator[SinkFunction[Any]]):
    """A SinkFunction that is a CheckpointedFunction. Other sink functions are the writers of a ``SinkOperator``."""

    def open(self) -> None:
        super().open()
        self._invoke = invoke_of(self.function)
        self._sink_context = _Context(self)

    def process(self, chunk: Chunk, input: int) -> None:
        invoke, context = self._invoke, self._sink_context
        remaining = iter(chunk.values)
        try:
            for timestamp, value in zip(chunk.timestamps or repeat(None), remaining):
                context.current_timestamp = timestamp
                invoke(value, context)
        except Exception as error:
            raise self.context.error(error, failing(chunk.values, remaining), " to write") from error

    def end_input(self) -> None:
        try:
            self.function.finish()
        except Exception as error:
            raise self.context.error(error, during=" in finish()") from error
