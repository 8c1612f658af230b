"""JSON text: reading it, and writing values of SQL as it. Written JSON has no blanks, and its keys are in order."""

from __future__ import annotations

import base64
import datetime as dt
import json
from collections.abc import Callable, Iterable
from decimal import Decimal
from json.encoder import encode_basestring
from typing import Any

from millrace.relational import types as t
from millrace.relational.functions.cast_text import double_text, float_text
from millrace.relational.functions.signatures import Kind
from millrace.relational.types import DataType

Write = Callable[[Any], str]
"""of a value as Arrow gives it, NULL excepted"""


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


_decoder = json.JSONDecoder(parse_float=Decimal, parse_constant=_refuse)


def read_json(text: str) -> Any:
    """What JSON text says: numbers with a point are ``Decimal``, of equal keys the last one counts.

    :raises ValueError: the text is not JSON.
    """
    try:
        return _decoder.decode(text)
    except RecursionError as error:
        raise ValueError("the JSON is nested too deeply") from error


def storable(text: str) -> str:
    """Text without halves of characters, which JSON can write (``\\ud800``) but columns cannot hold."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def quoted(text: str) -> str:
    """Text as a JSON string."""
    return encode_basestring(storable(text))


def json_object(members: Iterable[tuple[str, str]]) -> str:
    """An object of keys and values that are JSON already; of equal keys the last one counts."""
    return "{" + ",".join(f"{quoted(key)}:{value}" for key, value in sorted(dict(members).items())) + "}"


def json_array(items: Iterable[str]) -> str:
    """An array of values that are JSON already."""
    return "[" + ",".join(items) + "]"


def write_json(value: Any) -> str:
    """What ``read_json`` gives, as text."""
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, dict):
        return json_object((key, write_json(each)) for key, each in value.items())
    if isinstance(value, list):
        return json_array(map(write_json, value))
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)


def writer(data_type: DataType) -> Write | None:
    """What writes values of a type as JSON; None for a type without JSON form."""
    simple = _SIMPLE.get(type(data_type))
    if simple is not None:
        return simple
    if isinstance(data_type, t.ArrayType):
        each = _nullable(data_type.element_type)
        return each and (lambda value: json_array(map(each, value)))
    if isinstance(data_type, (t.MapType, t.MultisetType)):
        multiset = isinstance(data_type, t.MultisetType)
        keys = data_type.element_type if multiset else data_type.key_type  # type: ignore[union-attr]
        item = str if multiset else _nullable(data_type.value_type)  # type: ignore[union-attr]
        if item is None or not isinstance(keys, (t.CharType, t.VarCharType)):
            return None
        return lambda value: json_object((key, item(held)) for key, held in value)
    if isinstance(data_type, t.RowType):
        parts = [_nullable(each) for each in data_type.field_types()]
        known = [part for part in parts if part is not None]
        if len(known) < len(parts):
            return None
        names = data_type.names
        return lambda value: json_object((name, part(value[name])) for name, part in zip(names, known))
    return None


IN_JSON = Kind(
    "values that JSON can hold: keys of maps are STRINGs", lambda found: None if writer(found) is None else found
)


def nullable_writer(data_type: DataType) -> Write:
    """What writes values and NULL, of a type that JSON can hold."""
    found = _nullable(data_type)
    assert found is not None
    return found


def _nullable(data_type: DataType) -> Write | None:
    each = writer(data_type)
    return each and (lambda value: "null" if value is None else each(value))


def _decimal(value: Decimal) -> str:
    return f"{value:f}"


def _number(text: Callable[[float], str]) -> Write:
    """NaN and infinity are no numbers in JSON."""
    return lambda value: text(value) if value - value == 0 else f'"{text(value)}"'


def _clock(value: Any) -> str:
    whole, _, fraction = value.replace(tzinfo=None).isoformat().partition(".")
    return f"{whole}.{fraction.rstrip('0')}" if fraction else str(whole)


def _instant(value: dt.datetime) -> str:
    return f'"{_clock(value.astimezone(dt.timezone.utc))}Z"'


_SIMPLE: dict[type[DataType], Write] = {
    t.NullType: lambda value: "null",
    t.BooleanType: lambda value: "true" if value else "false",
    t.FloatType: _number(float_text),
    t.DoubleType: _number(double_text),
    t.DecimalType: _decimal,
    t.DateType: lambda value: f'"{value.isoformat()}"',
    t.TimeType: lambda value: f'"{_clock(value)}"',
    t.TimestampType: lambda value: f'"{_clock(value)}"',
    t.LocalZonedTimestampType: _instant,
    t.DayTimeIntervalType: lambda value: str(value // dt.timedelta(milliseconds=1)),
    t.VariantType: str,
}
_SIMPLE |= dict.fromkeys((t.CharType, t.VarCharType), quoted)
_SIMPLE |= dict.fromkeys(
    (t.TinyIntType, t.SmallIntType, t.IntType, t.BigIntType, t.YearMonthIntervalType), lambda value: str(value)
)
_SIMPLE |= dict.fromkeys((t.BinaryType, t.VarBinaryType), lambda value: f'"{base64.b64encode(value).decode()}"')
