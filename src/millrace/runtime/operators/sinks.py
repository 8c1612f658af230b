"""Sink operators: sinks with a writer, sink functions with state, cached streams, and results for the program.

The writer of a FLIP-143 sink prepares in the task what the driver commits. A sink function with operator state stays
open from epoch to epoch. Elements of ``print`` and ``execute_and_collect`` travel to the driver in the acknowledgement.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from itertools import repeat
from typing import Any

from millrace.common.functions import SinkFunction
from millrace.common.functions.callables import invoke_of
from millrace.common.sink import Sink, SinkWriter, SinkWriterContext, WriterInitContext
from millrace.common.text import printer
from millrace.common.typeinfo import TypeInformation
from millrace.runtime.bases.epoch_protocol import Result, ResultFiles, Results
from millrace.runtime.bases.operator import Operator, failing
from millrace.runtime.bases.process_operators import FunctionOperator, OfElement, OfOperator
from millrace.runtime.elements import Chunk
from millrace.runtime.storage import dumps, first_unpicklable

logger = logging.getLogger(__name__)


class _InitContext(OfOperator, WriterInitContext):
    _operator: SinkOperator

    def get_index_of_subtask(self) -> int:
        return self._operator.context.runtime.get_index_of_this_subtask()

    def get_number_of_parallel_subtasks(self) -> int:
        return self._operator.context.runtime.get_number_of_parallel_subtasks()

    def get_job_id(self) -> str:
        return str(self._operator.context.runtime.get_job_info().get_job_id())

    def get_checkpoint_id(self) -> int:
        return self._operator.epoch

    def get_restored_checkpoint_id(self) -> int | None:
        return self._operator.context.runtime.restored_checkpoint

    def is_idle(self) -> bool:
        return self._operator.idle


class _WriteContext(OfElement, SinkWriterContext): ...


class SinkOperator(Operator):
    """``DataStream.sink_to``. The writer is made for the first element, and closed when the input has ended, or when
    another state is restored."""

    def __init__(self, sink: Sink[Any]) -> None:
        self._sink = sink
        self.epoch = 0
        self._writer: SinkWriter[Any] | None = None
        self._states: list[Any] = []
        self._committables: tuple[Any, ...] = ()
        self._ended = False
        """whether the input has ended"""
        self._over = False
        """whether the writer has been flushed for the end of the input"""

    def begin_epoch(self, epoch: int) -> None:
        self.epoch = epoch
        self._committables = ()

    def _open_writer(self) -> SinkWriter[Any]:
        if self._writer is None:
            self.context.runtime.measures.accumulators.expect_again()
            context = _InitContext(self)
            try:
                if self._states:
                    self._writer = self._sink.restore_writer(context, self._states)
                else:
                    self._writer = self._sink.create_writer(context)
            except Exception as error:
                raise self.context.error(error, during=" to create the sink writer") from error
        return self._writer

    def process(self, chunk: Chunk, input: int) -> None:
        writer = self._open_writer()
        write: Callable[[Any, SinkWriterContext], None] = writer.write
        # Millrace's own writers may take many elements at once; elements that they don't take are written one by one.
        together = getattr(writer, "write_together", None)
        context = _WriteContext(self)
        remaining = iter(chunk.values)
        try:
            if together is not None:
                together(chunk.values, remaining, context)
            for timestamp, value in zip(chunk.timestamps or repeat(None), remaining):
                context.current_timestamp = timestamp
                write(value, context)
        except Exception as error:
            raise self.context.error(error, failing(chunk.values, remaining), " to write") from error

    def end_input(self) -> None:
        self._ended = True

    def end_slice(self) -> None:
        self.tick(self.context.clock())

    def tick(self, now: int) -> None:
        # No writer is made for this: without one, nothing can wait to be flushed.
        if self._writer is None:
            return
        try:
            self._writer.end_slice(now)
        except Exception as error:
            raise self.context.error(error, during=" to write") from error

    def end_epoch(self) -> None:
        """The first phase of the commit: flush the writer and prepare its committables."""
        if not self._takes_part():
            return
        writer = self._open_writer()
        last = self._ended and not self._over
        try:
            writer.flush(last)
            self._committables = tuple(writer.prepare_commit())
            self._states = list(writer.snapshot_state(self.epoch))
            self._over = self._ended
            if self._over and not self._sink.reports_each_epoch:
                self._close_writer()
        except Exception as error:
            raise self.context.error(error, during=" to flush") from error

    def _takes_part(self) -> bool:
        """Whether the writer has to prepare anything in this epoch."""
        if self._sink.reports_each_epoch:
            return True
        return not self._over and (self._writer is not None or bool(self._states) or self._ended)

    def committables(self) -> tuple[Any, ...]:
        """The committables that this epoch prepared."""
        return self._committables

    def snapshot(self) -> Any:
        return (self._states, self._over)

    def restore(self, snapshot: Any) -> None:
        """Restore the writer's states. A writer that exists has other contents, so it is closed; the next one starts
        from these states."""
        try:
            self._close_writer()
        except Exception:
            name = self.context.name
            logger.warning("%s: a sink writer that is out of date could not be closed", name, exc_info=True)
        self._states, self._over = snapshot
        self._ended = self._over

    def writer_states(self) -> tuple[Any, ...]:
        """The writer states for a savepoint or checkpoint."""
        return tuple(self._states)

    def take_over_small(self, smalls: Sequence[Any]) -> None:
        """Distribute the writer states of all earlier subtasks; a writer may get several states, or none."""
        runtime = self.context.runtime
        states = [state for states, _ in smalls for state in states]
        self._states = (
            list(smalls[runtime.get_index_of_this_subtask()][0])
            if len(smalls) == runtime.get_number_of_parallel_subtasks()
            else states[runtime.get_index_of_this_subtask() :: runtime.get_number_of_parallel_subtasks()]
        )

    def _close_writer(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()

    def close(self) -> None:
        self._close_writer()


# Sink functions with state


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


# Cached streams


class CacheOperator(SinkOperator):
    """``DataStream.cache``: a sink in the middle of a stream."""

    def process(self, chunk: Chunk, input: int) -> None:
        super().process(chunk, input)
        try:
            # Before a later operator changes an element in place.
            self._open_writer().flush(False)
        except Exception as error:
            raise self.context.error(error, during=" to keep its elements") from error
        self.output.emit(chunk)


# Results for the program


class PrintOperator(Operator):
    """``DataStream.print``: Flink's line format, ``identifier:subtask> text``."""

    def __init__(self, identifier: str | None, element_type: TypeInformation | None) -> None:
        self._identifier = identifier
        self._element_type = element_type
        self._lines: list[str] = []

    def open(self) -> None:
        self._text = str if self._element_type is None else printer(self._element_type)
        runtime = self.context.runtime
        parts = [self._identifier] if self._identifier else []
        if runtime.get_number_of_parallel_subtasks() > 1:
            parts.append(str(runtime.get_index_of_this_subtask() + 1))
        self._prefix = ":".join(parts) + "> " if parts else ""

    def process(self, chunk: Chunk, input: int) -> None:
        prefix, text = self._prefix, self._text
        self._lines.extend([prefix + text(value) for value in chunk.values])

    def take_lines(self) -> tuple[str, ...]:
        lines, self._lines = tuple(self._lines), []
        return lines


class CollectOperator(Operator):
    """``DataStream.execute_and_collect``."""

    def __init__(self) -> None:
        self._results = Results(None)
        self.most: int | None = None
        """the number of results not yet taken at which the operator accepts no more elements; None: no limit"""

    def fitting(self, elements: int) -> int:
        return elements if self.most is None or len(self._results) < self.most else 0

    def begin_epoch(self, files: ResultFiles | None) -> None:
        """:param files: where this run of the task writes result files; None: nowhere."""
        self._results = Results(files)

    def process(self, chunk: Chunk, input: int) -> None:
        # Pickled here, so that an error for a value that can't be pickled names this operator.
        try:
            part = dumps(chunk.values)
        except Exception as error:
            element = first_unpicklable(chunk.values)
            raise self.context.error(error, element, " to send results to the client") from error
        self._results.add(part)

    def take_results(self) -> tuple[Result, ...]:
        return self._results.take()
