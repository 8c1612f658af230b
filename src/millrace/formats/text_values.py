"""Fields of text as values and back, for CSV and JSON: numbers, dates and times as Flink reads and writes them, and
lines of CSV by the standard library's csv module.
"""

from __future__ import annotations

import base64
import csv
import datetime as dt
import re
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

import pyarrow as pa

from millrace.common.text import double_text, float_text
from millrace.common.time import Instant
from millrace.common.types import Row, row_of
from millrace.formats.arrow_rows import ANY, BIG_INT
from millrace.formats.csv_schema import CsvColumn, CsvDialect, CsvSchema
from millrace.relational.precision import fit

_TIME = re.compile(r"(\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?(Z|[+-]\d{2}(?::?\d{2})?)?")


def parse_date(text: str) -> dt.date:
    """``2024-02-29``."""
    return dt.date.fromisoformat(text)


def parse_time(text: str) -> dt.time:
    """``12:34:56``, ``12:34:56.789`` or with ``Z``; what is finer than microseconds is cut off."""
    time, _ = _time_and_offset(text)
    return time


def parse_timestamp(text: str) -> dt.datetime:
    """``2024-02-29T12:34:56Z`` (or a space for the T), without time zone; one with an offset is brought to UTC."""
    date, time = text[:10], text[11:]
    if text[10:11] not in ("T", "t", " "):
        raise ValueError(f"not a timestamp: {text!r}")
    parsed, offset = _time_and_offset(time)
    return dt.datetime.combine(dt.date.fromisoformat(date), parsed) - offset


def parse_instant(text: str) -> Instant:
    """Read a timestamp as an instant; text without an offset is in UTC."""
    since_epoch = parse_timestamp(text) - dt.datetime(1970, 1, 1)
    return Instant(since_epoch.days * 86_400 + since_epoch.seconds, since_epoch.microseconds * 1000)


def _time_and_offset(text: str) -> tuple[dt.time, dt.timedelta]:
    match = _TIME.fullmatch(text)
    if match is None:
        raise ValueError(f"not a time: {text!r}")
    hour, minute, second, fraction, offset = match.groups()
    micros = int(fraction.ljust(6, "0")[:6]) if fraction else 0
    time = dt.time(int(hour), int(minute), int(second or 0), micros)
    if offset is None or offset == "Z":
        return time, dt.timedelta()
    shift = dt.timedelta(hours=int(offset[1:3]), minutes=int(offset[3:].strip(":") or 0))
    return time, shift if offset[0] == "+" else -shift


def _fraction(microsecond: int) -> str:
    if not microsecond:
        return ""
    return f".{microsecond // 1000:03d}" if microsecond % 1000 == 0 else f".{microsecond:06d}"


def format_rfc_time(time: dt.time) -> str:
    """``12:34:56Z``."""
    return f"{time:%H:%M:%S}{_fraction(time.microsecond)}Z"


def format_rfc_timestamp(moment: dt.datetime) -> str:
    """``2024-02-29T12:34:56.789Z``."""
    if moment.tzinfo is not None:
        moment = moment.astimezone(dt.timezone.utc)
    return f"{moment.replace(tzinfo=None).isoformat(timespec='seconds')[:19]}{_fraction(moment.microsecond)}Z"


def format_instant(instant: Instant) -> str:
    """As ``format_rfc_timestamp``."""
    moment = dt.datetime(1970, 1, 1) + dt.timedelta(seconds=instant.seconds, microseconds=instant.nanos // 1000)
    return format_rfc_timestamp(moment)


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
    """The function from a field's text to its value; it raises ValueError for text that does not fit."""
    parse = _parser(column.type, column.separator if column.separator is not None else dialect.array_separator)
    null, is_text = dialect.null_value, pa.types.is_string(column.type)

    def parse_field(text: str) -> Any:
        if text == null or (not text and not is_text):
            return None
        return parse(text)

    return parse_field


def column_parser(column: CsvColumn, dialect: CsvDialect) -> Callable[[Sequence[str]], Sequence[Any]]:
    """The function from a column of texts to a column of values; it raises ValueError that does not say where."""
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
    """The function from a value to its field's text, not quoted yet."""
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


_MAX_FIELD = 1 << 27
"""characters; Python's own limit, which is one of the process, is 131,072"""


def reader_options(dialect: CsvDialect) -> dict[str, Any]:
    """The arguments of ``csv.reader``, whose fields may be long from now on."""
    if csv.field_size_limit() < _MAX_FIELD:
        csv.field_size_limit(_MAX_FIELD)
    return {
        "delimiter": dialect.column_separator,
        "quotechar": dialect.quote_char,
        "quoting": csv.QUOTE_NONE if dialect.quote_char is None else csv.QUOTE_MINIMAL,
        "escapechar": dialect.escape_char,
        "strict": True,
    }


class CsvText:
    """Formats rows by a schema.

    :param as_java: with quotes wherever Jackson puts them, as in files; otherwise where they are needed.
    """

    def __init__(self, schema: CsvSchema, as_java: bool = False) -> None:
        dialect = schema.dialect
        self._java_quotes = None
        if as_java and dialect.quote_char is not None:
            self._java_quotes = JavaQuotes(dialect, [pa.types.is_string(column.type) for column in schema.columns])
        self._names = schema.names
        self._formatters = [field_formatter(column, schema.dialect) for column in schema.columns]
        # Python before 3.13 quotes a line end in a field only if it is part of the line terminator.
        self._options = {**reader_options(schema.dialect), "lineterminator": "\r\n"}
        self._line_separator = schema.dialect.line_separator

    def lines(self, rows: Iterable[Sequence[Any]]) -> str:
        """The lines of rows given as sequences of values, each with the line separator at its end."""
        formatters = self._formatters
        return self._join([[f(value) for f, value in zip(formatters, row, strict=True)] for row in rows])

    def header(self) -> str:
        return self._join([self._names], True)

    def _join(self, records: list[list[str]], is_header: bool = False) -> str:
        if self._java_quotes is not None:
            end = self._line_separator
            return "".join([self._java_quotes.line(record, is_header) + end for record in records])
        lines: list[str] = []
        csv.writer(_Lines(lines), **self._options).writerows(records)
        return "".join([line[:-2] + self._line_separator for line in lines])


class JavaQuotes:
    """Puts into quotes what Java's library for CSV puts there: text that is long, or that has any character up to the
    greater of separator and quote."""

    def __init__(self, dialect: CsvDialect, are_texts: list[bool]) -> None:
        assert dialect.quote_char is not None
        self._separator, self._quote, self._escape = dialect.column_separator, dialect.quote_char, dialect.escape_char
        self._null = dialect.null_value or ""
        self._are_texts = are_texts
        last = re.escape(chr(max(ord(self._separator), ord(self._quote))))
        special = "".join(map(re.escape, filter(None, (self._separator, self._quote, self._escape, "\n", "\r"))))
        self._text = re.compile(f"[\0-{last}{special}]|.{{25}}", re.DOTALL)
        self._other = re.compile(f"[{special}]")

    def line(self, record: list[str], is_header: bool) -> str:
        """A record without its end of line; names of columns are texts."""
        fields = [self._field(field, is_header or text) for field, text in zip(record, self._are_texts, strict=True)]
        if fields == [""]:
            return self._quote * 2  # an empty line would be no record
        return self._separator.join(fields)

    def _field(self, field: str, is_text: bool) -> str:
        if field == self._null or not (self._text if is_text else self._other).search(field):
            return field
        if self._escape is not None:
            field = field.replace(self._escape, self._escape * 2)
        return f"{self._quote}{field.replace(self._quote, self._quote * 2)}{self._quote}"


class _Lines:
    """A file whose writes, one a record, go to a list."""

    def __init__(self, lines: list[str]) -> None:
        self.write = lines.append
