"""``json``: a row is a JSON object."""

from __future__ import annotations

import pyarrow as pa

from millrace.formats.tables.json.reader import JsonReader
from millrace.formats.tables.json.texts import JsonTexts
from millrace.formats.tables.json.values import JsonValues
from millrace.formats.tables.options import IGNORE, NULL_KEY_LITERAL, NULL_KEY_MODE, TIMES, Options
from millrace.formats.tables.problems import check_types
from millrace.formats.tables.times import SQL
from millrace.relational.formats import Decoded, DecodingFormat, EncodingFormat, FormatContext, FormatFactory
from millrace.relational.nodes import Schema
from millrace.relational.rows import Rows, record_batch

STRICT = "fail-on-missing-field"
PARSER = "decode.json-parser.enabled"
PLAIN_DECIMALS = "encode.decimal-as-plain-number"
NO_NULLS = "encode.ignore-null-fields"


class JsonFormatFactory(FormatFactory):
    """Accepts ``decode.json-parser.enabled``, too, which chooses between two parsers of Java: here they are one."""

    identifier = "json"
    optional = (STRICT, IGNORE, TIMES, NULL_KEY_MODE, NULL_KEY_LITERAL, PLAIN_DECIMALS, NO_NULLS, PARSER)

    def decoding(self, table: FormatContext) -> DecodingFormat:
        options = Options(self.identifier, table)
        strict, lenient = options.flag(STRICT), options.flag(IGNORE)
        options.flag(PARSER, True)
        if strict and lenient:
            raise options.problem(f"'json.{STRICT}' and 'json.{IGNORE}' exclude each other: choose one")
        check_json_types(options)
        columns = [(column.name, column.type) for column in table.columns]
        return JsonDecoding(JsonReader(table.table, columns, options.times(), strict, lenient))

    def encoding(self, table: FormatContext) -> EncodingFormat:
        options = Options(self.identifier, table)
        check_json_types(options)
        return JsonEncoding(table.columns, json_texts(options))


def check_json_types(options: Options) -> None:
    """:raises TableException: for a column that JSON has no form for."""
    check_types(options, lambda kind: JsonValues([("", kind)], SQL, False, False))


def json_texts(options: Options) -> JsonTexts:
    """How a table's options say that JSON is to be written."""
    options.check_null_keys()
    return JsonTexts(options.times(), options.flag(PLAIN_DECIMALS), options.flag(NO_NULLS))


class JsonDecoding(DecodingFormat):
    def __init__(self, reader: JsonReader) -> None:
        self._reader = reader

    def decode(self, messages: pa.Array) -> Decoded:
        found = self._reader.read(messages)
        rows = Rows(record_batch(found.columns, len(found.numbers)))
        return Decoded(rows, found.numbers, found.skipped)


class JsonEncoding(EncodingFormat):
    def __init__(self, columns: Schema, texts: JsonTexts) -> None:
        self._columns = columns
        self._texts = texts

    def encode(self, rows: Rows) -> pa.Array:
        fields = [(column.name, array, column.type) for column, array in zip(self._columns, rows.columns)]
        return self._texts.objects(fields, len(rows)).cast(pa.binary())
