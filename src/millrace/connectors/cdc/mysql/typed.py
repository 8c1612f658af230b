"""Values as PyMySQL and the log have them, in columns of the types that are wanted."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa

from millrace.connectors.cdc.mysql.natives import base
from millrace.connectors.jdbc.dialects.values import from_driver
from millrace.relational.type_table import Family, family_of
from millrace.relational.types import CharType, DataType
from millrace.relational.values import to_arrow

_ALIKE = frozenset(
    [(name, Family.INTEGER) for name in ("tinyint", "smallint", "mediumint", "int", "bigint", "year")]
    + [
        (name, Family.TEXT)
        for name in ("char", "varchar", "tinytext", "text", "mediumtext", "longtext", "enum", "json")
    ]
    + [(name, Family.BYTES) for name in ("binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob")]
)
"""whose values are what Arrow takes for the type"""
_DATES = (Family.DATE, Family.TIMESTAMP, Family.INSTANT)


def column(values: Sequence[Any], native: str, kind: DataType, zone: ZoneInfo, where: str) -> pa.Array:
    """:param zone: of the server: what its TIMESTAMP shows there, and what its DATETIME means.
    :raises ValueError: a value is none of the type.
    """
    if (base(native), family_of(kind)) in _ALIKE and not isinstance(kind, CharType):
        try:
            return to_arrow(list(values), kind)
        except (ValueError, TypeError, ArithmeticError, pa.ArrowException):
            pass  # the way below says which value it is
    convert = _converter(native, kind, zone)
    try:
        return to_arrow([None if value is None else convert(value) for value in values], kind)
    except (ValueError, TypeError, ArithmeticError, pa.ArrowException):
        for value in values:
            try:
                to_arrow([None if value is None else convert(value)], kind)
            except (ValueError, TypeError, ArithmeticError, pa.ArrowException) as error:
                raise ValueError(f"{where} has {_time(value)[:100]!r}, which is no {kind}: {error}") from None
        raise


def _converter(native: str, kind: DataType, zone: ZoneInfo) -> Callable[[Any], Any]:
    family = family_of(kind)
    convert = from_driver(kind)
    name = base(native)
    if family is Family.TEXT:
        write = _TEXTS.get(name)
        if name == "timestamp":
            return lambda value: convert(_moment(_in_zone(value, zone)))
        return convert if write is None else lambda value: convert(write(value))
    if family in _DATES:
        return _date(name, family, convert, zone)
    return convert


def _date(name: str, family: Family, convert: Callable[[Any], Any], zone: ZoneInfo) -> Callable[[Any], Any]:
    """Dates that are none (0000-00-00, the 31st of June) are NULL."""

    def moved(value: Any) -> Any:
        if name == "timestamp" and family is not Family.INSTANT:
            return _in_zone(value, zone)
        if name == "datetime" and family is Family.INSTANT:
            return value.replace(tzinfo=zone).astimezone(dt.timezone.utc).replace(tzinfo=None)
        return value

    return lambda value: None if isinstance(value, str) else convert(moved(value))


def _in_zone(value: Any, zone: ZoneInfo) -> Any:
    """What a clock there shows at a time that is given in UTC."""
    if isinstance(value, str):
        return value
    return value.replace(tzinfo=dt.timezone.utc).astimezone(zone).replace(tzinfo=None)


def _moment(value: Any) -> str:
    return value if isinstance(value, str) else value.isoformat(sep=" ")


def _time(value: Any) -> str:
    """As MySQL writes it: -838:59:59."""
    if not isinstance(value, dt.timedelta):
        return str(value)
    amount = abs(value)
    seconds = amount.days * 86_400 + amount.seconds
    text = f"{'-' if value < dt.timedelta() else ''}{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    return f"{text}.{amount.microseconds:06d}" if amount.microseconds else text


def _float(value: Any) -> str:
    return str(np.float32(value))


def _decimal(value: Any) -> str:
    return format(value, "f") if isinstance(value, Decimal) else str(value)


def _bits(value: Any) -> str:
    return "".join(f"{each:08b}" for each in value) if isinstance(value, bytes) else str(value)


_TEXTS: dict[str, Callable[[Any], str]] = {
    "time": _time, "datetime": _moment, "float": _float, "decimal": _decimal, "bit": _bits,
}  # fmt: skip
