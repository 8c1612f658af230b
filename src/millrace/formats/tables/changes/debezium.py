"""``debezium-json``: changes as Debezium captures them from databases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from millrace.formats.tables.changes.base import (
    CREATED,
    DELETED,
    UPDATED,
    ChangeDecoding,
    Changes,
    Members,
    milliseconds,
    row_type,
)
from millrace.formats.tables.changes.texts import ChangeEncoding, before_and_after
from millrace.formats.tables.json.format import NO_NULLS, PLAIN_DECIMALS, check_json_types, json_texts
from millrace.formats.tables.json.reader import JsonReader
from millrace.formats.tables.options import IGNORE, NULL_KEY_LITERAL, NULL_KEY_MODE, TIMES, Options
from millrace.relational import types as t
from millrace.relational.formats import DecodingFormat, EncodingFormat, FormatContext, FormatFactory

SCHEMA_INCLUDE = "schema-include"
_TIME = t.LocalZonedTimestampType(3)
_SCHEMA = "schema"
_INGESTED = "ingestion-timestamp"
_PROPERTIES = "source.properties"
_MAP = t.MapType(t.string(), t.string())
# The members of "source" that metadata is made of; tables of MongoDB are collections.
_OF_SOURCE = {
    "source.timestamp": ("ts_ms",),
    "source.database": ("db",),
    "source.schema": ("schema",),
    "source.table": ("table", "collection"),
}
MEMBERS = Members(
    "op",
    {"c": CREATED, "r": CREATED, "u": UPDATED, "d": DELETED},
    'the "before" field of a {} message is null. If it comes from the Postgres connector of Debezium, see that the '
    "table in Postgres has REPLICA IDENTITY FULL",
    'the "after" field of a {} message is null',
)


class DebeziumJsonFormatFactory(FormatFactory):
    identifier = "debezium-json"
    optional = (SCHEMA_INCLUDE, IGNORE, TIMES, NULL_KEY_MODE, NULL_KEY_LITERAL, PLAIN_DECIMALS, NO_NULLS)
    readable_metadata = {
        _SCHEMA: t.string(),
        _INGESTED: _TIME,
        "source.timestamp": _TIME,
        "source.database": t.string(),
        "source.schema": t.string(),
        "source.table": t.string(),
        _PROPERTIES: _MAP,
    }

    def decoding(self, table: FormatContext) -> DecodingFormat:
        options = Options(self.identifier, table)
        check_json_types(options)
        lenient, with_schema = options.flag(IGNORE), options.flag(SCHEMA_INCLUDE)
        row = row_type(table.columns)
        payload = [t.RowField("before", row), t.RowField("after", row), t.RowField("op", t.string())]
        if _INGESTED in table.metadata:
            payload.append(t.RowField("ts_ms", t.BigIntType()))
        source = _source_type(table.metadata)
        if source is not None:
            payload.append(t.RowField("source", source))
        members = [(field.name, field.data_type) for field in payload]
        if with_schema:
            members = [("payload", t.RowType(payload))]
            members += [("schema", t.string())] if _SCHEMA in table.metadata else []
        reader = JsonReader(table.table, members, options.times(), lenient=lenient)
        names = tuple(field.name for field in payload)
        return ChangeDecoding(table.table, reader, _Debezium(names, with_schema, table.metadata), lenient)

    def encoding(self, table: FormatContext) -> EncodingFormat:
        options = Options(self.identifier, table)
        check_json_types(options)
        if options.flag(SCHEMA_INCLUDE):
            raise options.problem(
                f"'debezium-json.{SCHEMA_INCLUDE}' is for reading: messages are written without a schema"
            )
        texts = json_texts(options)
        return ChangeEncoding(table.columns, texts, *before_and_after("op", "c", "d", texts.leave_out_nulls))


def _source_type(metadata: Sequence[str]) -> t.DataType | None:
    """How ``source`` is read: as little as is needed. None: not at all."""
    if _PROPERTIES in metadata:
        return _MAP
    names = [name for key in metadata for name in _OF_SOURCE.get(key, ())]
    kinds = {"ts_ms": t.BigIntType()}
    return t.RowType([t.RowField(name, kinds.get(name, t.string())) for name in names]) if names else None


@dataclass(frozen=True)
class _Debezium:
    names: tuple[str, ...]
    """members of the payload"""
    with_schema: bool
    keys: tuple[str, ...]
    """of the metadata"""

    def changes(self, columns: Sequence[pa.Array]) -> Changes:
        members = self._payload(columns)
        return MEMBERS.changes(members["op"], members["before"], members["after"])

    def metadata(self, columns: Sequence[pa.Array]) -> list[pa.Array]:
        members = self._payload(columns)
        found = []
        for key in self.keys:
            if key == _SCHEMA:
                found.append(columns[1] if self.with_schema else pa.nulls(len(members["op"]), pa.string()))
            elif key == _INGESTED:
                found.append(milliseconds(members["ts_ms"]))
            elif key == _PROPERTIES:
                found.append(members["source"])
            else:
                value = pc.coalesce(*[_member(members["source"], name) for name in _OF_SOURCE[key]])
                found.append(milliseconds(value.cast(pa.int64())) if key == "source.timestamp" else value)
        return found

    def _payload(self, columns: Sequence[pa.Array]) -> dict[str, pa.Array]:
        return dict(zip(self.names, columns[0].flatten() if self.with_schema else columns))


def _member(source: pa.Array, name: str) -> pa.Array:
    if pa.types.is_map(source.type):
        return pc.map_lookup(source, name, "last")
    return source.flatten()[source.type.get_field_index(name)]
