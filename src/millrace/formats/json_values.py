"""Values from what the json module gives, and values as JSON text, by type."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any

import pyarrow as pa

from millrace.common.time import Instant
from millrace.common.types import Row, row_of
from millrace.formats.arrow_rows import values_of_row
from millrace.formats.csv_values import int_range, parse_boolean
from millrace.formats.time_text import (
    format_instant,
    format_rfc_time,
    format_rfc_timestamp,
    parse_date,
    parse_instant,
    parse_time,
    parse_timestamp,
)
from millrace.formats.types import ANY, BIG_INT

__all__ = ["json_decoder", "json_formatter", "value_parser"]

_Parse = Callable[[Any], Any]


def json_decoder() -> Callable[[str], Any]:
    """The standard decoder, but numbers with a fraction stay exact (``Decimal``)."""
    return json.JSONDecoder(parse_float=Decimal).decode


def value_parser(type_: Any, fail_on_missing_field: bool = False) -> _Parse:
    """From a decoded JSON value to the value of an Arrow type; the function raises ValueError for what does not fit."""
    parse = _parser(type_, fail_on_missing_field)
    return lambda value: None if value is None else parse(value)


def _parser(type_: Any, strict: bool) -> _Parse:
    is_ = pa.types
    if type_ == ANY:
        return _plain
    if is_.is_string(type_):
        return lambda value: value if isinstance(value, str) else _to_json(_plain(value))
    if is_.is_boolean(type_):
        return _parse_boolean
    if is_.is_integer(type_) or type_ == BIG_INT:
        limits = int_range(type_)
        return lambda value: _parse_int(value, limits)
    if is_.is_floating(type_):
        return _parse_float
    if is_.is_decimal(type_):
        return _parse_decimal
    if is_.is_list(type_):
        element = value_parser(type_.value_type, strict)
        return lambda value: [element(part) for part in _checked(value, list)]
    if is_.is_map(type_):
        key, item = value_parser(type_.key_type, strict), value_parser(type_.item_type, strict)
        return lambda value: {key(k): item(v) for k, v in _checked(value, dict).items()}
    if is_.is_struct(type_):
        return _row_parser(type_, strict)
    parse_text = _text_parser(type_)
    return lambda value: parse_text(_checked(value, str))


def _text_parser(type_: Any) -> Callable[[str], Any]:
    is_ = pa.types
    if is_.is_date(type_):
        return parse_date
    if is_.is_time(type_):
        return parse_time
    if is_.is_timestamp(type_):
        return parse_timestamp if type_.tz is None else parse_instant
    if is_.is_binary(type_):
        return lambda text: base64.b64decode(text, validate=True)
    raise TypeError(f"JSON has no form for values of {type_}")


def _row_parser(type_: Any, strict: bool) -> _Parse:
    names = [field.name for field in type_]
    fields = [(field.name, _parser(field.type, strict)) for field in type_]

    def parse_row(value: Any) -> Row:
        row = []
        for name, parse in fields:
            part = _checked(value, dict).get(name)
            if part is not None:
                try:
                    part = parse(part)
                except ValueError as error:
                    raise ValueError(f"field {name!r}: {error}") from error
            elif strict and name not in value:
                raise ValueError(f"Could not find field with name '{name}'.")
            row.append(part)
        return row_of(row, names)

    return parse_row


def _checked(value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        raise ValueError(f"a JSON {_JSON_NAMES[kind]} is needed, got {value!r}")
    return value


_JSON_NAMES: dict[Any, str] = {dict: "object", list: "array", str: "string"}


def _plain(value: Any) -> Any:
    """The decoded value with floats instead of decimals."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, list):
        return [_plain(part) for part in value]
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    return value


def _parse_boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return parse_boolean(value)
    raise ValueError(f"not a boolean: {value!r}")


def _parse_int(value: Any, limits: tuple[int, int] | None) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, str, Decimal)):
        raise ValueError(f"not an integer: {value!r}")
    number = int(value)
    if (isinstance(value, str) and "_" in value) or (isinstance(value, Decimal) and number != value):
        raise ValueError(f"not an integer: {value}")
    if limits is not None and not limits[0] <= number <= limits[1]:
        raise ValueError(f"{number} is out of the range {limits[0]} to {limits[1]}")
    return number


def _parse_float(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, str, Decimal)):
        raise ValueError(f"not a number: {value!r}")
    return float(value)


def _parse_decimal(value: Any) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, (int, float, str, Decimal)):
        raise ValueError(f"not a number: {value!r}")
    try:
        return value if isinstance(value, Decimal) else Decimal(value)
    except InvalidOperation:
        raise ValueError(f"not a decimal number: {value!r}") from None


def json_formatter(type_: Any) -> Callable[[Any], str]:
    """From a value of an Arrow type to JSON text, without spaces and without escapes for non-ASCII characters."""
    format_ = _formatter(type_)
    return lambda value: "null" if value is None else format_(value)


def _formatter(type_: Any) -> Callable[[Any], str]:
    is_ = pa.types
    if is_.is_string(type_) or type_ == ANY or is_.is_floating(type_):
        return _to_json
    if is_.is_boolean(type_):
        return lambda value: "true" if value else "false"
    if is_.is_integer(type_) or is_.is_decimal(type_):
        return lambda value: str(value) if not isinstance(value, Decimal) else f"{value:f}"
    if is_.is_date(type_):
        return lambda value: f'"{value.isoformat()}"'
    if is_.is_time(type_):
        return lambda value: f'"{format_rfc_time(value)}"'
    if is_.is_timestamp(type_):
        format_ = format_rfc_timestamp if type_.tz is None else format_instant
        return lambda value: f'"{format_(value)}"'
    if is_.is_binary(type_):
        return lambda value: f'"{base64.b64encode(value).decode("ascii")}"'
    if is_.is_list(type_):
        element = json_formatter(type_.value_type)
        return lambda value: f"[{','.join([element(part) for part in value])}]"
    if is_.is_map(type_):
        item = json_formatter(type_.item_type)
        return lambda value: f"{{{','.join([f'{_to_json(str(k))}:{item(v)}' for k, v in value.items()])}}}"
    if is_.is_struct(type_):
        names = [field.name for field in type_]
        fields = [(_to_json(field.name), json_formatter(field.type)) for field in type_]
        return lambda value: (
            "{"
            + ",".join(
                [f"{name}:{f(part)}" for (name, f), part in zip(fields, values_of_row(value, names), strict=True)]
            )
            + "}"
        )
    raise TypeError(f"JSON has no form for values of {type_}")


def _undeclared(value: Any) -> Any:
    """What the json module does not know."""
    if isinstance(value, Row):
        try:
            return value.as_dict()
        except TypeError:
            return list(value)
    if isinstance(value, (bytes, bytearray)):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, Instant):
        return format_instant(value)
    if hasattr(value, "isoformat"):
        return value.isoformat()
    raise TypeError(f"JSON has no form for {type(value).__name__} {value!r}")


_to_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=_undeclared).encode
