"""What drivers give row by row, as values in the Python form of the types that a table declares."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa

from millrace.relational.rows import record_batch
from millrace.relational.type_table import ByFamily, Family, conversion, family_of
from millrace.relational.types import CharType, DataType
from millrace.relational.values import to_arrow

FETCH = 10_000
YEARS = ": Python has the years 1 to 9999. Declare the column as STRING"
"""what to do about a time of another year"""
_FAR = re.compile(r"-\d|\d{5,}-|\d+-\d+-\d+.*BC")
_DATED = (Family.DATE, Family.TIMESTAMP, Family.INSTANT)
FIRST_DAY, LAST_DAY = dt.date.min, dt.date.max
FIRST_MOMENT, LAST_MOMENT = dt.datetime.min, dt.datetime.max
"""what ``-infinity`` and ``infinity`` of a database are, which are before and after all times that Python has"""


def columns_of(
    rows: Sequence[Sequence[Any]], kinds: Sequence[DataType], names: Sequence[str] = ()
) -> list[list[Any]]:
    """Rows as columns.

    :param names: of the columns, for errors.
    :raises ValueError: a value is not of the type that is declared.
    """
    columns = zip(*rows) if rows else [()] * len(kinds)
    titles = [f"'{name}'" for name in names] or [f"{place} of the query" for place in range(1, len(kinds) + 1)]
    return [_converted(column, kind, title) for column, kind, title in zip(columns, kinds, titles)]


def from_driver(kind: DataType) -> Callable[[Any], Any]:
    """Makes values of a type of what drivers give. Raises what comes of values that are none."""
    return conversion(kind, _FROM_DRIVER)


def _converted(column: Sequence[Any], kind: DataType, title: str) -> list[Any]:
    convert = from_driver(kind)
    try:
        return [convert(value) for value in column]
    except (ValueError, TypeError, ArithmeticError) as error:
        wrong = next(value for value in column if _fails(convert, value))
        raise ValueError(f"column {title} has {wrong!r}, which is no {kind}: {error}{_advice(wrong, kind)}") from None


def _advice(value: Any, kind: DataType) -> str:
    far = isinstance(value, str) and _FAR.match(value) and family_of(kind) in _DATED
    return YEARS if far else ""


def _fails(convert: Callable[[Any], Any], value: Any) -> bool:
    try:
        convert(value)
    except (ValueError, TypeError, ArithmeticError):
        return True
    return False


def fetched(cursor: Any, kinds: Sequence[DataType], fetch: int) -> Iterator[pa.RecordBatch]:
    """The rows of a cursor as batches."""
    names = [each[0] for each in cursor.description]
    while rows := cursor.fetchmany(fetch or FETCH):
        columns = columns_of(rows, kinds, names)
        yield record_batch([to_arrow(column, kind) for column, kind in zip(columns, kinds)], len(rows))


def _truth(value: Any) -> bool:
    return bool(int.from_bytes(value, "big")) if isinstance(value, bytes) else bool(value)


def _whole(value: Any) -> int:
    if isinstance(value, bytes):  # BIT
        return int.from_bytes(value, "big")
    if isinstance(value, (float, Decimal)) and value != int(value):
        raise ValueError("it is no whole number")
    return int(value)


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _bytes(value: Any) -> bytes:
    return value.encode() if isinstance(value, str) else bytes(value)


def _date(value: Any) -> dt.date:
    if isinstance(value, dt.datetime):
        return value.date()
    return value if isinstance(value, dt.date) else dt.date.fromisoformat(value)


def _time(value: Any) -> dt.time:
    if isinstance(value, dt.timedelta):
        if not dt.timedelta() <= value < dt.timedelta(days=1):
            raise ValueError("it is no time of a day")
        return (dt.datetime.min + value).time()
    return value if isinstance(value, dt.time) else dt.time.fromisoformat(value)


def _timestamp(value: Any) -> dt.datetime:
    if isinstance(value, str):
        value = dt.datetime.fromisoformat(value)
    if not isinstance(value, dt.datetime):
        value = dt.datetime.combine(value, dt.time())
    found: dt.datetime = value.astimezone(dt.timezone.utc).replace(tzinfo=None) if value.tzinfo else value
    return found


_FROM_DRIVER: ByFamily = {
    Family.BOOLEAN: lambda kind: _truth,
    Family.INTEGER: lambda kind: _whole,
    Family.APPROXIMATE: lambda kind: float,
    Family.DECIMAL: lambda kind: lambda value: value if isinstance(value, Decimal) else Decimal(str(value)),
    Family.TEXT: lambda kind: (lambda value: _text(value).ljust(kind.length)) if isinstance(kind, CharType) else _text,
    Family.BYTES: lambda kind: _bytes,
    Family.DATE: lambda kind: _date,
    Family.TIME: lambda kind: _time,
    Family.TIMESTAMP: lambda kind: _timestamp,
    Family.INSTANT: lambda kind: lambda value: _timestamp(value).replace(tzinfo=dt.timezone.utc),
}
