"""What of a record beside key and value can be a column."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from millrace.connectors.kafka.record import TimestampType
from millrace.relational import types as t
from millrace.relational.arrow import arrow_type
from millrace.relational.functions.times.zones import local_times
from millrace.relational.type_table import Family, family_of
from millrace.relational.types import DataType

_TIME = t.LocalZonedTimestampType(3)
# key -> type, and how a message tells it
READABLE: dict[str, tuple[DataType, Callable[[Any], Any]]] = {
    "topic": (t.string(), lambda message: message.topic()),
    "partition": (t.IntType(), lambda message: message.partition()),
    "headers": (t.MapType(t.string(), t.VarBinaryType(t.MAX_LENGTH)), lambda message: _headers(message)),
    "leader-epoch": (t.IntType(), lambda message: message.leader_epoch()),
    "offset": (t.BigIntType(), lambda message: message.offset()),
    "timestamp": (_TIME, lambda message: message.timestamp()[1]),
    "timestamp-type": (t.string(), lambda message: TimestampType[message.timestamp()[0]]),
}


def _headers(message: Any) -> list[tuple[str, bytes | None]]:
    # Of a header that is there twice the last one counts, as in Flink.
    return list(dict(message.headers() or ()).items())


WRITABLE = ("headers", "timestamp", "topic")


@dataclass(frozen=True)
class MetadataColumn:
    """
    :ivar type: as the table declares it.
    :ivar zone: of the session, for times without a zone.
    """

    key: str
    type: DataType
    zone: str

    def problem(self) -> str | None:
        """Why it cannot have its type, None if it can."""
        natural = READABLE[self.key][0]
        same = type(natural) is type(self.type)
        times = natural is _TIME and isinstance(self.type, (t.TimestampType, t.LocalZonedTimestampType))
        numbers = family_of(natural) is Family.INTEGER and family_of(self.type) in (Family.INTEGER, Family.TEXT)
        return None if same or times or numbers else f"metadata '{self.key}' is a {natural}, not a {self.type}"

    def read(self, messages: Sequence[Any]) -> pa.Array:
        natural, tell = READABLE[self.key]
        values = [tell(message) for message in messages]
        if natural is not _TIME:
            return pa.array(values, arrow_type(natural)).cast(arrow_type(self.type))
        times = pa.array(values, pa.timestamp("ms", "UTC")).cast(pa.timestamp("us", "UTC"))
        if isinstance(self.type, t.TimestampType):
            times = local_times(times, self.zone)
        return times.cast(arrow_type(self.type))
