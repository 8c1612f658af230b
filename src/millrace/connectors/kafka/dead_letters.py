"""Records that cannot be read go to another topic, and reading goes on."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from millrace.common.typeinfo import TypeInformation
from millrace.connectors.kafka.producing import Sending
from millrace.connectors.kafka.properties import reaching
from millrace.connectors.kafka.record import ProducerRecord, RecordDecoder, RecordError
from millrace.util.skipped import record_skipped

T = TypeVar("T")

DEADLINE_SECONDS = 60.0
_HEADER = "__connect.errors."
"""Kafka Connect's names of headers, which tools know."""

logger = logging.getLogger(__name__)


class DeadLetters(RecordDecoder[T]):
    """Decodes what can be decoded. The others are in the other topic, as they were, before those around them go on, so
    that none is lost. A record that is read again after a failure is there once more.

    :param topic: where they go, on the same brokers.
    :param properties: of the source.
    """

    def __init__(self, decoder: RecordDecoder[T], topic: str, properties: Mapping[str, str]) -> None:
        self._decoder, self._topic, self._properties = decoder, topic, dict(properties)
        self._sending: Sending | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_sending": None}

    def decode(self, messages: Sequence[Any]) -> tuple[list[T], list[int] | None]:
        bad: list[RecordError] = []
        found = self._good(messages, bad)
        if bad:
            self._send(bad)
            record_skipped(len(bad))
        return found

    def _good(self, messages: Sequence[Any], bad: list[RecordError]) -> tuple[list[T], list[int] | None]:
        """What can be decoded; halves where something can't."""
        try:
            return self._decoder.decode(messages)
        except RecordError as error:
            if len(messages) == 1:
                bad.append(error)
                return [], None
        middle = len(messages) // 2
        (first, times), (second, more) = (self._good(part, bad) for part in (messages[:middle], messages[middle:]))
        if not first or not second:
            return (first, times) if first else (second, more)
        return first + second, None if times is None or more is None else times + more

    def _send(self, bad: Sequence[RecordError]) -> None:
        if self._sending is None:
            self._sending = Sending(reaching(self._properties), DEADLINE_SECONDS)
        for error in bad:
            record = error.record
            own = {"topic": record.topic, "partition": record.partition, "offset": record.offset}
            headers = [(f"{_HEADER}{name}", str(value).encode()) for name, value in own.items()]
            headers.append((f"{_HEADER}exception.message", str(error).encode()))
            time = record.timestamp if record.timestamp >= 0 else None
            self._sending.send(
                ProducerRecord(self._topic, record.value, record.key, None, time, (*record.headers, *headers))
            )
        self._sending.flush()
        logger.warning("%d records cannot be read and are in topic %r; the first: %s", len(bad), self._topic, bad[0])

    def produced_type(self) -> TypeInformation | None:
        return self._decoder.produced_type()

    def close(self) -> None:
        if self._sending is not None:
            self._sending.close()
            self._sending = None
