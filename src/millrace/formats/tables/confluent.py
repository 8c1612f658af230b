"""``avro-confluent`` and ``json-confluent``: each message has the id of its schema in front, which a schema registry
with Confluent's interface knows.

``json-confluent`` is not among Flink's formats. Its columns are found by their names, as in ``json``; of a schema only
the kind is checked.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.formats.avro_blocks import UNREADABLE, is_recursive, reason
from millrace.formats.avro_records import read_message, write_message
from millrace.formats.tables.avro_format import avro_columns, avro_records, avro_schema
from millrace.formats.tables.format_options import IGNORE, Options, malformed
from millrace.formats.tables.json_format import JsonFormatFactory
from millrace.formats.tables.message_reading import Numbers
from millrace.formats.text_columns import NoForm
from millrace.relational import types as t
from millrace.relational.rex import Schema
from millrace.relational.rows import Rows, record_batch
from millrace.relational.sources import Decoded, DecodingFormat, EncodingFormat, FormatContext, FormatFactory
from millrace.relational.type_table import Family, family_of, parts_of
from millrace.relational.types import DataType

URL, SUBJECT, SCHEMA = "url", "subject", "schema"
_OLD = {"schema-registry.url": URL, "schema-registry.subject": SUBJECT, "schema-registry.schema": SCHEMA}
_SETTINGS = {
    "ssl.truststore.location": "ssl.ca.location",
    "ssl.keystore.location": "ssl.certificate.location",
    "ssl.keystore.password": "ssl.key.password",
    "basic-auth.user-info": "basic.auth.user.info",
    "bearer-auth.token": "bearer.auth.token",
    "bearer-auth.credentials-source": "bearer.auth.credentials.source",
}
_WITHOUT_EFFECT = ("ssl.truststore.password", "basic-auth.credentials-source")
"""Options without effect: stores are text, which needs no password; credentials are used whatever their declared
source is."""
OPTIONS = (URL, SUBJECT, SCHEMA, *_OLD, *_SETTINGS, *_WITHOUT_EFFECT, "properties.")
_HEAD = struct.Struct(">bI")
_MAGIC = 0


@dataclass
class Registry:
    """Connects with the first question, and keeps the answers. Pickled into the tasks without them.

    :ivar settings: of Confluent's client; they may have secrets.
    """

    settings: Mapping[str, str] = field(repr=False)
    _client: Any = field(default=None, repr=False, compare=False)
    _schemas: dict[int, Any] = field(default_factory=dict, repr=False, compare=False)
    _ids: dict[tuple[str, str], int] = field(default_factory=dict, repr=False, compare=False)
    _kinds: dict[int, str] = field(default_factory=dict, repr=False, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        return {"settings": dict(self.settings), "_client": None, "_schemas": {}, "_ids": {}, "_kinds": {}}

    def schema(self, number: int) -> Any:
        """The Avro schema of an id, parsed.

        :raises ValueError: the registry does not know it. :raises ConnectionError: it does not answer.
        """
        if number not in self._schemas:
            import fastavro

            found = self._asked(f"schema {number}", lambda client: client.get_schema(number))
            if found.schema_type != "AVRO":
                raise ValueError(f"schema {number} of the registry is {found.schema_type}, not AVRO")
            named: dict[str, Any] = {}
            for each in found.references or ():
                version = each.subject, each.version
                text = self._asked(f"schema {each.name}", lambda client, v=version: client.get_version(*v))
                fastavro.parse_schema(json.loads(text.schema.schema_str), named_schemas=named)
            self._schemas[number] = fastavro.parse_schema(json.loads(found.schema_str), named_schemas=named)
        return self._schemas[number]

    def check_kind(self, number: int, kind: str) -> None:
        """:raises ValueError: the schema of this id is of another kind, or not known."""
        if number not in self._kinds:
            found = self._asked(f"schema {number}", lambda client: client.get_schema(number))
            self._kinds[number] = found.schema_type
        if self._kinds[number] != kind:
            raise ValueError(f"schema {number} of the registry is {self._kinds[number]}, not {kind}")

    def id_of(self, subject: str, schema: str, kind: str = "AVRO") -> int:
        """The id of a schema under a subject, where it is registered if it was not there.

        :raises ValueError: the registry refuses it, since it is not compatible with earlier ones.
        """
        if (subject, schema) not in self._ids:
            from confluent_kafka.schema_registry import Schema

            self._ids[subject, schema] = self._asked(
                f"subject {subject!r}", lambda client: client.register_schema(subject, Schema(schema, kind))
            )
        return self._ids[subject, schema]

    def _asked(self, what: str, ask: Any) -> Any:
        from confluent_kafka.schema_registry.error import SchemaRegistryError

        try:
            if self._client is None:
                self._client = client_of(self.settings)
            return ask(self._client)
        except SchemaRegistryError as error:
            raise ValueError(f"the schema registry refuses {what}: {error.error_message}") from error
        except OSError as error:
            raise ConnectionError(f"the schema registry does not answer for {what}: {error}") from error
        except Exception as error:
            if type(error).__module__.startswith(("httpx", "httpcore")):
                raise ConnectionError(
                    f"the schema registry at {self.settings['url']} does not answer for {what}: {error}"
                ) from error
            raise


def client_of(settings: Mapping[str, str]) -> Any:
    """Confluent's client."""
    from confluent_kafka.schema_registry import SchemaRegistryClient

    return SchemaRegistryClient.new_client(dict(settings))


def registry_of(options: Options) -> Registry:
    """What the options of a format say.

    :raises TableException: one is missing, wrong, or needs what is not installed.
    """
    given = given_options(options)
    name = options.format
    if URL not in given:
        raise options.problem(f"format '{name}' needs {name}.{URL}")
    settings = {"url": given[URL]}
    for key, value in given.items():
        if key in _SETTINGS:
            settings[_SETTINGS[key]] = value
        elif key.startswith("properties."):
            settings[key.removeprefix("properties.")] = value
    for store in ("ssl.truststore.location", "ssl.keystore.location"):
        if given.get(store, "").lower().endswith((".jks", ".p12", ".pfx")):
            raise options.problem(f"'{name}.{store}' has to be a PEM file: the client of the registry is not Java's")
    try:
        client_of(settings)
    except ImportError as error:
        raise options.problem(
            f"format '{name}' needs Confluent's client of schema registries: "
            f"pip install 'millrace-streaming[registry]' ({error})"
        ) from None
    except (ValueError, TypeError) as error:
        raise options.problem(f"format '{name}': {error}") from None
    return Registry(settings)


def given_options(options: Options) -> dict[str, str]:
    """The options, old names as those of today."""
    return {_OLD.get(key, key): value for key, value in options.table.options.items()}


def subject_of(options: Options) -> str:
    """Under which schemas of written messages are registered."""
    subject = given_options(options).get(SUBJECT) or options.table.subject
    if not subject:
        raise options.problem(f"format '{options.format}' needs {options.format}.{SUBJECT} for writing")
    return subject


def split(message: bytes) -> tuple[int, bytes]:
    """The id of the schema, and the record."""
    if len(message) < _HEAD.size or message[0] != _MAGIC:
        raise ValueError("it does not begin with the id of a schema (a byte 0 and four more)")
    return _HEAD.unpack_from(message)[1], message[_HEAD.size :]


def head(number: int) -> bytes:
    """What a message begins with."""
    return _HEAD.pack(_MAGIC, number)


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


def written_schema(options: Options, wrap: Callable[[dict[str, Any]], dict[str, Any]] | None = None) -> dict[str, Any]:
    """The schema of written messages: what the options say, or what follows from the columns.

    :param wrap: makes the schema of a message from that of a row.
    """
    text = given_options(options).get(SCHEMA)
    try:
        if text is not None:
            found: dict[str, Any] = json.loads(text)
            return found
        # Only messages without a schema (``avro``) have to use Flink's legacy types, mixing instants and local times.
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
                if schema_id not in recursive:
                    recursive[schema_id] = is_recursive(schema)
                record: Any = read_message(content, schema, recursive[schema_id])
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
            return pa.array([each and write_message(each, parsed, start) for each in records], pa.binary())
        except (ValueError, TypeError) as error:
            raise ValueError(f"table {self._table}: a row has no form in the Avro schema: {error}") from error


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


_DRAFT = "http://json-schema.org/draft-07/schema#"
_KINDS = {Family.BOOLEAN: "boolean", Family.INTEGER: "integer", Family.APPROXIMATE: "number", Family.DECIMAL: "number"}


class JsonConfluentFormatFactory(FormatFactory):
    identifier = "json-confluent"
    optional = (*OPTIONS, *JsonFormatFactory.optional)

    def decoding(self, table: FormatContext) -> DecodingFormat:
        options = Options(self.identifier, table)
        registry = registry_of(options)
        plain = JsonFormatFactory().decoding(_of_json(table))
        return JsonConfluentDecoding(table.table, registry, plain, options.flag(IGNORE))

    def encoding(self, table: FormatContext) -> EncodingFormat:
        options = Options(self.identifier, table)
        schema = given_options(options).get(SCHEMA) or json.dumps(json_schema(table.columns))
        plain = JsonFormatFactory().encoding(_of_json(table))
        return JsonConfluentEncoding(registry_of(options), subject_of(options), schema, plain)


def _of_json(table: FormatContext) -> FormatContext:
    own = {name: each for name, each in table.options.items() if name in JsonFormatFactory.optional}
    return replace(table, options=own)


def json_schema(columns: Schema) -> dict[str, Any]:
    """The JSON Schema of objects with these columns."""
    fields = {column.name: _schema(column.type) for column in columns}
    return {"$schema": _DRAFT, "title": "record", "type": "object", "properties": fields}


def _schema(kind: DataType) -> dict[str, Any]:
    made: dict[str, Any]
    if isinstance(kind, t.ArrayType):
        made = {"type": "array", "items": _schema(parts_of(kind)[0])}
    elif isinstance(kind, t.MapType):
        made = {"type": "object", "additionalProperties": _schema(parts_of(kind)[1])}
    elif isinstance(kind, t.RowType):
        fields = dict(zip(kind.names, map(_schema, kind.field_types())))
        made = {"type": "object", "properties": fields}
    else:
        made = {"type": _KINDS.get(family_of(kind), "string")}
    return {"oneOf": [{"type": "null"}, made]} if kind.is_nullable else made


class JsonConfluentDecoding(DecodingFormat):
    """:param lenient: messages without an id are left out and counted."""

    def __init__(self, table: str, registry: Registry, plain: DecodingFormat, lenient: bool) -> None:
        self._table, self._registry, self._plain, self._lenient = table, registry, plain, lenient

    def decode(self, messages: pa.Array) -> Decoded:
        contents: list[bytes | None] = []
        numbers: list[int] = []
        skipped = 0
        for number, message in enumerate(messages.to_pylist()):
            try:
                content = None
                if message is not None:
                    schema_id, content = split(message)
                    self._registry.check_kind(schema_id, "JSON")
            except ValueError as error:
                if not self._lenient:
                    raise malformed(self._table, number, message, error) from error
                skipped += 1
                continue
            contents.append(content)
            numbers.append(number)
        found = self._plain.decode(pa.array(contents, pa.binary()))
        places: Numbers = np.array(numbers, np.int64)
        origins = places if found.messages is None else places[found.messages]
        return Decoded(found.rows, origins, found.skipped + skipped)


class JsonConfluentEncoding(EncodingFormat):
    """The schema is registered with the first rows."""

    def __init__(self, registry: Registry, subject: str, schema: str, plain: EncodingFormat) -> None:
        self._registry, self._subject, self._schema, self._plain = registry, subject, schema, plain

    def encode(self, rows: Rows) -> pa.Array:
        start = head(self._registry.id_of(self._subject, self._schema, "JSON"))
        return pa.array([start + each for each in self._plain.encode(rows).to_pylist()], pa.binary())
