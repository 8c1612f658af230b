"""``canal-protobuf``: changes of MySQL in the packets that Canal sends where its flat messages are off. Needs protobuf.

Every packet becomes the JSON messages that Canal would have sent instead, an entry each; ``canal-json`` reads them. A
packet does not say when Canal handled it, so ``ingestion-timestamp`` is NULL.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.formats.tables.changes.canal import DATABASES, TABLES, CanalJsonFormatFactory
from millrace.formats.tables.options import IGNORE, TIMES, Options
from millrace.formats.tables.problems import malformed
from millrace.relational.formats import Decoded, DecodingFormat, EncodingFormat, FormatContext

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
    return {
        each: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.{each}")) for each in _FIELDS
    }
