"""Adapters: a user's ``SinkFunction`` as a FLIP-143 sink. The one for ``SourceFunction`` is next door."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from millrace.common.sink import Sink, SinkWriter, SinkWriterContext, WriterInitContext
from millrace.connectors.function_source import SourceFunctionSource

if TYPE_CHECKING:
    from millrace.common.functions import SinkFunction

__all__ = ["SinkFunctionSink", "SourceFunctionSource", "sink_context"]

T = TypeVar("T")


class SinkFunctionSink(Sink[T], Generic[T]):
    """Hands each element to ``sink_function.invoke(value, context)``.

    A copy of the function serves one subtask: ``open`` before the first element, ``finish`` at the end of the input,
    ``close`` after it, after a failure, and when the subtask moves. A repeated epoch invokes again: at least once.

    A ``CheckpointedFunction`` needs an operator that keeps its state: ``add_sink`` gives it one, this raises TypeError.
    """

    def __init__(self, sink_function: SinkFunction[T]) -> None:
        from millrace.common.functions import CheckpointedFunction

        if isinstance(sink_function, CheckpointedFunction):
            name = type(sink_function).__name__
            raise TypeError(f"{name} is a CheckpointedFunction: use add_sink(), which keeps its state")
        self._function = sink_function

    def create_writer(self, context: WriterInitContext) -> SinkWriter[T]:
        return _FunctionWriter(self._function, context)

    def __repr__(self) -> str:
        return f"SinkFunctionSink({type(self._function).__name__})"


class _FunctionWriter(SinkWriter[T]):
    def __init__(self, function: SinkFunction[T], context: WriterInitContext) -> None:
        from millrace.common.functions.adapt import invoke_of

        self._function = function
        self._invoke = invoke_of(function)
        self._context = sink_context(context)
        open_ = getattr(function, "open", None)
        if open_ is not None:
            open_(context.get_runtime_context())

    def write(self, element: T, context: SinkWriterContext) -> None:
        self._context.writer_context = context
        self._invoke(element, self._context)

    def flush(self, end_of_input: bool) -> None:
        if end_of_input:
            self._function.finish()

    def close(self) -> None:
        close = getattr(self._function, "close", None)
        if close is not None:
            close()


def sink_context(context: WriterInitContext) -> Any:
    """A ``SinkFunction.Context``. Its class is made late: ``millrace.datastream`` imports the connectors."""
    from millrace.common.functions import SinkFunction

    class Context(SinkFunction.Context):
        writer_context: SinkWriterContext

        def current_processing_time(self) -> int:
            return context.current_processing_time()

        def current_watermark(self) -> int:
            return self.writer_context.current_watermark()

        def timestamp(self) -> int | None:
            return self.writer_context.timestamp()

    return Context()
