"""Columns as JSON text."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from millrace.formats.tables import times
from millrace.formats.tables.lists import relisted
from millrace.formats.tables.numbers import decimal_texts, float_texts, patched
from millrace.formats.tables.problems import NoForm
from millrace.formats.tables.times import TimeForm
from millrace.relational import types as t
from millrace.relational.functions.json_text import quoted
from millrace.relational.types import DataType

_NEEDS_ESCAPE = r'["\\\x00-\x1f]'
_AS_IS = (t.BooleanType, t.IntegralType, t.YearMonthIntervalType, t.NullType)


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

    def values(self, column: pa.Array, kind: DataType) -> pa.Array:
        """Values as JSON, NULL as ``null``."""
        return self._valid(column, kind).fill_null("null")

    def _valid(self, column: pa.Array, kind: DataType) -> pa.Array:
        """Values as JSON; NULL stays NULL."""
        if isinstance(kind, _AS_IS):
            return column.cast(pa.string())
        if isinstance(kind, (t.FloatType, t.DoubleType)):
            # JSON has no numbers for NaN and the infinite: they are strings, as Java's libraries write them.
            texts = float_texts(column, kind)
            return pc.if_else(pc.is_finite(column), texts, _in_quotes(texts))
        if isinstance(kind, t.DecimalType):
            return decimal_texts(column, not self.plain_decimals)
        if isinstance(kind, t.DayTimeIntervalType):
            return pc.divide(column.cast(pa.int64()), 1000).cast(pa.string())
        if isinstance(kind, (t.ArrayType, t.MapType, t.MultisetType)):
            return self._containers(column, kind)
        if isinstance(kind, t.RowType):
            parts = zip(kind.names, column.flatten(), kind.field_types())
            texts = self.objects(list(parts), len(column))
            return texts if not column.null_count else pc.if_else(column.is_valid(), texts, None)
        return self._strings(column, kind)

    def _strings(self, column: pa.Array, kind: DataType) -> pa.Array:
        if isinstance(kind, (t.CharType, t.VarCharType)):
            texts = _in_quotes(column)
            return patched(texts, pc.match_substring_regex(column, _NEEDS_ESCAPE), column, quoted)
        if isinstance(kind, t.DateType):
            return _in_quotes(times.date_texts(column))
        if isinstance(kind, t.TimeType):
            return _in_quotes(times.clock_texts(column))
        if isinstance(kind, t.TimestampType):
            return _in_quotes(times.timestamp_texts(column, self.form))
        if isinstance(kind, t.LocalZonedTimestampType):
            return _in_quotes(times.timestamp_texts(column, self.form, "Z"))
        if isinstance(kind, (t.BinaryType, t.VarBinaryType)):
            return _in_quotes(base64_texts(column))
        raise NoForm(f"values of {kind} have no form in JSON")

    def _containers(self, column: pa.Array, kind: t.ArrayType | t.MapType | t.MultisetType) -> pa.Array:
        if isinstance(kind, t.ArrayType):
            return _lists(column, self.values(column.flatten(), kind.element_type), "[", "]")
        key = kind.element_type if isinstance(kind, t.MultisetType) else kind.key_type
        item = t.IntType() if isinstance(kind, t.MultisetType) else kind.value_type
        if not isinstance(key, (t.CharType, t.VarCharType)):
            raise NoForm(f"keys in JSON are text, so that {kind} has no form in it")
        entries = column.cast(pa.list_(pa.struct([("key", column.type.key_type), ("value", column.type.item_type)])))
        keys, items = entries.flatten().flatten()
        members = pc.binary_join_element_wise(self.values(keys, key), self.values(items, item), ":")
        return _lists(entries, members, "{", "}")


def base64_texts(column: pa.Array) -> pa.Array:
    return pa.array([each and base64.b64encode(each).decode("ascii") for each in column.to_pylist()], pa.string())


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
