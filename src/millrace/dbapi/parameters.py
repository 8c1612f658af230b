"""Parameters of a statement: replaces each ``?`` by a Python value as a literal of Flink SQL.

A value that can't be written without loss is refused.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from millrace.common.types import Row
from millrace.dbapi.standard import DataError, ProgrammingError
from millrace.table.sql.text import Source, SqlParseError, tokenize

# Literals

MOST_DIGITS = 38
_BIGINT = 2**63
_MILLISECOND = datetime.timedelta(milliseconds=1)
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


def literal(value: Any) -> str:
    """:raises DataError: no type of SQL holds this value.

    :raises ProgrammingError: there is no literal for values of this class.
    """
    if value is None:
        return "NULL"
    for kind in type(value).__mro__:
        if kind in _LITERALS:
            return _LITERALS[kind](value)
    item = getattr(value, "item", None)  # NumPy's numbers
    if callable(item) and getattr(value, "shape", None) == ():
        return literal(item())
    raise ProgrammingError(f"a parameter can't be a {type(value).__name__}: make it a number, text, time or list first")


def _integer(value: int) -> str:
    number = int(value)
    digits = str(abs(number))
    if len(digits) > MOST_DIGITS:
        raise DataError(f"a number of {len(digits)} digits: SQL has {MOST_DIGITS} at most")
    if not -_BIGINT < number < _BIGINT:
        return f"CAST('{number}' AS DECIMAL({len(digits)}, 0))"
    # In parentheses, or "a -?" would become a comment.
    return digits if number >= 0 else f"(-{digits})"


def _float(value: float) -> str:
    number = float(value)
    if math.isnan(number):
        return "CAST('NaN' AS DOUBLE)"
    if math.isinf(number):
        return f"CAST('{'-' if number < 0 else ''}Infinity' AS DOUBLE)"
    return f"CAST('{number!r}' AS DOUBLE)"


def _decimal(value: Decimal) -> str:
    if not value.is_finite():
        raise DataError(f"{value} is no DECIMAL")
    text = format(value, "f")
    whole, _, fraction = text.lstrip("-").partition(".")
    precision, scale = max(len(whole.lstrip("0")) + len(fraction), 1), len(fraction)
    if precision > MOST_DIGITS:
        raise DataError(f"{value} has {precision} digits: DECIMAL has {MOST_DIGITS} at most")
    return f"CAST('{text}' AS DECIMAL({precision}, {scale}))"


def _text(value: str) -> str:
    text = str.__str__(value)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise DataError(f"a text with half a character: {error}") from None
    return "'" + text.replace("'", "''") + "'"


def _bytes(value: bytes | bytearray | memoryview) -> str:
    return f"X'{bytes(value).hex().upper()}'"


def _fraction(microseconds: int) -> str:
    return f".{microseconds:06d}" if microseconds else ""


def _clock(value: datetime.time | datetime.datetime) -> str:
    return f"{value.hour:02d}:{value.minute:02d}:{value.second:02d}{_fraction(value.microsecond)}"


def _day(value: datetime.date) -> str:
    return f"{value.year:04d}-{value.month:02d}-{value.day:02d}"


def _date(value: datetime.date) -> str:
    return f"DATE '{_day(value)}'"


def _time(value: datetime.time) -> str:
    if value.tzinfo is not None:
        raise DataError("a time of day has no time zone in SQL")
    return f"TIME '{_clock(value)}'"


def _moment(value: datetime.datetime) -> str:
    if getattr(value, "nanosecond", 0):
        raise DataError(f"{value} has nanoseconds: cut it to microseconds")
    if value.tzinfo is None:
        return f"TIMESTAMP '{_day(value)} {_clock(value)}'"
    millis, rest = divmod(value - _EPOCH, _MILLISECOND)
    if rest:
        raise DataError(f"{value} in a time zone has microseconds: TO_TIMESTAMP_LTZ takes milliseconds, cut it to them")
    return f"TO_TIMESTAMP_LTZ({_integer(millis)}, 3)"


def _span(value: datetime.timedelta) -> str:
    if value % _MILLISECOND:
        raise DataError(f"{value!r} has microseconds: intervals have milliseconds, cut it to them")
    size, sign = abs(value), "-" if value < datetime.timedelta() else ""
    minutes, seconds = divmod(size.seconds, 60)
    hours, minutes = divmod(minutes, 60)
    text = f"{size.days} {hours:02d}:{minutes:02d}:{seconds:02d}.{size.microseconds // 1000:03d}"
    return f"(INTERVAL {sign}'{text}' DAY({max(len(str(size.days)), 1)}) TO SECOND(3))"


def _array(values: Any) -> str:
    if not values:
        raise DataError("an empty list has no type in SQL: write CAST(ARRAY[] AS ...) into the statement")
    return f"ARRAY[{', '.join(map(literal, values))}]"


def _map(value: Mapping[Any, Any]) -> str:
    if not value:
        raise DataError("an empty dict has no type in SQL: write CAST(MAP[] AS ...) into the statement")
    return f"MAP[{', '.join(f'{literal(key)}, {literal(item)}' for key, item in value.items())}]"


def _row(value: Row) -> str:
    return f"ROW({', '.join(map(literal, value))})"


_LITERALS: Mapping[type, Callable[[Any], str]] = {
    bool: lambda value: "TRUE" if value else "FALSE",
    int: _integer,
    float: _float,
    Decimal: _decimal,
    str: _text,
    **dict.fromkeys((bytes, bytearray, memoryview), _bytes),
    datetime.datetime: _moment,
    datetime.date: _date,
    datetime.time: _time,
    datetime.timedelta: _span,
    **dict.fromkeys((list, tuple), _array),
    dict: _map,
    Row: _row,
}


# Statements


def filled(statement: str, parameters: Sequence[Any]) -> str:
    """The statement with literals in place of its parameters. A ``?`` in a text, a quoted name or a comment is not a
    parameter.

    :raises ProgrammingError: another number of parameters, one without a literal, or a text without an end.
    """
    if isinstance(parameters, (str, bytes, Mapping)) or not isinstance(parameters, Sequence):
        raise ProgrammingError(f"parameters are a list or tuple with a value for each '?', not a {_name(parameters)}")
    places = _places(statement)
    if len(places) != len(parameters):
        raise ProgrammingError(f"the statement has {len(places)} '?', and {len(parameters)} parameters were given")
    pieces, begin = [], 0
    for place, value in zip(places, parameters):
        pieces += [statement[begin:place], literal(value)]
        begin = place + 1
    return "".join([*pieces, statement[begin:]])


def _places(statement: str) -> list[int]:
    try:
        return [token.start for token in tokenize(Source(statement)) if token.word == "?"]
    except SqlParseError as error:
        raise ProgrammingError(str(error)) from None


def _name(value: object) -> str:
    return type(value).__name__
