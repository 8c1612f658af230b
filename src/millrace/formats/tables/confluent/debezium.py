"""``debezium-avro-confluent``: changes as Debezium captures them, as Avro records with a schema registry."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from millrace.formats.tables.avro_schema import avro_columns, avro_records
from millrace.formats.tables.changes.base import ChangeDecoding, Changes, row_type
from millrace.formats.tables.changes.debezium import MEMBERS
from millrace.formats.tables.confluent.format import RegistryReader, RegistryWriter, written_schema
from millrace.formats.tables.confluent.registry import OPTIONS, registry_of, subject_of
from millrace.formats.tables.options import Options
from millrace.formats.tables.pieces import Piece
from millrace.relational import types as t
from millrace.relational.fields import Field
from millrace.relational.formats import DecodingFormat, EncodingFormat, FormatContext, FormatFactory
from millrace.relational.nodes import Schema
from millrace.relational.rows import Rows
from millrace.relational.sources import ALL_KINDS


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
