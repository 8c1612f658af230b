"""JSON messages as values, one by one: everything that Flink's JSON format reads."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa

from millrace.formats.csv_values import parse_boolean
from millrace.formats.tables import times
from millrace.formats.tables.numbers import in_range, number_parser, parse_whole
from millrace.formats.tables.problems import NoForm
from millrace.formats.tables.text_columns import values_of_texts
from millrace.formats.tables.times import Doubtful, TimeForm
from millrace.relational import types as t
from millrace.relational.arrow import arrow_type
from millrace.relational.functions.json.text import quoted, storable
from millrace.relational.type_table import ByFamily, Family, family_of, parts_of
from millrace.relational.types import DataType

Parse = Callable[[Any], Any]
"""from what the json module gives to what Arrow takes; ValueError for what does not fit"""
_JSON_NAMES: dict[type, str] = {dict: "object", list: "array"}


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


_decode = json.JSONDecoder(parse_float=Decimal, parse_constant=_refuse, strict=False).decode


def decoded(message: bytes) -> Any:
    """What a message says; numbers with a fraction are ``Decimal``.

    :raises ValueError: it is not JSON.
    """
    try:
        return _decode(message.decode("utf-8"))
    except RecursionError as error:
        raise ValueError("the JSON is nested too deeply") from error


class BadField(ValueError):
    """A row of which a field does not fit."""

    def __init__(self, row: int, reason: str) -> None:
        super().__init__(reason)
        self.row = row


class JsonValues:
    """Reads what ``decoded`` gives as rows.

    :param strict: a missing field is an error.
    :param lenient: what does not fit is NULL.
    :raises NoForm: for a type of a column.
    """

    def __init__(self, columns: Sequence[tuple[str, DataType]], form: TimeForm, strict: bool, lenient: bool) -> None:
        self._form = form
        self._strict = strict
        self._lenient = lenient
        self._columns = list(columns)
        self._fields = [(name, self._nullable(kind)) for name, kind in columns]

    def columns(self, rows: list[dict[str, Any]]) -> list[pa.Array]:
        """The columns of objects.

        :raises BadField: for the first field that does not fit, column by column.
        """
        return [
            self._column([row.get(name) for row in rows], rows, name, kind, parse)
            for (name, kind), (_, parse) in zip(self._columns, self._fields)
        ]

    def _column(
        self, values: list[Any], rows: list[dict[str, Any]], name: str, kind: DataType, parse: Parse
    ) -> pa.Array:
        if self._strict and None in values:
            missing = [at for at, row in enumerate(rows) if name not in row]
            if missing:
                raise BadField(missing[0], f"there is no field '{name}'")
        try:
            return _at_once(values, kind, self._form)
        except (pa.ArrowException, ValueError, OverflowError):
            parsed = []
            for at, value in enumerate(values):
                try:
                    parsed.append(parse(value))
                except ValueError as error:
                    raise BadField(at, f"field '{name}': {error}") from error
            return pa.array(parsed, arrow_type(kind))

    def row(self, value: Any) -> list[Any]:
        """The fields of an object, in the order of the columns."""
        members = _checked(value, dict)
        row = []
        for name, parse in self._fields:
            part = members.get(name)
            if part is None and self._strict and name not in members:
                raise ValueError(f"there is no field '{name}'")
            try:
                row.append(parse(part))
            except ValueError as error:
                raise ValueError(f"field '{name}': {error}") from error
        return row

    def _nullable(self, kind: DataType) -> Parse:
        parse = self._parser(kind)
        if not self._lenient:
            return lambda value: None if value is None else parse(value)

        def parse_leniently(value: Any) -> Any:
            try:
                return None if value is None else parse(value)
            except (ValueError, OverflowError):
                return None

        return parse_leniently

    def _parser(self, kind: DataType) -> Parse:
        make = _PARSERS.get(family_of(kind))
        if make is None:
            raise NoForm(f"values of {kind} have no form in JSON")
        found: Parse = make(self, kind)
        return found

    def _array_parser(self, kind: DataType) -> Parse:
        element = self._nullable(*parts_of(kind))
        return lambda value: [element(part) for part in _checked(value, list)]

    def _row_parser(self, kind: t.RowType) -> Parse:
        inner = JsonValues(list(zip(kind.names, kind.field_types())), self._form, self._strict, self._lenient)
        names = kind.names
        return lambda value: dict(zip(names, inner.row(value)))

    def _map_parser(self, kind: DataType) -> Parse:
        key, item_type = parts_of(kind)
        if family_of(key) is not Family.TEXT:
            raise NoForm(f"keys in JSON are text, so that {kind} has no form in it")
        item = self._nullable(item_type)
        return lambda value: [(storable(name), item(part)) for name, part in _checked(value, dict).items()]

    def _timestamp_parser(self, kind: t.TimestampType) -> Parse:
        return lambda value: times.parse_timestamp(_text(value), self._form, kind.precision)

    def _instant_parser(self, kind: t.LocalZonedTimestampType) -> Parse:
        return lambda value: times.parse_instant(_text(value), self._form, kind.precision)


def _number_parser(json: JsonValues, kind: DataType) -> Parse:
    read = number_parser(kind)
    return lambda value: read(_scalar(value))


_PARSERS: ByFamily = {
    Family.TEXT: lambda json, kind: _text,
    Family.BOOLEAN: lambda json, kind: lambda value: (
        value if isinstance(value, bool) else parse_boolean(_text(value))
    ),
    Family.INTEGER: lambda json, kind: lambda value: _whole(value, kind.bits),
    Family.MONTHS: lambda json, kind: lambda value: _whole(value, 32),
    Family.SPAN: lambda json, kind: lambda value: _whole(value, 64) * 1000,
    **dict.fromkeys((Family.APPROXIMATE, Family.DECIMAL), _number_parser),
    Family.ARRAY: JsonValues._array_parser,
    Family.MAP: JsonValues._map_parser,
    Family.ROW: JsonValues._row_parser,
    Family.DATE: lambda json, kind: lambda value: times.parse_date(_text(value)),
    Family.TIME: lambda json, kind: lambda value: times.parse_clock(_text(value), kind.precision),
    Family.TIMESTAMP: JsonValues._timestamp_parser,
    Family.INSTANT: JsonValues._instant_parser,
    Family.BYTES: lambda json, kind: lambda value: base64.b64decode(_text(value), validate=True),
    Family.NULL: lambda json, kind: lambda value: None,
}
_NOT_AS_TEXT = {Family.BOOLEAN, Family.INTEGER, Family.APPROXIMATE, Family.DECIMAL}


def _at_once(values: list[Any], kind: DataType, form: TimeForm) -> pa.Array:
    """Values of the kind of JSON that is usual for the type; raises for others."""
    found = set(map(type, values)) - {type(None)}
    family = family_of(kind)
    if family is Family.APPROXIMATE and found <= {int, Decimal}:
        return pa.array([None if value is None else float(value) for value in values], arrow_type(kind))
    if (family is Family.INTEGER and found <= {int}) or (family is Family.BOOLEAN and found <= {bool}):
        return pa.array(values, arrow_type(kind))
    if found <= {str} and family not in _NOT_AS_TEXT:
        return values_of_texts(pa.array(values, pa.string()), kind, form)
    raise Doubtful


def _checked(value: Any, wanted: type) -> Any:
    if not isinstance(value, wanted):
        raise ValueError(f"a JSON {_JSON_NAMES[wanted]} is needed, not {compact(value)[:100]}")
    return value


def _text(value: Any) -> str:
    """A string as it is, other JSON as its text."""
    return storable(value) if isinstance(value, str) else compact(value)


def _scalar(value: Any) -> str:
    if isinstance(value, (dict, list)):
        raise ValueError(f"a number is needed, not {compact(value)[:100]}")
    return value if isinstance(value, str) else compact(value)


def _whole(value: Any, bits: int) -> int:
    """Of a number with a fraction the part before the point, as Flink reads it."""
    if isinstance(value, Decimal) and bits >= 32:
        # The exponent may be as large as someone likes.
        return in_range(int(value) if value.adjusted() < 20 else 1 << 64, bits)
    return parse_whole(_scalar(value), bits)


def compact(value: Any) -> str:
    """What ``decoded`` gave, as JSON without blanks."""
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, dict):
        return "{" + ",".join([f"{quoted(key)}:{compact(part)}" for key, part in value.items()]) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(compact, value)) + "]"
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)
