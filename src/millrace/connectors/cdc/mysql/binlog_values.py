"""Values in the rows of a binary log: the types of columns by number, and a reader for each type.

A reader gives what PyMySQL gives for the same column in a SELECT. MySQL's binary JSON becomes the text that the server
makes of it; MariaDB stores text.
"""

from __future__ import annotations

import base64
import datetime as dt
import json
import struct
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

TINY, SHORT, LONG, FLOAT, DOUBLE, LONGLONG, INT24 = 1, 2, 3, 4, 5, 8, 9
OLD_TIMESTAMP, DATE, OLD_TIME, OLD_DATETIME, YEAR, NEW_DATE = 7, 10, 11, 12, 13, 14
VARCHAR, BIT, TIMESTAMP, DATETIME, TIME = 15, 16, 17, 18, 19
COMPRESSED_BLOB, COMPRESSED_VARCHAR = 140, 141
VECTOR, JSON, DECIMAL, ENUM, SET = 242, 245, 246, 247, 248
TINY_BLOB, MEDIUM_BLOB, LONG_BLOB, BLOB, VAR_STRING, STRING, GEOMETRY = 249, 250, 251, 252, 253, 254, 255

_DETAIL = {
    FLOAT: 1, DOUBLE: 1, VARCHAR: 2, VAR_STRING: 2, BIT: 2, DECIMAL: 2, TIMESTAMP: 1, DATETIME: 1, TIME: 1, JSON: 1,
    TINY_BLOB: 1, MEDIUM_BLOB: 1, LONG_BLOB: 1, BLOB: 1, GEOMETRY: 1, VECTOR: 1, STRING: 2, ENUM: 2, SET: 2,
    COMPRESSED_BLOB: 1, COMPRESSED_VARCHAR: 2,
    TINY: 0, SHORT: 0, LONG: 0, LONGLONG: 0, INT24: 0, OLD_TIMESTAMP: 0, DATE: 0, OLD_TIME: 0, OLD_DATETIME: 0,
    YEAR: 0, NEW_DATE: 0,
}  # fmt: skip
"""bytes that describe a column of the kind"""
_NUMBER_TYPES = frozenset((TINY, SHORT, INT24, LONG, LONGLONG, DECIMAL, FLOAT, DOUBLE, YEAR))
_TEXT_TYPES = frozenset(
    (STRING, VAR_STRING, VARCHAR, BLOB, TINY_BLOB, MEDIUM_BLOB, LONG_BLOB, COMPRESSED_BLOB, COMPRESSED_VARCHAR)
)


def described(code: int, details: bytes, at: int, table: str) -> tuple[int, bytes, int]:
    """The kind of a column, its description, and where that of the next one begins.

    :raises ValueError: a kind that no server of today writes, or that is not known yet.
    """
    if code not in _DETAIL:
        raise ValueError(f"table {table} has a column of a type that is not known here (number {code})")
    end = at + _DETAIL[code]
    detail = details[at:end]
    if code != STRING:
        return code, detail, end
    first, second = detail
    if first in (ENUM, SET):
        return first, bytes([second]), end
    # Two bits of the length are where the kind has them set, in this one only.
    length = second | (((first & 0x30) ^ 0x30) << 4)
    return STRING, length.to_bytes(2, "little"), end


def is_number(kind: int) -> bool:
    """Whether it has a sign, for the log."""
    return kind in _NUMBER_TYPES


def is_text(kind: int, mariadb: bool) -> bool:
    """Whether the log has a collation for it; bytes have one, too."""
    return kind in _TEXT_TYPES or (mariadb and kind == GEOMETRY)


def has_labels(kind: int) -> bool:
    return kind in (ENUM, SET)


Read = Callable[[bytes, int], tuple[Any, int]]
"""bytes and a place there -> the value, and the place behind it"""
_EPOCH = dt.datetime(1970, 1, 1)
_GROUP = (0, 1, 1, 2, 2, 3, 3, 4, 4, 4)
"""number of digits of a decimal -> bytes that they take"""
_MICROSECONDS = (1, 10_000, 100, 1)
"""bytes of a fraction of a second -> microseconds of its unit"""


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


def characters(width: int, codec: str) -> Read:
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
    """A reader of TIME, from -838:59:59 to 838:59:59."""
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


_OBJECTS, _ARRAYS, _LITERAL = (0, 1), (2, 3), 4
_JSON_NUMBERS = {5: "<h", 6: "<H", 7: "<i", 8: "<I", 9: "<q", 10: "<Q"}
_DOUBLE, _STRING, _OPAQUE = 11, 12, 15
_LITERALS = ("null", "true", "false")
_DATES = (DATE, OLD_DATETIME, OLD_TIMESTAMP, DATETIME, TIMESTAMP)
_TIMES = (OLD_TIME, TIME)


def json_text(data: bytes) -> str:
    """:raises ValueError: it is damaged, or of a kind that is not known."""
    if not data:
        return "null"  # what servers write for a value that is none
    try:
        return _json_value(data[0], data, 1)
    except (IndexError, struct.error) as error:
        raise ValueError(f"a value of type json is damaged: {error}") from None


def _json_value(kind: int, data: bytes, at: int) -> str:
    if kind in _OBJECTS or kind in _ARRAYS:
        return _json_container(data, at, kind in _OBJECTS, 4 if kind in (1, 3) else 2)
    if kind == _LITERAL:
        return _LITERALS[data[at]]
    if kind in _JSON_NUMBERS:
        return str(struct.unpack_from(_JSON_NUMBERS[kind], data, at)[0])
    if kind == _DOUBLE:
        return _approximate(struct.unpack_from("<d", data, at)[0])
    if kind == _STRING:
        size, at = _json_size(data, at)
        return _json_string(data[at : at + size])
    if kind == _OPAQUE:
        size, begin = _json_size(data, at + 1)
        return _opaque(data[at], data[begin : begin + size])
    raise ValueError(f"a value of type json has a part of a kind that is not known ({kind})")


def _json_container(data: bytes, base: int, named: bool, width: int) -> str:
    def number(at: int, size: int = width) -> int:
        return int.from_bytes(data[at : at + size], "little")

    count = number(base)
    at = base + 2 * width
    names = []
    for _ in range(count if named else 0):
        begin = base + number(at)
        names.append(_json_string(data[begin : begin + number(at + width, 2)]))
        at += width + 2
    values = []
    for _ in range(count):
        kind = data[at]
        small = kind in (_LITERAL, 5, 6) or (width == 4 and kind in (7, 8))
        values.append(_json_value(kind, data, at + 1 if small else base + number(at + 1)))
        at += 1 + width
    if not named:
        return f"[{', '.join(values)}]"
    return "{" + ", ".join(f"{name}: {value}" for name, value in zip(names, values)) + "}"


def _json_size(data: bytes, at: int) -> tuple[int, int]:
    """Seven bits a byte, the lowest first."""
    size = shift = 0
    while True:
        size |= (data[at] & 0x7F) << shift
        if not data[at] & 0x80:
            return size, at + 1
        at, shift = at + 1, shift + 7


def _json_string(data: bytes) -> str:
    return json.dumps(data.decode(), ensure_ascii=False)


def _approximate(value: float) -> str:
    return repr(value).replace("e+", "e")


def _opaque(kind: int, data: bytes) -> str:
    """Values of SQL within JSON."""
    if kind == DECIMAL:
        return format(decimal(data[0], data[1])(data, 2)[0], "f")
    write: Callable[[int], str] | None = _json_datetime if kind in _DATES else _json_time if kind in _TIMES else None
    if write is None:
        return json.dumps(f"base64:type{kind}:{base64.b64encode(data).decode()}")
    packed = int.from_bytes(data, "little", signed=True)
    return json.dumps(_json_datetime(packed)[:10] if kind == DATE else write(packed))


def _json_datetime(packed: int) -> str:
    whole, fraction = packed >> 24, packed & 0xFFFFFF
    days, seconds = whole >> 17, whole & 0x1FFFF
    months, day = days >> 5, days & 31
    return f"{months // 13:04d}-{months % 13:02d}-{day:02d} {_clock(seconds)}.{fraction:06d}"


def _json_time(packed: int) -> str:
    amount = abs(packed)
    return f"{'-' if packed < 0 else ''}{_clock(amount >> 24)}.{amount & 0xFFFFFF:06d}"


def _clock(packed: int) -> str:
    return f"{packed >> 12 & 1023:02d}:{packed >> 6 & 63:02d}:{packed & 63:02d}"
