"""Readers of single values out of the rows of a log: each gives what PyMySQL gives for the same column."""

from __future__ import annotations

import datetime as dt
import struct
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

Read = Callable[[bytes, int], tuple[Any, int]]
"""bytes and a place there -> the value, and the place behind it"""
_EPOCH = dt.datetime(1970, 1, 1)
_GROUP = (0, 1, 1, 2, 2, 3, 3, 4, 4, 4)
"""bytes that so many digits of a decimal take"""
_MICROSECONDS = (1, 10_000, 100, 1)
"""that a fraction of so many bytes counts"""


def whole(size: int, signed: bool) -> Read:
    if size in (1, 2, 4, 8):
        form = "bhiq"[(1, 2, 4, 8).index(size)]
        unpack = struct.Struct("<" + (form if signed else form.upper())).unpack_from
        return lambda data, at: (unpack(data, at)[0], at + size)
    return lambda data, at: (int.from_bytes(data[at : at + size], "little", signed=signed), at + size)


def approximate(size: int) -> Read:
    unpack = struct.Struct("<f" if size == 4 else "<d").unpack_from
    return lambda data, at: (unpack(data, at)[0], at + size)


def octets(width: int, fill: int = 0) -> Read:
    """Bytes with their number before them, in ``width`` bytes. :param fill: zeros are added up to here."""

    def read(data: bytes, at: int) -> tuple[Any, int]:
        begin = at + width
        end = begin + int.from_bytes(data[at:begin], "little")
        return data[begin:end].ljust(fill, b"\0"), end

    return read


def text(width: int, codec: str) -> Read:
    def read(data: bytes, at: int) -> tuple[Any, int]:
        begin = at + width
        end = begin + int.from_bytes(data[at:begin], "little")
        return data[begin:end].decode(codec), end

    return read


def through(read: Read, convert: Callable[[bytes], Any]) -> Read:
    """What is made of bytes."""

    def converted(data: bytes, at: int) -> tuple[Any, int]:
        value, at = read(data, at)
        return convert(value), at

    return converted


def decimal(precision: int, scale: int) -> Read:
    groups = [(precision - scale) % 9, *[9] * ((precision - scale) // 9)]
    fraction = [*[9] * (scale // 9), scale % 9]
    parts = [(digits, _GROUP[digits]) for digits in groups + fraction if digits]
    size = sum(width for _, width in parts)
    ones, sign = (1 << 8 * size) - 1, 1 << (8 * size - 1)

    def read(data: bytes, at: int) -> tuple[Any, int]:
        number = int.from_bytes(data[at : at + size], "big") ^ sign
        negative = number & sign
        if negative:
            number ^= ones
        shift, digits = 8 * size, "-" if negative else ""
        for count, width in parts:
            shift -= 8 * width
            digits += f"{number >> shift & (1 << 8 * width) - 1:0{count}d}"
        # By its digits: arithmetic would round to those of the context.
        return Decimal(f"{digits}E-{scale}"), at + size

    return read


def bit(number: int) -> Read:
    """Bits of which the first byte has the highest, as bytes."""
    size = (number + 7) // 8
    return lambda data, at: (data[at : at + size], at + size)


def year(data: bytes, at: int) -> tuple[Any, int]:
    return (data[at] + 1900 if data[at] else 0), at + 1


def date(data: bytes, at: int) -> tuple[Any, int]:
    number = int.from_bytes(data[at : at + 3], "little")
    return _date(number >> 9, number >> 5 & 15, number & 31), at + 3


def _date(year: int, month: int, day: int) -> Any:
    """Dates that are none stay texts."""
    try:
        return dt.date(year, month, day)
    except ValueError:
        return f"{year:04d}-{month:02d}-{day:02d}"


def datetime(digits: int) -> Read:
    """Of servers since MySQL 5.6 and MariaDB 10.1."""
    width = (digits + 1) // 2
    factor = _MICROSECONDS[width]
    end = 5 + width

    def read(data: bytes, at: int) -> tuple[Any, int]:
        number = int.from_bytes(data[at : at + 5], "big") - 0x8000000000
        fraction = int.from_bytes(data[at + 5 : at + end], "big") * factor if width else 0
        days, seconds = number >> 17, number & 0x1FFFF
        months, day = days >> 5, days & 31
        time = seconds >> 12, seconds >> 6 & 63, seconds & 63
        return _datetime((months // 13, months % 13, day, *time, fraction), digits), at + end

    return read


def _datetime(parts: Sequence[int], digits: int) -> Any:
    try:
        return dt.datetime(*parts)  # type: ignore[arg-type]
    except ValueError:
        year, month, day, hour, minute, second, fraction = parts
        whole = f"{year:04d}-{month:02d}-{day:02d} {hour:02d}:{minute:02d}:{second:02d}"
        return f"{whole}.{fraction:06d}"[: 20 + digits] if digits else whole


def timestamp(digits: int) -> Read:
    """As UTC; there is a zero that is no time."""
    width = (digits + 1) // 2
    factor = _MICROSECONDS[width]
    end = 4 + width

    def read(data: bytes, at: int) -> tuple[Any, int]:
        seconds = int.from_bytes(data[at : at + 4], "big")
        fraction = int.from_bytes(data[at + 4 : at + end], "big") * factor if width else 0
        if not seconds:
            return _datetime((0, 0, 0, 0, 0, 0, fraction), digits), at + end
        return _EPOCH + dt.timedelta(0, seconds, fraction), at + end

    return read


def time(digits: int) -> Read:
    """From -838:59:59 to 838:59:59."""
    width = (digits + 1) // 2
    factor = _MICROSECONDS[width]
    size, shift = 3 + width, 8 * width
    zero = 0x800000 << shift

    def read(data: bytes, at: int) -> tuple[Any, int]:
        number = int.from_bytes(data[at : at + size], "big") - zero
        amount = abs(number)
        whole, fraction = amount >> shift, (amount & (1 << shift) - 1) * factor
        seconds = (whole >> 12 & 1023) * 3600 + (whole >> 6 & 63) * 60 + (whole & 63)
        found = dt.timedelta(0, seconds, fraction)
        return (-found if number < 0 else found), at + size

    return read


def old_timestamp(data: bytes, at: int) -> tuple[Any, int]:
    seconds = int.from_bytes(data[at : at + 4], "little")
    found = _EPOCH + dt.timedelta(0, seconds) if seconds else _datetime((0,) * 7, 0)
    return found, at + 4


def old_datetime(data: bytes, at: int) -> tuple[Any, int]:
    """Decimal digits: yyyymmddhhmmss."""
    day, second = divmod(int.from_bytes(data[at : at + 8], "little"), 1_000_000)
    parts = (day // 10_000, day // 100 % 100, day % 100, second // 10_000, second // 100 % 100, second % 100, 0)
    return _datetime(parts, 0), at + 8


def old_time(data: bytes, at: int) -> tuple[Any, int]:
    """Decimal digits: hhhmmss."""
    number = int.from_bytes(data[at : at + 3], "little", signed=True)
    amount = abs(number)
    found = dt.timedelta(0, amount // 10_000 * 3600 + amount // 100 % 100 * 60 + amount % 100)
    return (-found if number < 0 else found), at + 3


def one_of(labels: Sequence[str], size: int) -> Read:
    """An ENUM; nothing is the empty text, as for MySQL."""
    named = ("", *labels)
    return lambda data, at: (named[int.from_bytes(data[at : at + size], "little")], at + size)


def some_of(labels: Sequence[str], size: int) -> Read:
    """A SET, in the order of its declaration."""

    def read(data: bytes, at: int) -> tuple[Any, int]:
        chosen = int.from_bytes(data[at : at + size], "little")
        return ",".join(label for place, label in enumerate(labels) if chosen >> place & 1), at + size

    return read
