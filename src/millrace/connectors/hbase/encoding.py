"""Bytes as HBase's own class ``Bytes`` and Flink's connector make them of values."""

from __future__ import annotations

import datetime as dt
import struct
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from millrace.relational.type_table import ByFamily, Family, family_of
from millrace.relational.types import (
    BigIntType,
    CharType,
    DataType,
    FloatType,
    IntType,
    SmallIntType,
    TinyIntType,
)

Encode = Callable[[Any], bytes]
Decode = Callable[[bytes], Any]

MOST_DIGITS = 3
"""of a second"""
_EPOCH = dt.datetime(1970, 1, 1)
_DAY_ONE = dt.date(1970, 1, 1)
_MILLISECOND = dt.timedelta(milliseconds=1)
_WHOLE: Mapping[type[DataType], str] = {TinyIntType: ">b", SmallIntType: ">h", IntType: ">i", BigIntType: ">q"}


def problem(kind: DataType) -> str | None:
    """Why HBase has no values of a type, None if it has."""
    family = family_of(kind)
    if family not in _ENCODERS:
        return f"HBase has no values of type {kind}"
    precision = getattr(kind, "precision", 0)
    if family in (Family.TIME, Family.TIMESTAMP, Family.INSTANT) and precision > MOST_DIGITS:
        return f"HBase keeps milliseconds, {kind} has more digits: declare at most ({MOST_DIGITS})"
    return None


def encoder(kind: DataType) -> Encode:
    """From the Python form of a type to bytes; not for NULL."""
    made: Encode = _ENCODERS[family_of(kind)](kind)
    return made


def decoder(kind: DataType) -> Decode:
    """From bytes to the Python form of a type.

    :raises ValueError: from the function, for bytes that are no value of the type.
    """
    made: Decode = _DECODERS[family_of(kind)](kind)

    def decode(data: bytes) -> Any:
        try:
            return made(data)
        except (struct.error, IndexError, UnicodeDecodeError, OverflowError) as error:
            raise ValueError(f"{data[:40]!r} is no {kind}: {error}") from None

    return decode


def _packed(form: str) -> Encode:
    return struct.Struct(form).pack


def _unpacked(form: str) -> Decode:
    unpack = struct.Struct(form).unpack
    return lambda data: unpack(data)[0]


def _whole(kind: DataType) -> str:
    return _WHOLE[type(kind)]


def _approximate(kind: DataType) -> str:
    return ">f" if isinstance(kind, FloatType) else ">d"


def _decimal(value: Decimal) -> bytes:
    """The scale in four bytes, then the digits as the shortest number in two's complement."""
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int), "decimal columns have no NaN"
    unscaled = int("".join(map(str, digits))) * (-1 if sign else 1)
    length = (unscaled + (unscaled < 0)).bit_length() // 8 + 1
    return struct.pack(">i", -exponent) + unscaled.to_bytes(length, "big", signed=True)


def _to_decimal(data: bytes) -> Decimal:
    (scale,) = struct.unpack_from(">i", data)
    if len(data) < 5:
        raise ValueError(f"{data!r} is no DECIMAL: it has no digits")
    unscaled = int.from_bytes(data[4:], "big", signed=True)
    return Decimal((int(unscaled < 0), tuple(map(int, str(abs(unscaled)))), -scale))


def _time(value: dt.time) -> bytes:
    return struct.pack(">i", (dt.datetime.combine(_DAY_ONE, value) - _EPOCH) // _MILLISECOND)


def _to_time(data: bytes) -> dt.time:
    return (_EPOCH + dt.timedelta(milliseconds=struct.unpack(">i", data)[0])).time()


def _timestamp(value: dt.datetime) -> bytes:
    return struct.pack(">q", (value.replace(tzinfo=None) - _EPOCH) // _MILLISECOND)


def _to_timestamp(data: bytes) -> dt.datetime:
    return _EPOCH + dt.timedelta(milliseconds=struct.unpack(">q", data)[0])


def _text(kind: DataType) -> Decode:
    return (lambda data: data.decode().ljust(kind.length)) if isinstance(kind, CharType) else bytes.decode


_ENCODERS: ByFamily = {
    Family.TEXT: lambda kind: str.encode,
    Family.BYTES: lambda kind: bytes,
    Family.BOOLEAN: lambda kind: lambda value: b"\xff" if value else b"\x00",
    Family.INTEGER: lambda kind: _packed(_whole(kind)),
    Family.MONTHS: lambda kind: _packed(">i"),
    Family.SPAN: lambda kind: lambda value: struct.pack(">q", value // _MILLISECOND),
    Family.APPROXIMATE: lambda kind: _packed(_approximate(kind)),
    Family.DECIMAL: lambda kind: _decimal,
    Family.DATE: lambda kind: lambda value: struct.pack(">i", (value - _DAY_ONE).days),
    Family.TIME: lambda kind: _time,
    Family.TIMESTAMP: lambda kind: _timestamp,
    Family.INSTANT: lambda kind: _timestamp,
}
_DECODERS: ByFamily = {
    Family.TEXT: _text,
    Family.BYTES: lambda kind: bytes,
    Family.BOOLEAN: lambda kind: lambda data: struct.unpack(">b", data)[0] != 0,
    Family.INTEGER: lambda kind: _unpacked(_whole(kind)),
    Family.MONTHS: lambda kind: _unpacked(">i"),
    Family.SPAN: lambda kind: lambda data: struct.unpack(">q", data)[0] * _MILLISECOND,
    Family.APPROXIMATE: lambda kind: _unpacked(_approximate(kind)),
    Family.DECIMAL: lambda kind: _to_decimal,
    Family.DATE: lambda kind: lambda data: _DAY_ONE + dt.timedelta(days=struct.unpack(">i", data)[0]),
    Family.TIME: lambda kind: _to_time,
    Family.TIMESTAMP: lambda kind: _to_timestamp,
    Family.INSTANT: lambda kind: lambda data: _to_timestamp(data).replace(tzinfo=dt.timezone.utc),
}
