"""``canal-json``: changes of MySQL as Canal captures them, several rows a message; and ``canal-protobuf``: the packets
that Canal sends where its flat messages are off (needs protobuf).

Every packet becomes the JSON messages that Canal would have sent instead, an entry each. A packet does not say when
Canal handled it, so ``ingestion-timestamp`` is NULL.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millrace.formats.tables.change_messages import (
    CREATED,
    DELETED,
    NOTHING,
    UPDATED,
    ChangeDecoding,
    ChangeEncoding,
    Changes,
    FlatChanges,
    Frame,
    Members,
    Metadata,
    PartialRows,
    flat_decoding,
    milliseconds,
    row_type,
)
from millrace.formats.tables.format_options import IGNORE, NULL_KEY_LITERAL, NULL_KEY_MODE, TIMES, Options, malformed
from millrace.formats.tables.json_format import NO_NULLS, PLAIN_DECIMALS, check_json_types, json_texts
from millrace.formats.tables.json_reading import JsonReader
from millrace.formats.tables.message_reading import Numbers
from millrace.relational import types as t
from millrace.relational.functions.regex import UnsupportedRegex, compiled
from millrace.relational.sources import Decoded, DecodingFormat, EncodingFormat, FormatContext, FormatFactory

DATABASES, TABLES = "database.include", "table.include"
_NAMES = t.ArrayType(t.string())
_TIME = t.LocalZonedTimestampType(3)
_SQL_TYPES = t.MapType(t.string(), t.IntType())
_MEMBERS = Members(
    "type",
    {"INSERT": CREATED, "UPDATE": UPDATED, "DELETE": DELETED, "CREATE": NOTHING},
    'the "old" field of a {} message is null, or has other rows than "data"',
    'the "data" field of a {} message is null',
)
METADATA = {
    "database": Metadata("database", t.string(), t.string()),
    "table": Metadata("table", t.string(), t.string()),
    "sql-type": Metadata("sqlType", _SQL_TYPES, _SQL_TYPES),
    "pk-names": Metadata("pkNames", _NAMES, _NAMES),
    "ingestion-timestamp": Metadata("ts", t.BigIntType(), _TIME, milliseconds),
    "event-timestamp": Metadata("es", t.BigIntType(), _TIME, milliseconds),
}


class CanalJsonFormatFactory(FormatFactory):
    identifier = "canal-json"
    optional: tuple[str, ...] = (
        IGNORE, TIMES, NULL_KEY_MODE, NULL_KEY_LITERAL, PLAIN_DECIMALS, NO_NULLS, DATABASES, TABLES,
    )  # fmt: skip
    readable_metadata = {key: each.type for key, each in METADATA.items()}

    def decoding(self, table: FormatContext) -> DecodingFormat:
        options = Options(self.identifier, table)
        check_json_types(options)
        lenient, rows = options.flag(IGNORE), t.ArrayType(row_type(table.columns))
        members = [("data", rows), ("old", rows), ("type", t.string())]
        metadata = tuple(METADATA[key] for key in table.metadata)
        decoding = flat_decoding(options, _Canal(metadata), members, PartialRows("UPDATE", lists=True))
        wanted = [(name, _pattern(options, option)) for name, option in (("database", DATABASES), ("table", TABLES))]
        patterns = [(name, pattern) for name, pattern in wanted if pattern is not None]
        if not patterns:
            return decoding
        places = JsonReader(table.table, [(name, t.string()) for name, _ in patterns], options.times(), lenient=lenient)
        return OfSomeTables(table.table, places, patterns, decoding, lenient)

    def encoding(self, table: FormatContext) -> EncodingFormat:
        options = Options(self.identifier, table)
        check_json_types(options)
        created, deleted = (Frame('{"data":[', f'],"type":"{kind}"}}') for kind in ("INSERT", "DELETE"))
        return ChangeEncoding(table.columns, json_texts(options), created, deleted)


def _pattern(options: Options, name: str) -> re.Pattern[str] | None:
    text = options.text(name)
    if text is None:
        return None
    try:
        found = compiled(text)
    except UnsupportedRegex as error:
        raise options.problem(f"option '{options.format}.{name}': {error}") from error
    if found is None:
        raise options.wrong(name, text, "a regular expression")
    return found


class OfSomeTables(DecodingFormat):
    """Leaves out messages of other databases and tables, before their rows are looked at: those have other columns.

    :param places: reads the fields that the patterns are for.
    :param lenient: messages without these fields are left out and counted.
    """

    def __init__(
        self,
        table: str,
        places: JsonReader,
        patterns: Sequence[tuple[str, re.Pattern[str]]],
        inner: ChangeDecoding,
        lenient: bool,
    ) -> None:
        self._table = table
        self._places = places
        self._patterns = list(patterns)
        self._inner = inner
        self._lenient = lenient
        self.kinds = inner.kinds

    def decode(self, messages: pa.Array) -> Decoded:
        found = self._places.read(messages)
        wanted = np.ones(len(found.numbers), np.bool_)
        missing = np.zeros(len(found.numbers), np.bool_)
        for (name, pattern), texts in zip(self._patterns, found.columns):
            missing |= np.asarray(texts.is_null())
            if missing.any() and not self._lenient:
                number = int(found.numbers[np.argmax(missing)])
                raise malformed(self._table, number, messages[number].as_py(), f"there is no field '{name}'")
            fits = [text for text in pc.unique(texts).to_pylist() if text is not None and pattern.fullmatch(text)]
            wanted &= np.asarray(pc.is_in(texts, value_set=pa.array(fits, pa.string())))
        numbers = found.numbers[wanted]
        decoded = self._inner.decode(pc.if_else(_at(numbers, len(messages)), messages, None))
        return Decoded(decoded.rows, decoded.messages, found.skipped + decoded.skipped + int(missing.sum()))


def _at(numbers: Numbers, count: int) -> pa.Array:
    """True at these places."""
    mask = np.zeros(count, np.bool_)
    mask[numbers] = True
    return pa.array(mask)


class _Canal(FlatChanges):
    def changes(self, columns: Sequence[pa.Array]) -> Changes:
        data, old, kind = columns[:3]
        codes = _MEMBERS.codes(kind)
        counts = pc.list_value_length(data)
        changed = codes < NOTHING
        no_data = np.flatnonzero(changed & np.asarray(data.is_null()))
        other_old = (codes == UPDATED) & np.asarray(pc.not_equal(counts, pc.list_value_length(old)).fill_null(True))
        problems = [(int(at), _MEMBERS.missing_after.format(kind[at])) for at in no_data]
        problems += [(int(at), _MEMBERS.missing_before.format("UPDATE")) for at in np.flatnonzero(other_old)]
        # The rows of good messages; a message that means nothing has none.
        usable = changed & ~other_old & np.asarray(data.is_valid())
        lists = pc.if_else(pa.array(usable), data, None)
        messages = np.asarray(pc.list_parent_indices(lists)).astype(np.int64)
        after, kinds = lists.flatten(), kind.take(pa.array(messages))
        updated = pc.equal(kinds, "UPDATE")
        olds = pc.if_else(pa.array(usable & (codes == UPDATED)), old, None).flatten()
        where = pc.if_else(updated, pc.subtract(pc.cumulative_sum(updated.cast(pa.int64())), 1), None)
        before = pc.if_else(updated, olds.take(where), after)
        rows = _MEMBERS.changes(kinds, before, after, messages)
        problems += _MEMBERS.unknown(kind, codes)
        return Changes(rows.operations, before, after, messages, (*problems, *rows.problems))


_PACKAGE = "com.alibaba.otter.canal.protocol"
_MESSAGES, _ROWS = 7, 2
"""the type of a packet with entries, and of an entry with rows"""
_UNCOMPRESSED = (0, 1)
_KINDS = {1: "INSERT", 2: "UPDATE", 3: "DELETE"}
_FIELDS = {
    "Packet": {"type": (3, "int32"), "compression": (4, "int32"), "body": (5, "bytes")},
    "Messages": {"messages": (2, "bytes*")},
    "Entry": {"header": (1, "Header"), "entryType": (2, "int32"), "storeValue": (3, "bytes")},
    "Header": {"executeTime": (6, "int64"), "schemaName": (8, "string"), "tableName": (9, "string")},
    "RowChange": {
        "eventType": (2, "int32"), "isDdl": (10, "bool"), "sql": (11, "string"), "rowDatas": (12, "RowData*"),
    },
    "RowData": {"beforeColumns": (1, "Column*"), "afterColumns": (2, "Column*")},
    "Column": {
        "sqlType": (2, "int32"), "name": (3, "string"), "isKey": (4, "bool"), "updated": (5, "bool"),
        "isNull": (6, "bool"), "value": (8, "string"), "mysqlType": (10, "string"),
    },
}  # fmt: skip
"""What is read of Canal's messages: number and type, ``*`` for a list. Kinds are numbers."""


class CanalProtobufFormatFactory(CanalJsonFormatFactory):
    """The options and metadata of ``canal-json``, for reading only."""

    identifier = "canal-protobuf"
    optional = (IGNORE, TIMES, DATABASES, TABLES)

    def decoding(self, table: FormatContext) -> DecodingFormat:
        options = Options(self.identifier, table)
        try:
            _classes()
        except ImportError:
            needed = "format 'canal-protobuf' needs protobuf: pip install 'millrace-streaming[protobuf]'"
            raise options.problem(needed) from None
        return PacketDecoding(table.table, super().decoding(table), options.flag(IGNORE))

    def encoding(self, table: FormatContext) -> EncodingFormat:
        raise Options(self.identifier, table).problem(
            "format 'canal-protobuf' is only read; 'canal-json' can be written, too"
        )


class PacketDecoding(DecodingFormat):
    """:param lenient: packets that are malformed are left out and counted."""

    def __init__(self, table: str, inner: DecodingFormat, lenient: bool) -> None:
        self._table, self._inner, self._lenient = table, inner, lenient
        self.kinds = inner.kinds

    def decode(self, messages: pa.Array) -> Decoded:
        texts: list[bytes] = []
        numbers: list[int] = []
        skipped = 0
        contents = messages.to_pylist()
        for number, content in enumerate(contents):
            if not content:
                continue  # as an empty message of the JSON format
            try:
                found = _flat_messages(content)
            except ValueError as error:
                if not self._lenient:
                    raise malformed(self._table, number, content, error) from error
                skipped += 1
                continue
            texts += found
            numbers += [number] * len(found)
        try:
            decoded = self._inner.decode(pa.array(texts, pa.binary()))
        except ValueError:
            self._blame(contents, texts, numbers)
            raise
        origins = np.array(numbers, np.int64)
        return Decoded(decoded.rows, origins[decoded.messages], skipped + decoded.skipped)

    def _blame(self, contents: list[bytes], texts: list[bytes], numbers: list[int]) -> None:
        """Raise the same for the packet that it comes from."""
        for number, text in zip(numbers, texts):
            try:
                self._inner.decode(pa.array([text], pa.binary()))
            except ValueError as error:
                raise malformed(self._table, number, contents[number], error) from error


def _flat_messages(content: bytes) -> list[bytes]:
    """What Canal would have sent as JSON.

    :raises ValueError: it is no packet of Canal's with entries.
    """
    classes = _classes()
    packet = _parsed(classes["Packet"], content)
    if packet.type != _MESSAGES:
        raise ValueError(f"it is no packet with changes, but of type {packet.type}")
    if packet.compression not in _UNCOMPRESSED:
        raise ValueError(f"compression {packet.compression} of packets is not supported: Canal sends them without")
    entries = [_parsed(classes["Entry"], each) for each in _parsed(classes["Messages"], packet.body).messages]
    return [
        json.dumps(_flat(entry.header, _parsed(classes["RowChange"], entry.storeValue))).encode()
        for entry in entries
        if entry.entryType in (0, _ROWS)
    ]


def _parsed(cls: Any, content: bytes) -> Any:
    from google.protobuf.message import DecodeError

    try:
        return cls.FromString(content)
    except DecodeError as error:
        raise ValueError(f"it is no {cls.DESCRIPTOR.name} of Canal's: {error}") from error


def _flat(header: Any, change: Any) -> dict[str, Any]:
    known = {"database": header.schemaName, "table": header.tableName, "es": header.executeTime}
    kind = _KINDS.get(change.eventType or 2)
    if change.isDdl or kind is None:
        return {**known, "type": "CREATE", "sql": change.sql}  # changes of something else than rows
    rows = [each.beforeColumns if kind == "DELETE" else each.afterColumns for each in change.rowDatas]
    columns = rows[0] if rows else ()
    flat = {
        **known,
        "type": kind,
        "data": [_values(row) for row in rows],
        "pkNames": [each.name for each in columns if each.isKey],
        "sqlType": {each.name: each.sqlType for each in columns},
        "mysqlType": {each.name: each.mysqlType for each in columns},
    }
    if kind == "UPDATE":
        changed = [{column.name for column in row if column.updated} for row in rows]
        flat["old"] = [
            _values([column for column in each.beforeColumns if column.name in names])
            for each, names in zip(change.rowDatas, changed)
        ]
    return flat


def _values(columns: Any) -> dict[str, str | None]:
    return {each.name: None if each.isNull else each.value for each in columns}


@cache
def _classes() -> dict[str, Any]:
    """Classes of Canal's messages, in a pool of their own: a program may have Canal's, too."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    file: Any = descriptor_pb2.FileDescriptorProto(name="canal.proto", package=_PACKAGE, syntax="proto2")
    for message, fields in _FIELDS.items():
        made = file.message_type.add(name=message)
        for name, (number, kind) in fields.items():
            field = made.field.add(name=name, number=number)
            field.label = field.LABEL_REPEATED if kind.endswith("*") else field.LABEL_OPTIONAL
            kind = kind.rstrip("*")
            if kind in _FIELDS:
                field.type, field.type_name = field.TYPE_MESSAGE, f".{_PACKAGE}.{kind}"
            else:
                field.type = getattr(field, f"TYPE_{kind.upper()}")
    pool: Any = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {each: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.{each}")) for each in _FIELDS}
