"""``json``: a row is a JSON object; and columns as JSON text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from millrace.formats import text_columns
from millrace.formats.tables.format_options import (
    IGNORE,
    NULL_KEY_LITERAL,
    NULL_KEY_MODE,
    TIMES,
    Options,
    check_types,
)
from millrace.formats.tables.json_reading import JsonReader, JsonValues
from millrace.formats.text_columns import (
    SQL,
    NoForm,
    TimeForm,
    base64_texts,
    decimal_texts,
    float_texts,
    is_few,
    millisecond_texts,
    patched,
    relisted,
    texts_of_few,
)
from millrace.relational import types as t
from millrace.relational.functions.json_text import quoted
from millrace.relational.nodes import Schema
from millrace.relational.rows import Rows, record_batch
from millrace.relational.sources import Decoded, DecodingFormat, EncodingFormat, FormatContext, FormatFactory
from millrace.relational.type_table import ByFamily, Family, family_of, parts_of
from millrace.relational.types import DataType

_NEEDS_ESCAPE = r'["\\\x00-\x1f]'
_BY_COLUMN = (Family.ARRAY, Family.MAP, Family.ROW, Family.NULL)
_QUOTED = (Family.DATE, Family.TIME, Family.TIMESTAMP, Family.INSTANT, Family.BYTES)
_AS_IS = (Family.BOOLEAN, Family.INTEGER, Family.MONTHS, Family.NULL)


@dataclass(frozen=True)
class JsonTexts:
    """Writes columns as JSON, a text for every row.

    :raises NoForm: for a type that JSON cannot hold.
    """

    form: TimeForm
    plain_decimals: bool = False
    """never with an exponent"""
    leave_out_nulls: bool = False
    """fields that are NULL, also of nested rows"""

    def objects(self, columns: Sequence[tuple[str, pa.Array, DataType]], count: int) -> pa.Array:
        """Rows as objects.

        :param count: the number of rows.
        """
        if is_few(count):
            return self._few_objects(columns, count)
        pieces: list[Any] = []
        if self.leave_out_nulls:
            for name, column, kind in columns:
                member = pc.binary_join_element_wise(f"{quoted(name)}:", self._valid(column, kind), ",", "")
                pieces.append(member.fill_null(""))
            members = pc.utf8_rtrim(_joined(pieces, count), characters=",")
            return pc.binary_join_element_wise("{", members, "}", "")
        for index, (name, column, kind) in enumerate(columns):
            pieces += [f"{',' if index else '{'}{quoted(name)}:", self.values(column, kind)]
        return _joined([*pieces, "}"] if pieces else ["{}"], count)

    def _few_objects(self, columns: Sequence[tuple[str, pa.Array, DataType]], count: int) -> pa.Array:
        """``objects`` of few rows, made one by one."""
        names = [quoted(name) for name, _, _ in columns]
        rows = zip(*(self._few_values(column, kind) for _, column, kind in columns)) if columns else [()] * count
        absent = None if self.leave_out_nulls else "null"
        texts = []
        for row in rows:
            values = (absent if value is None else value for value in row)
            members = [f"{name}:{value}" for name, value in zip(names, values) if value is not None]
            texts.append("{" + ",".join(members) + "}")
        return pa.array(texts, pa.string())

    def _few_values(self, column: pa.Array, kind: DataType) -> list[str | None]:
        """Values as JSON; NULL is None."""
        family = family_of(kind)
        if family in _BY_COLUMN:
            return self._valid(column, kind).to_pylist()  # type: ignore[no-any-return]

        def whole(values: pa.Array) -> pa.Array:
            # Without the quotes, which are put around all of them.
            texts = self._valid(values, kind)
            return pc.utf8_slice_codeunits(texts, 1, -1) if family in _QUOTED else texts

        texts = texts_of_few(column, kind, self.form.separator, not self.plain_decimals, whole)
        if family is Family.TEXT:
            return [None if text is None else quoted(text) for text in texts]
        if family in _QUOTED:
            return [None if text is None else f'"{text}"' for text in texts]
        if family is Family.APPROXIMATE:
            return [text if text is None or text[-1].isdigit() else f'"{text}"' for text in texts]
        return texts

    def values(self, column: pa.Array, kind: DataType) -> pa.Array:
        """Values as JSON, NULL as ``null``."""
        return self._valid(column, kind).fill_null("null")

    def _valid(self, column: pa.Array, kind: DataType) -> pa.Array:
        """Values as JSON; NULL stays NULL."""
        write = _WRITERS.get(family_of(kind))
        if write is None:
            raise NoForm(f"values of {kind} have no form in JSON")
        return write(self, column, kind)

    def _row(self, column: pa.Array, kind: t.RowType) -> pa.Array:
        parts = zip(kind.names, column.flatten(), kind.field_types())
        texts = self.objects(list(parts), len(column))
        return texts if not column.null_count else pc.if_else(column.is_valid(), texts, None)

    def _array(self, column: pa.Array, kind: DataType) -> pa.Array:
        return _lists(column, self.values(column.flatten(), *parts_of(kind)), "[", "]")

    def _map(self, column: pa.Array, kind: DataType) -> pa.Array:
        key, item = parts_of(kind)
        if family_of(key) is not Family.TEXT:
            raise NoForm(f"keys in JSON are text, so that {kind} has no form in it")
        entries = column.cast(pa.list_(pa.struct([("key", column.type.key_type), ("value", column.type.item_type)])))
        keys, items = entries.flatten().flatten()
        members = pc.binary_join_element_wise(self.values(keys, key), self.values(items, item), ":")
        return _lists(entries, members, "{", "}")


def _strings(texts: pa.Array) -> pa.Array:
    quotes = pc.match_substring_regex(texts, _NEEDS_ESCAPE)
    return patched(_in_quotes(texts), quotes, texts, quoted)


def _floats(column: pa.Array) -> pa.Array:
    # JSON has no numbers for NaN and the infinite: they are strings, as Java's libraries write them.
    texts = float_texts(column)
    return pc.if_else(pc.is_finite(column), texts, _in_quotes(texts))


def _in_quotes(texts: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise('"', texts, '"', "")


def _joined(pieces: list[Any], count: int) -> pa.Array:
    """Texts and columns of texts, one after the other, for every row."""
    if not any(isinstance(piece, pa.Array) for piece in pieces):
        return pa.repeat("".join(pieces), count)
    return pc.binary_join_element_wise(*pieces, "")


def _lists(column: pa.Array, texts: pa.Array, start: str, end: str) -> pa.Array:
    """The texts of the elements of a list column, joined row by row."""
    return pc.binary_join_element_wise(start, pc.binary_join(relisted(column, texts), ","), end, "")


_WRITERS: ByFamily = {
    **dict.fromkeys(_AS_IS, lambda json, column, kind: column.cast(pa.string())),
    Family.APPROXIMATE: lambda json, column, kind: _floats(column),
    Family.DECIMAL: lambda json, column, kind: decimal_texts(column, not json.plain_decimals),
    Family.SPAN: lambda json, column, kind: millisecond_texts(column),
    Family.ARRAY: JsonTexts._array,
    Family.MAP: JsonTexts._map,
    Family.ROW: JsonTexts._row,
    Family.TEXT: lambda json, column, kind: _strings(column),
    Family.DATE: lambda json, column, kind: _in_quotes(text_columns.date_texts(column)),
    Family.TIME: lambda json, column, kind: _in_quotes(text_columns.clock_texts(column)),
    Family.TIMESTAMP: lambda json, column, kind: _in_quotes(text_columns.timestamp_texts(column, json.form)),
    Family.INSTANT: lambda json, column, kind: _in_quotes(text_columns.timestamp_texts(column, json.form, "Z")),
    Family.BYTES: lambda json, column, kind: _in_quotes(base64_texts(column)),
}


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
    """Read from a table's options how to write JSON."""
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
