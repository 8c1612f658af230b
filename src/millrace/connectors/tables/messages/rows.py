"""Messages as rows and rows as messages, all of a batch at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from millrace.connectors.messages.message import Message, MessageDecoder, MessageError
from millrace.connectors.messages.sending import MessageEncoder, Outgoing
from millrace.connectors.tables.metadata import MetadataColumn
from millrace.relational.formats import Decoded, DecodingFormat, EncodingFormat
from millrace.relational.rows import Rows, record_batch
from millrace.relational.types import DataType
from millrace.util.skipped import record_skipped


@dataclass(frozen=True)
class MessageMetadata(MetadataColumn):
    """
    :ivar told: the type that messages tell it in.
    """

    told: DataType

    @property
    def natural(self) -> DataType:
        return self.told

    def values(self, messages: Sequence[Message]) -> list[Any]:
        return [message.metadata.get(self.key) for message in messages]


@dataclass(frozen=True)
class RowsDecoder(MessageDecoder[Rows]):
    """
    :ivar format: gives the physical columns that are wanted; or one more, if none is.
    :ivar places: of the result: the column of the format, or one of metadata.
    """

    format: DecodingFormat
    places: tuple[int | MessageMetadata, ...]

    def decode(self, messages: Sequence[Message]) -> tuple[list[Rows], list[int] | None]:
        found = self._decoded(messages)
        if not len(found.rows):
            return [], None
        taken = None if found.messages is None else pa.array(found.messages)
        columns = []
        for place in self.places:
            if isinstance(place, int):
                columns.append(found.rows.columns[place])
                continue
            column = place.read(messages)
            columns.append(column if taken is None else column.take(taken))
        return [Rows(record_batch(columns, len(found.rows)), found.rows.kinds)], None

    def _decoded(self, messages: Sequence[Message]) -> Decoded:
        contents = pa.array([each.value for each in messages], pa.binary())
        try:
            found = self.format.decode(contents)
            record_skipped(found.skipped)
            return found
        except ValueError as error:
            raise self._first_wrong(messages, contents, error) from error

    def _first_wrong(self, messages: Sequence[Message], contents: pa.Array, error: ValueError) -> Exception:
        """The error for the message that cannot be read; which one it is costs another look at each."""
        for place, message in enumerate(messages):
            try:
                self.format.decode(contents.slice(place, 1))
            except ValueError as cause:
                return MessageError(message, cause)
        return error


@dataclass(frozen=True)
class RowsEncoder(MessageEncoder[Rows]):
    """
    :ivar columns: how many physical columns there are; metadata that is written comes behind them.
    :ivar metadata: its keys; ``to`` is where a message goes.
    """

    format: EncodingFormat
    columns: int
    metadata: tuple[str, ...] = ()
    to: str = ""

    def encode(self, element: Rows, timestamp: int | None) -> Iterable[Outgoing]:
        columns = element.columns
        contents = self.format.encode(element.with_columns(columns[: self.columns])).to_pylist()
        own = {key: columns[self.columns + place].to_pylist() for place, key in enumerate(self.metadata)}
        for place, value in enumerate(contents):
            known = {key: values[place] for key, values in own.items() if values[place] is not None}
            to = known.pop(self.to, "")
            yield Outgoing(value or b"", str(to), timestamp, known)
