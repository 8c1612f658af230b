"""Writes elements: the writer of a FLIP-143 sink, which prepares in the task what the driver commits."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from itertools import repeat
from typing import Any

from millrace.common.sink import Sink, SinkWriter, SinkWriterContext, WriterInitContext
from millrace.runtime.bases.base import Operator, failing
from millrace.runtime.bases.contexts import OfElement, OfOperator
from millrace.runtime.elements import Chunk

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
    """``DataStream.sink_to``. The writer lasts: it is made for the first element, and closed when the input has ended,
    or when what it knows is out of date."""

    def __init__(self, sink: Sink[Any]) -> None:
        self._sink = sink
        self.epoch = 0
        self._writer: SinkWriter[Any] | None = None
        self._states: list[Any] = []
        self._committables: tuple[Any, ...] = ()
        self._ended = False
        """whether the last element has come"""
        self._over = False
        """whether the writer knows"""

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
        # Writers of our own may take many elements at once; what they leave goes one by one.
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
        # A writer is not made for it: one that nothing was given to has nothing that waits.
        if self._writer is None:
            return
        try:
            self._writer.end_slice(now)
        except Exception as error:
            raise self.context.error(error, during=" to write") from error

    def end_epoch(self) -> None:
        """First phase of the commit."""
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
        """Whether the writer has something to say about this epoch."""
        if self._sink.reports_each_epoch:
            return True
        return not self._over and (self._writer is not None or bool(self._states) or self._ended)

    def committables(self) -> tuple[Any, ...]:
        """What this epoch prepared."""
        return self._committables

    def snapshot(self) -> Any:
        return (self._states, self._over)

    def restore(self, snapshot: Any) -> None:
        """A writer that is there holds something else by now: the next one begins with these states."""
        try:
            self._close_writer()
        except Exception:
            name = self.context.name
            logger.warning("%s: a sink writer that is out of date could not be closed", name, exc_info=True)
        self._states, self._over = snapshot
        self._ended = self._over

    def writer_states(self) -> tuple[Any, ...]:
        """What the writer needs to go on."""
        return tuple(self._states)

    def take_over_small(self, smalls: Sequence[Any]) -> None:
        """The states of all writers are dealt out; a writer may get several, or none."""
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
