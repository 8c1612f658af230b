"""The texts of few values, made one by one: Arrow's functions take as long for one value as for a hundred.

They are the texts that the functions for columns make.
"""

from __future__ import annotations

import base64
import datetime as dt
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from millrace.formats.tables.numbers import decimal_text
from millrace.formats.tables.times import US
from millrace.relational.printing import double_text, float_text
from millrace.relational.type_table import ByFamily, Family, family_of
from millrace.relational.types import DataType

_MILLISECOND = dt.timedelta(milliseconds=1)


def texts_of_few(
    column: pa.Array, kind: DataType, separator: str, exponents: bool, whole: Callable[[pa.Array], pa.Array]
) -> list[str | None]:
    """The texts of values; NULL is None.

    :param separator: between date and time.
    :param exponents: write DECIMAL with an exponent where Java does.
    :param whole: makes the texts of a column: where values have to be seen together, or are out of Python's range.
    """
    make = _TEXTS.get(family_of(kind))
    if make is None:
        return whole(column).to_pylist()  # type: ignore[no-any-return]
    text = make(column, separator, exponents)
    try:
        # Of times with a zone Python would look up what is UTC anyway.
        values = (column.cast(US) if family_of(kind) is Family.INSTANT else column).to_pylist()
    except (ValueError, OverflowError):  # years that Python has not
        return whole(column).to_pylist()  # type: ignore[no-any-return]
    return [None if value is None else text(value) for value in values]


def _clock(value: dt.time | dt.datetime) -> str:
    text = f"{value.hour:02}:{value.minute:02}:{value.second:02}"
    return f"{text}.{value.microsecond:06}".rstrip("0") if value.microsecond else text


def _milliseconds(value: dt.timedelta) -> str:
    size = abs(value) // _MILLISECOND
    return str(size if value >= dt.timedelta(0) else -size)


def _moment(separator: str, end: str) -> Callable[[Any], str]:
    return lambda value: f"{value.year:04}-{value.month:02}-{value.day:02}{separator}{_clock(value)}{end}"


_TEXTS: ByFamily = {
    Family.TEXT: lambda column, separator, exponents: str,
    **dict.fromkeys((Family.INTEGER, Family.MONTHS), lambda column, separator, exponents: str),
    Family.BOOLEAN: lambda column, separator, exponents: lambda value: "true" if value else "false",
    Family.APPROXIMATE: lambda column, separator, exponents: (
        float_text if column.type == pa.float32() else double_text
    ),
    Family.DECIMAL: lambda column, separator, exponents: decimal_text(exponents),
    Family.SPAN: lambda column, separator, exponents: _milliseconds,
    Family.DATE: lambda column, separator, exponents: dt.date.isoformat,
    Family.TIME: lambda column, separator, exponents: _clock,
    Family.TIMESTAMP: lambda column, separator, exponents: _moment(separator, ""),
    Family.INSTANT: lambda column, separator, exponents: _moment(separator, "Z"),
    Family.BYTES: lambda column, separator, exponents: lambda value: base64.b64encode(value).decode("ascii"),
}
