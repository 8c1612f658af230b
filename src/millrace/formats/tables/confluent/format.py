"""``avro-confluent``: Avro records, each after the id of its schema, which a registry knows."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.formats.avro_safe import UNREADABLE, is_recursive, read_message, reason
from millrace.formats.tables.avro_schema import avro_columns, avro_records, avro_schema
from millrace.formats.tables.confluent.registry import (
    OPTIONS,
    SCHEMA,
    Registry,
    given_options,
    head,
    registry_of,
    split,
    subject_of,
)
from millrace.formats.tables.options import Options
from millrace.formats.tables.pieces import Numbers
from millrace.formats.tables.problems import NoForm, malformed
from millrace.relational.formats import Decoded, DecodingFormat, EncodingFormat, FormatContext, FormatFactory
from millrace.relational.nodes import Schema
from millrace.relational.rows import Rows, record_batch


class AvroConfluentFormatFactory(FormatFactory):
    identifier = "avro-confluent"
    optional = OPTIONS

    def decoding(self, table: FormatContext) -> DecodingFormat:
        options = Options(self.identifier, table)
        return AvroConfluentDecoding(RegistryReader(table.table, registry_of(options)), table.columns)

    def encoding(self, table: FormatContext) -> EncodingFormat:
        options = Options(self.identifier, table)
        writer = RegistryWriter(table.table, registry_of(options), subject_of(options), written_schema(options))
        return AvroConfluentEncoding(writer, table.columns)


def written_schema(
    options: Options, wrap: Callable[[dict[str, Any]], dict[str, Any]] | None = None
) -> dict[str, Any]:
    """The schema of written messages: what the options say, or what follows from the columns.

    :param wrap: makes the schema of a message from that of a row.
    """
    text = given_options(options).get(SCHEMA)
    try:
        if text is not None:
            found: dict[str, Any] = json.loads(text)
            return found
        # Instants and local times are told apart: messages without a schema are those that Flink has to be like.
        made = avro_schema(options.table.columns, legacy_timestamps=False)
        return made if wrap is None else wrap(made)
    except NoForm as error:
        raise options.problem(f"format '{options.format}', {error}") from error
    except ValueError as error:
        raise options.problem(f"'{options.format}.{SCHEMA}' is no Avro schema: {error}") from error


class RegistryReader:
    """Records of messages, by the schemas that they were written with: columns are found by their names, so a record
    may have more fields than the table, and fewer where its columns take NULL."""

    def __init__(self, table: str, registry: Registry) -> None:
        self._table = table
        self._registry = registry

    def records(self, messages: pa.Array) -> tuple[list[Mapping[str, Any]], Numbers]:
        """The records, and the number of the message of each."""
        records: list[Mapping[str, Any]] = []
        numbers = []
        recursive: dict[int, bool] = {}
        for number, message in enumerate(messages.to_pylist()):
            if message is None:
                continue
            try:
                schema_id, content = split(message)
                schema = self._registry.schema(schema_id)
                stream = io.BytesIO(content)
                if schema_id not in recursive:
                    recursive[schema_id] = is_recursive(schema)
                record: Any = read_message(stream, schema, recursive[schema_id])
                if stream.tell() != len(content):
                    raise ValueError(f"{len(content) - stream.tell()} bytes are left over")
                if not isinstance(record, dict):
                    raise ValueError(f"its schema ({schema_id}) is no record")
            except UNREADABLE as error:
                raise malformed(self._table, number, message, reason(error)) from error
            records.append(record)
            numbers.append(number)
        return records, np.array(numbers, np.int64)


class RegistryWriter:
    """Messages of records of one schema, which is registered with the first."""

    def __init__(self, table: str, registry: Registry, subject: str, schema: dict[str, Any]) -> None:
        self._table, self._registry, self._subject = table, registry, subject
        self._schema = schema

    def messages(self, records: list[dict[str, Any] | None]) -> pa.Array:
        import fastavro

        parsed = fastavro.parse_schema(json.loads(json.dumps(self._schema)))
        start = head(self._registry.id_of(self._subject, json.dumps(self._schema)))
        try:
            return pa.array([each and self._message(start, each, parsed) for each in records], pa.binary())
        except (ValueError, TypeError) as error:
            raise ValueError(f"table {self._table}: a row has no form in the Avro schema: {error}") from error

    @staticmethod
    def _message(start: bytes, record: dict[str, Any], schema: Any) -> bytes:
        import fastavro

        stream = io.BytesIO(start)
        stream.seek(len(start))
        fastavro.schemaless_writer(stream, schema, record)
        return stream.getvalue()


class AvroConfluentDecoding(DecodingFormat):
    def __init__(self, reader: RegistryReader, columns: Schema) -> None:
        self._reader, self._columns = reader, columns

    def decode(self, messages: pa.Array) -> Decoded:
        records, numbers = self._reader.records(messages)
        columns = avro_columns(records, self._columns)
        return Decoded(Rows(record_batch(columns, len(records))), numbers)


class AvroConfluentEncoding(EncodingFormat):
    def __init__(self, writer: RegistryWriter, columns: Schema) -> None:
        self._writer, self._columns = writer, columns

    def encode(self, rows: Rows) -> pa.Array:
        return self._writer.messages([*avro_records(rows, self._columns)])
