"""``debezium-json``, ``debezium-avro-confluent``, ``maxwell-json``, ``ogg-json`` (Oracle GoldenGate) and
``changelog-json``, where a message is one side of a change with its kind: ``{"data": {...}, "op": "+I"}``.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millrace.common.types import RowKind
from millrace.formats import text_columns
from millrace.formats.tables.avro_format import avro_columns, avro_records
from millrace.formats.tables.change_messages import (
    CREATED,
    DELETED,
    UPDATED,
    ChangeDecoding,
    ChangeEncoding,
    Changes,
    FlatChanges,
    Frame,
    Members,
    Metadata,
    PartialRows,
    Reader,
    before_and_after,
    flat_decoding,
    milliseconds,
    row_type,
    seconds,
)
from millrace.formats.tables.confluent import (
    OPTIONS,
    RegistryReader,
    RegistryWriter,
    registry_of,
    subject_of,
    written_schema,
)
from millrace.formats.tables.format_options import IGNORE, NULL_KEY_LITERAL, NULL_KEY_MODE, TIMES, Options, malformed
from millrace.formats.tables.json_format import NO_NULLS, PLAIN_DECIMALS, JsonTexts, check_json_types, json_texts
from millrace.formats.tables.json_reading import JsonReader
from millrace.formats.tables.message_reading import Piece
from millrace.relational import types as t
from millrace.relational.nodes import Schema
from millrace.relational.rex import Field
from millrace.relational.rows import Rows, record_batch
from millrace.relational.sources import ALL_KINDS, Decoded, DecodingFormat, EncodingFormat, FormatContext, FormatFactory

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
    """keys of ``Metadata`` that the table has as columns"""

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


class DebeziumAvroFormatFactory(FormatFactory):
    identifier = "debezium-avro-confluent"
    optional = OPTIONS

    def decoding(self, table: FormatContext) -> DecodingFormat:
        reader = _Reader(RegistryReader(table.table, registry_of(Options(self.identifier, table))), table.columns)
        return ChangeDecoding(table.table, reader, _Interpreter(), lenient=False)

    def encoding(self, table: FormatContext) -> EncodingFormat:
        options = Options(self.identifier, table)
        schema = written_schema(options, _change)
        return _Encoding(RegistryWriter(table.table, registry_of(options), subject_of(options), schema), table.columns)


def _change(row: dict[str, Any]) -> dict[str, Any]:
    """The schema of a change of a row."""
    return {
        "type": "record",
        "name": f"{row['name']}_change",
        "fields": [
            {"name": "before", "type": ["null", row], "default": None},
            {"name": "after", "type": ["null", row["name"]], "default": None},
            {"name": "op", "type": ["null", "string"], "default": None},
        ],
    }


class _Reader:
    """The members ``op``, ``before`` and ``after`` of messages, as columns."""

    def __init__(self, reader: RegistryReader, columns: Schema) -> None:
        self._reader = reader
        row = row_type(columns)
        self._members = (Field("op", t.string()), Field("before", row), Field("after", row))

    def read(self, messages: pa.Array) -> Piece:
        records, numbers = self._reader.records(messages)
        return Piece(avro_columns(records, self._members), numbers)


class _Interpreter:
    def changes(self, columns: Any) -> Changes:
        return MEMBERS.changes(*columns)

    def metadata(self, columns: Any) -> list[pa.Array]:
        return []


class _Encoding(EncodingFormat):
    kinds = ALL_KINDS

    def __init__(self, writer: RegistryWriter, columns: Schema) -> None:
        self._writer, self._columns = writer, columns

    def encode(self, rows: Rows) -> pa.Array:
        records: list[dict[str, Any] | None] = []
        for record, adds in zip(avro_records(rows, self._columns), rows.adds().tolist()):
            sides = {"before": None, "after": record} if adds else {"before": record, "after": None}
            records.append({**sides, "op": "c" if adds else "d"})
        return self._writer.messages(records)


_NAMES = t.ArrayType(t.string())
_MAXWELL_MEMBERS = Members(
    "type",
    {"insert": CREATED, "bootstrap-insert": CREATED, "update": UPDATED, "delete": DELETED},
    'the "old" field of a {} message is null',
    'the "data" field of a {} message is null',
)
MAXWELL_METADATA = {
    "database": Metadata("database", t.string(), t.string()),
    "table": Metadata("table", t.string(), t.string()),
    "primary-key-columns": Metadata("primary_key_columns", _NAMES, _NAMES),
    "ingestion-timestamp": Metadata("ts", t.BigIntType(), t.LocalZonedTimestampType(3), seconds),
}


class MaxwellJsonFormatFactory(FormatFactory):
    identifier = "maxwell-json"
    optional = (IGNORE, TIMES, NULL_KEY_MODE, NULL_KEY_LITERAL, PLAIN_DECIMALS, NO_NULLS)
    readable_metadata = {key: each.type for key, each in MAXWELL_METADATA.items()}

    def decoding(self, table: FormatContext) -> DecodingFormat:
        options = Options(self.identifier, table)
        check_json_types(options)
        row = row_type(table.columns)
        members = [("data", row), ("old", row), ("type", t.string())]
        metadata = tuple(MAXWELL_METADATA[key] for key in table.metadata)
        return flat_decoding(options, _Maxwell(metadata), members, PartialRows("update", lists=False))

    def encoding(self, table: FormatContext) -> EncodingFormat:
        options = Options(self.identifier, table)
        check_json_types(options)
        created, deleted = (Frame('{"data":', f',"type":"{kind}"}}') for kind in ("insert", "delete"))
        return ChangeEncoding(table.columns, json_texts(options), created, deleted)


class _Maxwell(FlatChanges):
    def changes(self, columns: Sequence[pa.Array]) -> Changes:
        data, old, kind = columns[:3]
        return _MAXWELL_MEMBERS.changes(kind, pc.if_else(pc.equal(kind, "update"), old, data), data)


_OGG_TIME = t.LocalZonedTimestampType(6)


_OGG_MEMBERS = Members(
    "op_type",
    {"I": CREATED, "U": UPDATED, "D": DELETED},
    'the "before" field of a {} message is null. If the table is in Postgres, see that it has REPLICA IDENTITY FULL',
    'the "after" field of a {} message is null',
)


def _moments(texts: pa.Array) -> pa.Array:
    """Times of GoldenGate, with a blank or a T between date and time, in UTC; NULL for what is none."""
    plain = pc.utf8_rtrim(pc.replace_substring(texts, "T", " "), characters="Z")
    try:
        return text_columns.timestamps(plain, text_columns.SQL, 6).cast(text_columns.US_UTC)
    except (pa.ArrowException, ValueError):
        return pa.array([_moment(text) for text in plain.to_pylist()], text_columns.US).cast(text_columns.US_UTC)


def _moment(text: str | None) -> dt.datetime | None:
    try:
        return None if text is None else text_columns.parse_timestamp(text, text_columns.SQL, 6)
    except ValueError:
        return None


OGG_METADATA = {
    "table": Metadata("table", t.string(), t.string()),
    "primary-keys": Metadata("primary_keys", _NAMES, _NAMES),
    "ingestion-timestamp": Metadata("current_ts", t.string(), _OGG_TIME, _moments),
    "event-timestamp": Metadata("op_ts", t.string(), _OGG_TIME, _moments),
}


class OggJsonFormatFactory(FormatFactory):
    identifier = "ogg-json"
    optional = (IGNORE, TIMES, NULL_KEY_MODE, NULL_KEY_LITERAL, PLAIN_DECIMALS, NO_NULLS)
    readable_metadata = {key: each.type for key, each in OGG_METADATA.items()}

    def decoding(self, table: FormatContext) -> DecodingFormat:
        options = Options(self.identifier, table)
        check_json_types(options)
        row = row_type(table.columns)
        members = [("before", row), ("after", row), ("op_type", t.string())]
        metadata = tuple(OGG_METADATA[key] for key in table.metadata)
        return flat_decoding(options, _Ogg(metadata, options.flag(IGNORE)), members)

    def encoding(self, table: FormatContext) -> EncodingFormat:
        options = Options(self.identifier, table)
        check_json_types(options)
        texts = json_texts(options)
        return ChangeEncoding(table.columns, texts, *before_and_after("op_type", "I", "D", texts.leave_out_nulls))


@dataclass(frozen=True)
class _Ogg(FlatChanges):
    lenient: bool
    """times that are none are NULL"""

    def changes(self, columns: Sequence[pa.Array]) -> Changes:
        before, after, operation = columns[:3]
        found = _OGG_MEMBERS.changes(operation, before, after)
        return found if self.lenient else replace(found, problems=(*found.problems, *self._no_times(columns)))

    def _no_times(self, columns: Sequence[pa.Array]) -> Iterator[tuple[int, str]]:
        for each, column in zip(self.wanted, columns[3:]):
            wrong = pc.and_(column.is_valid(), each.of(column).is_null())
            for at in np.flatnonzero(np.asarray(wrong)):
                yield int(at), f"field '{each.member}': not a timestamp: {column[at].as_py()!r}"


_SIGNS = {"+I": RowKind.INSERT, "-U": RowKind.UPDATE_BEFORE, "+U": RowKind.UPDATE_AFTER, "-D": RowKind.DELETE}
_WORDS = pa.array(list(_SIGNS))
_KINDS = np.array([kind.value for kind in _SIGNS.values()], np.uint8)


class ChangelogJsonFormatFactory(FormatFactory):
    identifier = "changelog-json"
    optional = (IGNORE, TIMES)

    def decoding(self, table: FormatContext) -> DecodingFormat:
        options = Options(self.identifier, table)
        check_json_types(options)
        lenient = options.flag(IGNORE)
        members = [("data", row_type(table.columns)), ("op", t.string())]
        reader = JsonReader(table.table, members, options.times(), lenient=lenient)
        return ChangelogDecoding(table.table, reader, lenient)

    def encoding(self, table: FormatContext) -> EncodingFormat:
        options = Options(self.identifier, table)
        check_json_types(options)
        return ChangelogEncoding(table.columns, json_texts(options))


class ChangelogDecoding(DecodingFormat):
    """:param lenient: messages without a row, or of a kind that there is not, are left out and counted."""

    kinds = ALL_KINDS

    def __init__(self, table: str, reader: Reader, lenient: bool) -> None:
        self._table, self._reader, self._lenient = table, reader, lenient

    def decode(self, messages: pa.Array) -> Decoded:
        found = self._reader.read(messages)
        data, operation = found.columns[:2]
        places = pc.index_in(operation, value_set=_WORDS)
        good = np.asarray(pc.and_(places.is_valid(), data.is_valid()))
        wrong = np.flatnonzero(~good)
        if len(wrong) and not self._lenient:
            at, number = int(wrong[0]), int(found.numbers[wrong[0]])
            told = operation[at].as_py()
            reason = 'the "data" field is null' if told in _SIGNS else f'unknown "op" value {told!r}'
            raise malformed(self._table, number, messages[number].as_py(), reason)
        kept = pa.array(np.flatnonzero(good))
        columns = [column.take(kept) for column in data.flatten()]
        kinds = _KINDS[np.asarray(places.take(kept))]
        rows = Rows(record_batch(columns, len(kept)), kinds)
        return Decoded(rows, found.numbers[good], found.skipped + len(wrong))


class ChangelogEncoding(EncodingFormat):
    kinds = ALL_KINDS

    def __init__(self, columns: Schema, texts: JsonTexts) -> None:
        self._columns, self._texts = columns, texts

    def encode(self, rows: Rows) -> pa.Array:
        fields = [(column.name, array, column.type) for column, array in zip(self._columns, rows.columns)]
        by_kind = {kind.value: sign for sign, kind in _SIGNS.items()}
        signs = pa.array([by_kind[kind] for kind in rows.kind_values().tolist()], pa.string())
        data = self._texts.objects(fields, len(rows))
        return pc.binary_join_element_wise('{"data":', data, ',"op":"', signs, '"}', "").cast(pa.binary())
