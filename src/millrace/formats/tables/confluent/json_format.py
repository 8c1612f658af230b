"""``json-confluent``: JSON, each message after the id of its JSON Schema, as Confluent's serializers write it.

Not among Flink's formats. Columns are found by their names, as of ``json``; schemas are looked at for their kind only.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

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
from millrace.formats.tables.json.format import JsonFormatFactory
from millrace.formats.tables.options import IGNORE, Options
from millrace.formats.tables.pieces import Numbers
from millrace.formats.tables.problems import malformed
from millrace.relational import types as t
from millrace.relational.fields import Schema
from millrace.relational.formats import Decoded, DecodingFormat, EncodingFormat, FormatContext, FormatFactory
from millrace.relational.rows import Rows
from millrace.relational.type_table import Family, family_of, parts_of
from millrace.relational.types import DataType

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
