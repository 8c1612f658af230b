"""JSON as MySQL stores it, as the text that MySQL makes of it. (MariaDB stores text.)"""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Callable

from millrace.connectors.cdc.mysql.log import column_types as types
from millrace.connectors.cdc.mysql.log.values import decimal

_OBJECTS, _ARRAYS, _LITERAL = (0, 1), (2, 3), 4
_NUMBERS = {5: "<h", 6: "<H", 7: "<i", 8: "<I", 9: "<q", 10: "<Q"}
_DOUBLE, _STRING, _OPAQUE = 11, 12, 15
_LITERALS = ("null", "true", "false")
_DATES = (types.DATE, types.OLD_DATETIME, types.OLD_TIMESTAMP, types.DATETIME, types.TIMESTAMP)
_TIMES = (types.OLD_TIME, types.TIME)


def text(data: bytes) -> str:
    """:raises ValueError: it is damaged, or of a kind that is not known."""
    if not data:
        return "null"  # what servers write for a value that is none
    try:
        return _value(data[0], data, 1)
    except (IndexError, struct.error) as error:
        raise ValueError(f"a value of type json is damaged: {error}") from None


def _value(kind: int, data: bytes, at: int) -> str:
    if kind in _OBJECTS or kind in _ARRAYS:
        return _container(data, at, kind in _OBJECTS, 4 if kind in (1, 3) else 2)
    if kind == _LITERAL:
        return _LITERALS[data[at]]
    if kind in _NUMBERS:
        return str(struct.unpack_from(_NUMBERS[kind], data, at)[0])
    if kind == _DOUBLE:
        return _approximate(struct.unpack_from("<d", data, at)[0])
    if kind == _STRING:
        size, at = _size(data, at)
        return _quoted(data[at : at + size])
    if kind == _OPAQUE:
        size, begin = _size(data, at + 1)
        return _opaque(data[at], data[begin : begin + size])
    raise ValueError(f"a value of type json has a part of a kind that is not known ({kind})")


def _container(data: bytes, base: int, named: bool, width: int) -> str:
    def number(at: int, size: int = width) -> int:
        return int.from_bytes(data[at : at + size], "little")

    count = number(base)
    at = base + 2 * width
    names = []
    for _ in range(count if named else 0):
        begin = base + number(at)
        names.append(_quoted(data[begin : begin + number(at + width, 2)]))
        at += width + 2
    values = []
    for _ in range(count):
        kind = data[at]
        small = kind in (_LITERAL, 5, 6) or (width == 4 and kind in (7, 8))
        values.append(_value(kind, data, at + 1 if small else base + number(at + 1)))
        at += 1 + width
    if not named:
        return f"[{', '.join(values)}]"
    return "{" + ", ".join(f"{name}: {value}" for name, value in zip(names, values)) + "}"


def _size(data: bytes, at: int) -> tuple[int, int]:
    """Seven bits a byte, the lowest first."""
    size = shift = 0
    while True:
        size |= (data[at] & 0x7F) << shift
        if not data[at] & 0x80:
            return size, at + 1
        at, shift = at + 1, shift + 7


def _quoted(data: bytes) -> str:
    return json.dumps(data.decode(), ensure_ascii=False)


def _approximate(value: float) -> str:
    return repr(value).replace("e+", "e")


def _opaque(kind: int, data: bytes) -> str:
    """Values of SQL within JSON."""
    if kind == types.DECIMAL:
        return format(decimal(data[0], data[1])(data, 2)[0], "f")
    write: Callable[[int], str] | None = _moment if kind in _DATES else _time if kind in _TIMES else None
    if write is None:
        return json.dumps(f"base64:type{kind}:{base64.b64encode(data).decode()}")
    packed = int.from_bytes(data, "little", signed=True)
    return json.dumps(_moment(packed)[:10] if kind == types.DATE else write(packed))


def _moment(packed: int) -> str:
    whole, fraction = packed >> 24, packed & 0xFFFFFF
    days, seconds = whole >> 17, whole & 0x1FFFF
    months, day = days >> 5, days & 31
    return f"{months // 13:04d}-{months % 13:02d}-{day:02d} {_clock(seconds)}.{fraction:06d}"


def _time(packed: int) -> str:
    amount = abs(packed)
    return f"{'-' if packed < 0 else ''}{_clock(amount >> 24)}.{amount & 0xFFFFFF:06d}"


def _clock(packed: int) -> str:
    return f"{packed >> 12 & 1023:02d}:{packed >> 6 & 63:02d}:{packed & 63:02d}"
