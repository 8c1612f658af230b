"""Documents as rows, and keys as ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from millrace.connectors.search.hits import Hit
from millrace.connectors.tables.metadata import MetadataColumn
from millrace.connectors.tables.search.texts import key_texts
from millrace.relational.fields import Schema
from millrace.relational.formats import Decoded, DecodingFormat
from millrace.relational.rows import Rows, record_batch
from millrace.relational.types import DataType, string
from millrace.relational.values import to_arrow, to_python
from millrace.util.skipped import record_skipped

METADATA: Mapping[str, DataType] = {"_id": string(), "_index": string()}
"""what documents know beside their fields"""


@dataclass(frozen=True)
class HitColumn(MetadataColumn):
    """The id of documents, or the index that they are in."""

    @property
    def natural(self) -> DataType:
        return METADATA[self.key]

    def values(self, messages: Sequence[Hit]) -> list[Any]:
        return [each.id if self.key == "_id" else each.index for each in messages]


@dataclass(frozen=True)
class HitRows:
    """
    :ivar format: gives the physical columns that are wanted; or one more, if none is.
    :ivar places: of the result: the column of the format, or one of metadata.
    """

    format: DecodingFormat
    places: tuple[int | HitColumn, ...]

    def __call__(self, hits: Sequence[Hit]) -> Rows | None:
        found = decoded(self.format, hits)
        if not len(found.rows):
            return None
        taken = None if found.messages is None else pa.array(found.messages)
        columns = []
        for place in self.places:
            if isinstance(place, int):
                columns.append(found.rows.columns[place])
                continue
            column = place.read(hits)
            columns.append(column if taken is None else column.take(taken))
        return Rows(record_batch(columns, len(found.rows)))


@dataclass(frozen=True)
class LookupRows:
    """The rows of each document, in Python; nearly always one."""

    format: DecodingFormat
    columns: Schema

    def __call__(self, hits: Sequence[Hit]) -> Sequence[Sequence[tuple[Any, ...]]]:
        rows: list[list[tuple[Any, ...]]] = [[] for _ in hits]
        if not hits:
            return rows
        found = decoded(self.format, hits)
        columns = [to_python(column, each.type) for column, each in zip(found.rows.columns, self.columns)]
        numbers = range(len(found.rows)) if found.messages is None else found.messages
        for number, row in zip(numbers, zip(*columns)):
            rows[number].append(row)
        return rows


@dataclass(frozen=True)
class KeyIds:
    """The ids of documents, of the values of their PRIMARY KEY.

    :ivar order: for each column of the key, where its value is.
    """

    kinds: tuple[DataType, ...]
    order: tuple[int, ...]
    delimiter: str

    def __call__(self, keys: Sequence[tuple[Any, ...]]) -> list[str | None]:
        values = [[key[place] for key in keys] for place in self.order]
        texts = [key_texts(to_arrow(each, kind), kind) for each, kind in zip(values, self.kinds)]
        joined = texts[0] if len(texts) == 1 else pc.binary_join_element_wise(*texts, self.delimiter)
        found: list[str | None] = joined.to_pylist()
        return found


def decoded(format: DecodingFormat, hits: Sequence[Hit]) -> Decoded:
    """:raises ValueError: a document is not what the table says; with its id."""
    contents = pa.array([each.source for each in hits], pa.binary())
    try:
        found = format.decode(contents)
    except ValueError as error:
        for place, hit in enumerate(hits):
            try:
                format.decode(contents.slice(place, 1))
            except ValueError as cause:
                raise ValueError(f"document '{hit.id}' of index '{hit.index}': {cause}") from error
        raise
    record_skipped(found.skipped)
    return found
