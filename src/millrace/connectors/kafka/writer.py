"""Writers without transactions: at least once, or without any promise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, TypeVar

from millrace.common.sink import SinkWriter, SinkWriterContext
from millrace.connectors.kafka.producing import Sending
from millrace.connectors.kafka.serializing import RecordSerializer

T = TypeVar("T")

_SERVE_EVERY = 1_000
"""records"""
_SERVE_EVERY_MS = 50


class PlainWriter(SinkWriter[T], Generic[T]):
    """Sends records as they come.

    :param waits: whether an epoch waits until its records are acknowledged.
    """

    def __init__(
        self,
        settings: Mapping[str, Any],
        serializer: RecordSerializer[T],
        place: tuple[int, int],
        deadline: float,
        waits: bool,
    ) -> None:
        self._sending = Sending(settings, deadline)
        self._serializer = serializer
        self._waits = waits
        self._count = 0
        self._serve_at = 0
        """ms"""
        serializer.open(*place, self._sending.partitions)

    def write(self, element: T, context: SinkWriterContext) -> None:
        for record in self._serializer.records(element, context.timestamp()):
            self._sending.send(record)
            self._count += 1
            if self._count % _SERVE_EVERY == 0:
                self._sending.serve()

    def end_slice(self, now: int) -> None:
        # Records go by themselves, ``linger.ms`` after they have come; this only hears what became of them.
        if now >= self._serve_at:
            self._serve_at = now + _SERVE_EVERY_MS
            self._sending.serve()

    def flush(self, end_of_input: bool) -> None:
        if self._waits or end_of_input:
            self._sending.flush()
        else:
            self._sending.serve()

    def close(self) -> None:
        self._sending.close()
