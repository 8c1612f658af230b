"""CSV fields as values and back."""

from __future__ import annotations

import base64
import datetime as dt
from collections.abc import Callable, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

import pyarrow as pa

from millrace.common.text import double_text, float_text
from millrace.common.types import Row, row_of
from millrace.formats.csv_schema import CsvColumn, CsvDialect
from millrace.formats.time_text import format_instant, parse_date, parse_instant, parse_time, parse_timestamp
from millrace.formats.types import ANY, BIG_INT
from millrace.relational.decimals import fit

__all__ = ["column_parser", "field_formatter", "field_parser", "int_range", "parse_boolean"]

_Parse = Callable[[str], Any]


def int_range(type_: Any) -> tuple[int, int] | None:
    """The least and the greatest value of an integer type; None for ints of any size."""
    if not pa.types.is_integer(type_):
        return None
    bits = type_.bit_width
    if pa.types.is_signed_integer(type_):
        return -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    return 0, (1 << bits) - 1


def field_parser(column: CsvColumn, dialect: CsvDialect) -> _Parse:
    """From a field's text to its value; the function raises ValueError for text that does not fit."""
    parse = _parser(column.type, column.separator if column.separator is not None else dialect.array_separator)
    null, is_text = dialect.null_value, pa.types.is_string(column.type)

    def parse_field(text: str) -> Any:
        if text == null or (not text and not is_text):
            return None
        return parse(text)

    return parse_field


def column_parser(column: CsvColumn, dialect: CsvDialect) -> Callable[[Sequence[str]], Sequence[Any]]:
    """As ``field_parser``, for a whole column of texts at once; raises ValueError without saying where."""
    parse_field = field_parser(column, dialect)
    type_, null = column.type, dialect.null_value
    if pa.types.is_string(type_):
        return lambda texts: texts if null is None or null not in texts else [parse_field(text) for text in texts]
    limits = int_range(type_)
    if limits is None and type_ != pa.float64():
        return lambda texts: [parse_field(text) for text in texts]
    number: Callable[[str], Any] = float if limits is None else int

    def parse_numbers(texts: Sequence[str]) -> Sequence[Any]:
        if "" in texts or null in texts or "_" in "".join(texts):  # Python reads 1_000 as a number
            return [parse_field(text) for text in texts]
        values = list(map(number, texts))
        if limits is not None and values and not (limits[0] <= min(values) and max(values) <= limits[1]):
            raise ValueError(f"a number is out of the range of {type_}")
        return values

    return parse_numbers


def _parser(type_: Any, separator: str) -> _Parse:
    is_ = pa.types
    if is_.is_string(type_) or type_ == ANY:
        return str
    if is_.is_boolean(type_):
        return parse_boolean
    if is_.is_integer(type_) or type_ == BIG_INT:
        limits = int_range(type_)
        return lambda text: _parse_int(text, limits)
    if is_.is_floating(type_):
        return _parse_float
    if is_.is_decimal(type_):
        return lambda text: _fitted(_parse_decimal(text), type_)
    if is_.is_date(type_):
        return lambda text: parse_date(text.strip())
    if is_.is_time(type_):
        return lambda text: parse_time(text.strip())
    if is_.is_timestamp(type_):
        parse = parse_timestamp if type_.tz is None else parse_instant
        return lambda text: parse(text.strip())
    if is_.is_binary(type_):
        return lambda text: base64.b64decode(text, validate=True)
    if is_.is_list(type_):
        element = _parser(type_.value_type, "")
        plain = is_.is_string(type_.value_type)
        return lambda text: [
            element(part) if part or plain else None for part in (text.split(separator) if separator else [text])
        ]
    if is_.is_struct(type_):
        names, fields = [field.name for field in type_], [_parser(field.type, "") for field in type_]
        return lambda text: _parse_row(text.split(separator), names, fields)
    raise TypeError(f"CSV has no text for values of {type_}")


def _parse_row(parts: list[str], names: list[str], fields: list[_Parse]) -> Row:
    if len(parts) != len(fields):
        raise ValueError(f"{len(fields)} fields expected in a nested row, but there are {len(parts)}")
    return row_of([parse(part) if part else None for parse, part in zip(fields, parts, strict=True)], names)


def parse_boolean(text: str) -> bool:
    lowered = text.strip().lower()
    if lowered not in ("true", "false"):
        raise ValueError(f"not a boolean: {text!r}")
    return lowered == "true"


def _parse_int(text: str, limits: tuple[int, int] | None) -> int:
    if "_" in text:
        raise ValueError(f"not an integer: {text!r}")
    value = int(text)
    if limits is not None and not limits[0] <= value <= limits[1]:
        raise ValueError(f"{value} is out of the range {limits[0]} to {limits[1]}")
    return value


def _parse_float(text: str) -> float:
    if "_" in text:
        raise ValueError(f"not a number: {text!r}")
    return float(text)


def _parse_decimal(text: str) -> Decimal:
    try:
        return Decimal(text.strip())
    except InvalidOperation:
        raise ValueError(f"not a decimal number: {text!r}") from None


def field_formatter(column: CsvColumn, dialect: CsvDialect) -> Callable[[Any], str]:
    """From a value to its field's text (not quoted yet)."""
    format_ = _formatter(column.type, column.separator if column.separator is not None else dialect.array_separator)
    null = dialect.null_value or ""
    return lambda value: null if value is None else format_(value)


def _formatter(type_: Any, separator: str) -> Callable[[Any], str]:
    is_ = pa.types
    if is_.is_boolean(type_):
        return lambda value: "true" if value else "false"
    if is_.is_floating(type_):
        text = double_text if is_.is_float64(type_) else float_text
        return lambda value: text(float(value))
    if is_.is_decimal(type_):
        return lambda value: format(_fitted(value, type_), "f")
    if is_.is_date(type_) or is_.is_time(type_):
        return lambda value: str(value.isoformat())
    if is_.is_timestamp(type_):
        return _format_timestamp if type_.tz is None else format_instant
    if is_.is_binary(type_):
        return lambda value: base64.b64encode(value).decode("ascii")
    if is_.is_list(type_):
        element = _formatter(type_.value_type, "")
        return lambda value: separator.join(["" if part is None else element(part) for part in value])
    if is_.is_struct(type_):
        fields = [_formatter(field.type, "") for field in type_]
        return lambda value: separator.join(
            ["" if part is None else format_(part) for format_, part in zip(fields, value, strict=True)]
        )
    if is_.is_map(type_):
        raise TypeError(f"CSV has no text for values of {type_}")
    return str


def _fitted(value: Decimal, type_: Any) -> Decimal:
    """Rounded half up to the digits after the point that the type has."""
    found = fit(value, type_.precision, type_.scale)
    if found is None:
        raise ValueError(f"{value} has too many digits for DECIMAL({type_.precision}, {type_.scale})")
    return found


def _format_timestamp(value: dt.datetime) -> str:
    return value.isoformat(" ")
