"""Messages of a partition as rows, all at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.connectors.kafka.record import RecordDecoder, RecordError
from millrace.connectors.tables.metadata import MetadataColumn
from millrace.relational.arrow import arrow_type
from millrace.relational.formats import DecodingFormat
from millrace.relational.nodes import Schema
from millrace.relational.rows import DELETE, UPDATE_AFTER, Rows, concat, record_batch
from millrace.util.skipped import record_skipped


@dataclass(frozen=True)
class Wanted:
    """Where a column of the result comes from.

    :ivar place: key, value, or metadata.
    :ivar at: the column that the format of key or value gives.
    """

    place: str
    at: int = 0
    metadata: MetadataColumn | None = None


@dataclass(frozen=True)
class RowsDecoder(RecordDecoder[Rows]):
    """Decodes keys and values by their formats, and adds metadata. Formats see only the columns that a query wants.

    :ivar key: None: nothing of the keys is wanted.
    :ivar value: None: nothing of the values is wanted.
    """

    key: DecodingFormat | None
    value: DecodingFormat | None
    wanted: tuple[Wanted, ...]

    def decode(self, messages: Sequence[Any]) -> tuple[list[Rows], list[int] | None]:
        rows = self.rows(messages)
        return ([rows] if len(rows) else []), None

    def rows(self, messages: Sequence[Any]) -> Rows:
        places: Any = None
        value = None
        if self.value is not None:
            found = _decode(self.value, messages, pa.array([each.value() for each in messages], pa.binary()))
            value, places = found.rows, found.messages
        keys = None if self.key is None else self._keys(self.key, messages)
        count = len(messages) if value is None else len(value)
        taken = None if places is None else pa.array(places)
        columns = []
        for each in self.wanted:
            if each.place == "value":
                assert value is not None
                columns.append(value.columns[each.at])
                continue
            if each.place == "key":
                assert keys is not None
                column = keys[each.at]
            else:
                assert each.metadata is not None
                column = each.metadata.read(messages)
            columns.append(column if taken is None else column.take(taken))
        return Rows(record_batch(columns, count), None if value is None else value.kinds)

    def _keys(self, format: DecodingFormat, messages: Sequence[Any]) -> list[pa.Array]:
        """A row for every message; NULLs where the format gives none."""
        return _one_each(format, messages, pa.array([each.key() for each in messages], pa.binary()))


def _one_each(format: DecodingFormat, messages: Sequence[Any], contents: pa.Array) -> list[pa.Array]:
    found = _decode(format, messages, contents)
    if found.messages is None:
        return list(found.rows.columns)
    places = np.full(len(messages), -1, np.int64)
    places[found.messages] = np.arange(len(found.rows))
    taken = pa.array(places, mask=places < 0)
    return [column.take(taken) for column in found.rows.columns]


def _decode(format: DecodingFormat, messages: Sequence[Any], contents: pa.Array) -> Any:
    try:
        found = format.decode(contents)
        record_skipped(found.skipped)
        return found
    except ValueError as error:
        raise _first_wrong(format, messages, contents, error) from error


def _first_wrong(format: DecodingFormat, messages: Sequence[Any], contents: pa.Array, error: ValueError) -> Exception:
    """The error for the message that cannot be read; which one it is costs another look at each."""
    for place, message in enumerate(messages):
        try:
            format.decode(contents.slice(place, 1))
        except ValueError as cause:
            return RecordError(message, cause)
    return error


@dataclass(frozen=True)
class UpsertDecoder(RecordDecoder[Rows]):
    """Of a record without value the row with its key is deleted; any other is the row's new content.

    :ivar columns: of the result, for the NULLs of deletions.
    """

    decoder: RowsDecoder
    columns: Schema

    def decode(self, messages: Sequence[Any]) -> tuple[list[Rows], list[int] | None]:
        parts = []
        start = 0
        gone = [each.value() is None for each in messages]
        for end in range(1, len(messages) + 1):
            # Neighbours of one kind are decoded together: order counts.
            if end == len(messages) or gone[end] != gone[start]:
                part = messages[start:end]
                parts.append(self._deleted(part) if gone[start] else self._changed(part))
                start = end
        parts = [part for part in parts if len(part)]
        return ([concat(parts)] if parts else []), None

    def _changed(self, messages: Sequence[Any]) -> Rows:
        rows = self.decoder.rows(messages)
        return Rows(rows.batch, np.full(len(rows), UPDATE_AFTER, np.uint8))

    def _deleted(self, messages: Sequence[Any]) -> Rows:
        there = tuple(each for each in self.decoder.wanted if each.place != "value")
        given = iter(RowsDecoder(self.decoder.key, None, there).rows(messages).columns)
        columns = [
            pa.nulls(len(messages), arrow_type(column.type)) if each.place == "value" else next(given)
            for each, column in zip(self.decoder.wanted, self.columns)
        ]
        return Rows(record_batch(columns, len(messages)), np.full(len(messages), DELETE, np.uint8))


__all__ = ["RowsDecoder", "UpsertDecoder", "Wanted"]
