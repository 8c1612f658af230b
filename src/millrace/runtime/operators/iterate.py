"""The head of a loop: hands its input on, and before it what the loop's end fed back in the epoch before.

What is fed back has the form of an exchange's packets, and takes part in no watermark: event time in the loop is that
of the input. Only the end of the input waits at the head, until the driver knows that nothing comes back any more.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from millrace.runtime.bases.base import Output, ReadingLimits, ReadingOperator
from millrace.runtime.elements import MAX_WATERMARK, Chunk, LatencyMark, Status
from millrace.runtime.exchange.codec import decode, encode
from millrace.runtime.protocol.epoch import SourceOrder, SourceReport

END_OF_TIME = encode(Chunk([]), [(0, MAX_WATERMARK)])
"""The packet with which the driver lets the last watermark pass."""

Mark = int | Status
_ENDS = frozenset({MAX_WATERMARK, Status.FINISHED})


class _EndsWithLoop:
    """An output that only lets its input's ends pass (the last watermark, and the end itself) when they are allowed."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self.arrived: set[Mark] = set()
        self.allowed: set[Mark] = set()
        self.emit = output.emit
        self.emit_side = output.emit_side

    def mark(self, mark: Mark) -> None:
        if mark in _ENDS:
            self.arrived.add(mark)
            self._let_pass(mark)
        else:
            self._output.mark(mark)

    def allow(self, mark: Mark) -> None:
        self.allowed.add(mark)
        self._let_pass(mark)

    def _let_pass(self, mark: Mark) -> None:
        if mark in self.arrived and mark in self.allowed:
            self._output.mark(mark)


class IterateOperator(ReadingOperator):
    """``DataStream.iterate``; ``max_rounds`` is for the driver."""

    def __init__(self, max_rounds: int | None) -> None:
        self.max_rounds = max_rounds

    def setup(self, context: Any, output: Output) -> None:
        self._ends = _EndsWithLoop(output)
        super().setup(context, self._ends)

    def process(self, chunk: Chunk, input: int) -> None:
        self.output.emit(chunk)

    def read(self, order: SourceOrder, epoch: int, limits: ReadingLimits) -> Iterator[None]:
        """All that was fed back, whatever the limits of an epoch: a round is one epoch.

        A job that is stopped loses nothing of it either: its loops end when they are empty.
        """
        for packet in order.splits:
            for item in decode(packet):
                if isinstance(item, Chunk):
                    self.emit(item.values, item.timestamps)
                    yield
                elif not isinstance(item, LatencyMark):
                    self._ends.allow(item)
        if order.no_more_splits:
            self._ends.allow(Status.FINISHED)
        yield

    @property
    def finished(self) -> bool:
        return Status.FINISHED in self._ends.arrived & self._ends.allowed

    def report(self) -> SourceReport:
        return SourceReport((), self.finished, self.watermark)

    def snapshot(self) -> Any:
        return (set(self._ends.arrived), set(self._ends.allowed))

    def restore(self, snapshot: Any) -> None:
        arrived, allowed = snapshot
        self._ends.arrived, self._ends.allowed = set(arrived), set(allowed)
