"""``avro``: a row is an Avro record, without its schema, which follows from the columns. Needs fastavro."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.formats.avro_safe import UNREADABLE, reason
from millrace.formats.tables.avro_schema import avro_columns, avro_records, avro_schema
from millrace.formats.tables.options import Options
from millrace.formats.tables.problems import NoForm, malformed
from millrace.relational.formats import Decoded, DecodingFormat, EncodingFormat, FormatContext, FormatFactory
from millrace.relational.nodes import Schema
from millrace.relational.rows import Rows, record_batch

ENCODING = "encoding"
LEGACY_TIMESTAMPS = "timestamp_mapping.legacy"
BINARY, JSON = "binary", "json"


class AvroFormatFactory(FormatFactory):
    identifier = "avro"
    optional = (ENCODING, LEGACY_TIMESTAMPS)

    def decoding(self, table: FormatContext) -> DecodingFormat:
        schema, as_json = _schema(Options(self.identifier, table))
        return AvroDecoding(table.table, table.columns, schema, as_json)

    def encoding(self, table: FormatContext) -> EncodingFormat:
        schema, as_json = _schema(Options(self.identifier, table))
        return AvroEncoding(table.table, table.columns, schema, as_json)


def _schema(options: Options) -> tuple[dict[str, Any], bool]:
    """The schema of the messages, and whether they are Avro's JSON."""
    try:
        import fastavro  # noqa: F401
    except ImportError:
        raise options.problem("format 'avro' needs fastavro: pip install 'millrace-streaming[avro]'") from None
    as_json = options.one_of(ENCODING, (BINARY, JSON), BINARY) == JSON
    try:
        return avro_schema(options.table.columns, options.flag(LEGACY_TIMESTAMPS, True)), as_json
    except NoForm as error:
        raise options.problem(f"format 'avro', {error}") from error


@dataclass(frozen=True)
class _Avro:
    """Messages of a table."""

    table: str
    columns: Schema
    schema: dict[str, Any]
    as_json: bool
    """Avro's JSON instead of its binary form"""


class AvroDecoding(_Avro, DecodingFormat):
    def decode(self, messages: pa.Array) -> Decoded:
        import fastavro

        schema = fastavro.parse_schema(self.schema)
        read = self._json if self.as_json else self._binary
        records, numbers = [], []
        for number, message in enumerate(messages.to_pylist()):
            if message is None:
                continue
            try:
                records.append(read(message, schema))
            except UNREADABLE as error:
                text = f"not a record of the table's Avro schema: {reason(error)}"
                raise malformed(self.table, number, message, text) from error
            numbers.append(number)
        columns = avro_columns(records, self.columns)
        return Decoded(Rows(record_batch(columns, len(records))), np.array(numbers, np.int64))

    @staticmethod
    def _binary(message: bytes, schema: Any) -> Any:
        import fastavro

        stream = io.BytesIO(message)
        record = fastavro.schemaless_reader(stream, schema, None)
        if stream.tell() != len(message):
            raise ValueError(f"{len(message) - stream.tell()} bytes are left over")
        return record

    @staticmethod
    def _json(message: bytes, schema: Any) -> Any:
        import fastavro

        # The reader takes a record a line.
        text = json.dumps(json.loads(message))
        return next(iter(fastavro.json_reader(io.StringIO(text), schema)))


class AvroEncoding(_Avro, EncodingFormat):
    def encode(self, rows: Rows) -> pa.Array:
        import fastavro

        schema = fastavro.parse_schema(self.schema)
        write = self._json if self.as_json else self._binary
        try:
            messages = [write(record, schema) for record in avro_records(rows, self.columns)]
        except (ValueError, TypeError) as error:
            raise ValueError(f"table {self.table}: a row has no form in the table's Avro schema: {error}") from error
        return pa.array(messages, pa.binary())

    @staticmethod
    def _binary(record: dict[str, Any], schema: Any) -> bytes:
        import fastavro

        stream = io.BytesIO()
        fastavro.schemaless_writer(stream, schema, record)
        return stream.getvalue()

    @staticmethod
    def _json(record: dict[str, Any], schema: Any) -> bytes:
        import fastavro

        stream = io.StringIO()
        fastavro.json_writer(stream, schema, [record])
        return stream.getvalue().strip().encode("utf-8")
