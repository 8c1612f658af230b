"""The end of a loop: its elements travel to the driver in the acknowledgement, and from there to the loop's head."""

from __future__ import annotations

from itertools import chain, repeat

from millrace.runtime.bases.base import Operator
from millrace.runtime.elements import Chunk
from millrace.runtime.exchange.codec import encode
from millrace.runtime.exchange.outbox import FLUSH_AT
from millrace.runtime.pickling import first_unpicklable


class CloseWithOperator(Operator):
    """``IterativeStream.close_with``; ``head`` is the id of the loop's head, for the driver."""

    def __init__(self, head: int) -> None:
        self.head = head
        self._chunks: list[Chunk] = []
        self._waiting = 0
        self._packets: list[bytes] = []

    def process(self, chunk: Chunk, input: int) -> None:
        self._chunks.append(chunk)
        self._waiting += len(chunk.values)
        if self._waiting >= FLUSH_AT:
            self._pack()

    def end_epoch(self) -> None:
        if self._chunks:
            self._pack()

    def _pack(self) -> None:
        chunks, self._chunks, self._waiting = self._chunks, [], 0
        values = [value for chunk in chunks for value in chunk.values]
        timestamps = None
        if any(chunk.timestamps is not None for chunk in chunks):
            timestamps = list(chain.from_iterable(c.timestamps or repeat(None, len(c.values)) for c in chunks))
        try:
            self._packets.append(encode(Chunk(values, timestamps), []))
        except Exception as error:
            raise self.context.error(error, first_unpicklable(values), " to feed its elements back") from error

    def take_packets(self) -> tuple[bytes, ...]:
        """What goes back to the head, in the format of an exchange."""
        packets, self._packets = tuple(self._packets), []
        return packets
