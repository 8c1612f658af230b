"""Adapters: a user's ``SinkFunction`` as a FLIP-143 sink. The one for ``SourceFunction`` is next door."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from millrace.common.sink import Sink, SinkWriter, SinkWriterContext, WriterInitContext
from millrace.connectors.function_source import SourceFunctionSource

if TYPE_CHECKING:
    from millrace.datastream.functions import SinkFunction

__all__ = ["SinkFunctionSink", "SourceFunctionSource"]

T = TypeVar("T")


class SinkFunctionSink(Sink[T], Generic[T]):
    """Hands each element to ``sink_function.invoke(value, context)``.

    A copy of the function serves one subtask for one epoch: ``open`` before the first element, ``finish`` only at the
    end of the input, ``close`` after success and failure. A repeated epoch invokes again: at least once.
    """

    def __init__(self, sink_function: SinkFunction[T]) -> None:
        self._function = sink_function

    def create_writer(self, context: WriterInitContext) -> SinkWriter[T]:
        return _FunctionWriter(self._function, context)

    def __repr__(self) -> str:
        return f"SinkFunctionSink({type(self._function).__name__})"


class _FunctionWriter(SinkWriter[T]):
    def __init__(self, function: SinkFunction[T], context: WriterInitContext) -> None:
        self._function = function
        self._invoke: Any = function.invoke
        self._with_context = _takes_context(function.invoke)
        self._context = _sink_context(context)
        open_ = getattr(function, "open", None)
        if open_ is not None:
            open_(SubtaskContext(context.get_index_of_subtask(), context.get_number_of_parallel_subtasks()))

    def write(self, element: T, context: SinkWriterContext) -> None:
        if self._with_context:
            self._context.writer_context = context
            self._invoke(element, self._context)
        else:
            self._invoke(element)

    def flush(self, end_of_input: bool) -> None:
        if end_of_input:
            self._function.finish()

    def close(self) -> None:
        close = getattr(self._function, "close", None)
        if close is not None:
            close()


def _takes_context(invoke: Any) -> bool:
    """Whether ``invoke`` takes (value, context); a plain ``invoke(value)`` is fine too."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(invoke).parameters.values()
    return sum(p.kind in kinds for p in parameters) >= 2 or any(
        p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters
    )


class SubtaskContext:
    """What the ``open`` of an adapted function is given: the part of ``RuntimeContext`` that connectors know."""

    def __init__(self, subtask: int, parallelism: int) -> None:
        self._subtask = subtask
        self._parallelism = parallelism

    def get_index_of_this_subtask(self) -> int:
        return self._subtask

    def get_number_of_parallel_subtasks(self) -> int:
        return self._parallelism


def _sink_context(context: WriterInitContext) -> Any:
    """A ``SinkFunction.Context``. Its class is made late: ``millrace.datastream`` imports the connectors."""
    from millrace.datastream.functions import SinkFunction

    class Context(SinkFunction.Context):
        writer_context: SinkWriterContext

        def current_processing_time(self) -> int:
            return context.current_processing_time()

        def current_watermark(self) -> int:
            return self.writer_context.current_watermark()

        def timestamp(self) -> int | None:
            return self.writer_context.timestamp()

    return Context()
