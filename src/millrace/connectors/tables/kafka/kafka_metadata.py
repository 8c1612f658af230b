"""What of a record beside key and value can be a column."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from millrace.connectors.kafka.record import TimestampType
from millrace.connectors.tables.metadata import TIME, MetadataColumn
from millrace.relational import types as t
from millrace.relational.types import DataType

# key -> type, and how a message tells it
READABLE: dict[str, tuple[DataType, Callable[[Any], Any]]] = {
    "topic": (t.string(), lambda message: message.topic()),
    "partition": (t.IntType(), lambda message: message.partition()),
    "headers": (t.MapType(t.string(), t.VarBinaryType(t.MAX_LENGTH)), lambda message: _headers(message)),
    "leader-epoch": (t.IntType(), lambda message: message.leader_epoch()),
    "offset": (t.BigIntType(), lambda message: message.offset()),
    "timestamp": (TIME, lambda message: message.timestamp()[1]),
    "timestamp-type": (t.string(), lambda message: TimestampType[message.timestamp()[0]]),
}


def _headers(message: Any) -> list[tuple[str, bytes | None]]:
    # Of a header that is there twice the last one counts, as in Flink.
    return list(dict(message.headers() or ()).items())


WRITABLE = ("headers", "timestamp", "topic")


@dataclass(frozen=True)
class KafkaMetadata(MetadataColumn):
    @property
    def natural(self) -> DataType:
        return READABLE[self.key][0]

    def values(self, messages: Sequence[Any]) -> list[Any]:
        tell = READABLE[self.key][1]
        return [tell(message) for message in messages]
