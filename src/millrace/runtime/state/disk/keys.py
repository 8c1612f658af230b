"""Addresses, user keys and timestamps as keys of the store.

Equal values have equal bytes, as they have equal hashes: 1, 1.0 and True are one key. (A window or ``Scoped`` equals a
plain tuple, too, but one is never used to look up the other.) Values that only their own ``==`` can compare (rows,
dates, objects of the user) get the bytes of their stable hash, so different ones may share a key; see ``records.py``.
Consecutive numbers are neighbours.
"""

from __future__ import annotations

import decimal
import hashlib
import numbers
import struct
from collections.abc import Callable
from contextlib import suppress
from operator import itemgetter
from typing import Any

from millrace.common.types import Row
from millrace.common.window import TimeWindow
from millrace.runtime.exchange.keys import UnstableKeyError, stable_hash
from millrace.runtime.state.address import Scoped

LONGEST = 160
"""The most bytes of one part of a key; a longer one is represented by a digest. An LMDB key has at most 511 bytes."""

_INT, _BIG, _FLOAT, _TEXT, _BYTES, _NONE, _WINDOW, _TUPLE, _SCOPED, _OTHER, _DIGEST = (
    bytes([0x10 + n]) for n in range(11)
)
_AS_INT = struct.Struct(">cq")
_AS_FLOAT = struct.Struct(">cd")
_AS_WINDOW = struct.Struct(">cqq")
_TIME = struct.Struct(">Q")
_LENGTH = struct.Struct(">I").pack
_MIDDLE = 2**63


def part(value: Any) -> bytes:
    """The bytes of an address or user key, ``LONGEST`` at most."""
    encoded = _ENCODERS.get(value.__class__, _other)(value)
    return encoded if len(encoded) <= LONGEST else _DIGEST + hashlib.blake2b(encoded, digest_size=32).digest()


def parts(values: list[Any]) -> list[bytes]:
    """``part`` of each value."""
    if set(map(type, values)) == {int}:
        pack = _AS_INT.pack
        with suppress(struct.error):
            return [pack(_INT, value) for value in values]
    return [part(value) for value in values]


def is_plain(value: Any, encoded: bytes) -> bool:
    """Whether ``decode`` restores exactly ``value`` from ``encoded``, which is ``part(value)``."""
    return encoded[:1] != _DIGEST and _is_exact(value)


def decode(encoded: bytes) -> Any:
    """The value of a part for which ``is_plain`` holds."""
    return _DECODERS[encoded[:1]](encoded)


def decode_all(encoded: list[bytes]) -> list[Any]:
    """``decode`` of each part."""
    if set(map(itemgetter(0), encoded)) == {_INT[0]}:
        return [value for _, value in map(_AS_INT.unpack, encoded)]
    return list(map(decode, encoded))


def time_part(time: int) -> bytes:
    """A timestamp (ms) in 8 bytes that sort like the timestamps. Raises ``ValueError`` outside of 64 bits."""
    try:
        return _TIME.pack(time + _MIDDLE)
    except struct.error:
        raise ValueError(f"{time} is no timestamp: these are ms in 64 bits") from None


def time_of(encoded: bytes) -> int:
    time: int = _TIME.unpack(encoded)[0]
    return time - _MIDDLE


# -- values with bytes of their own -----------------------------------------------------------------------------------


def _int(value: int) -> bytes:
    try:
        return _AS_INT.pack(_INT, value)
    except struct.error:
        return _BIG + value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True)


def _float(value: float) -> bytes:
    return _int(int(value)) if value.is_integer() else _AS_FLOAT.pack(_FLOAT, value)


def _text(value: str) -> bytes:
    return _TEXT + str.encode(value, "utf-8", "surrogatepass")


def _bytes(value: bytes) -> bytes:
    return _BYTES + value


def _none(value: None) -> bytes:
    return _NONE


def _window(value: TimeWindow) -> bytes:
    try:
        return _AS_WINDOW.pack(_WINDOW, *value)
    except struct.error:
        return _other(value)


def _tuple(value: tuple[Any, ...]) -> bytes:
    return _TUPLE + _joined(value)


def _scoped(value: Scoped) -> bytes:
    key, namespace = value
    first = _ENCODERS.get(key.__class__, _other)(key)
    second = _ENCODERS.get(namespace.__class__, _other)(namespace)
    return b"".join((_SCOPED, _LENGTH(len(first)), first, _LENGTH(len(second)), second))


def _joined(values: tuple[Any, ...]) -> bytes:
    pieces: list[bytes] = []
    for value in values:
        encoded = _ENCODERS.get(value.__class__, _other)(value)
        pieces += (_LENGTH(len(encoded)), encoded)
    return b"".join(pieces)


_ENCODERS: dict[type, Callable[[Any], bytes]] = {
    int: _int,
    float: _float,
    str: _text,
    bytes: _bytes,
    type(None): _none,
    TimeWindow: _window,
    tuple: _tuple,
    Scoped: _scoped,
}


# -- values of other classes ------------------------------------------------------------------------------------------


def _other(value: Any) -> bytes:
    if isinstance(value, str):  # an enum of strings, say: it equals its value
        return _text(value)
    if isinstance(value, tuple):
        return _tuple(value)
    if isinstance(value, (numbers.Number, decimal.Decimal)):
        return _number(value)
    return _OTHER + _hash(value).to_bytes(4, "big")


def _number(value: Any) -> bytes:
    """The bytes of a number. Numbers of different classes are equal if their values are."""
    kinds: tuple[tuple[type, Callable[[Any], bytes]], ...] = ((int, _int), (float, _float))
    for kind, encode in kinds:
        try:
            plain = kind(value)
        except (TypeError, ValueError, ArithmeticError):
            continue
        if plain == value:
            return encode(plain)
    try:
        return _OTHER + _joined(value.as_integer_ratio())  # an exact fraction
    except (AttributeError, ValueError, ArithmeticError):
        return _OTHER


def _hash(value: Any) -> int:
    try:
        if isinstance(value, (Row, frozenset)):  # their order does not count
            return sum(map(stable_hash, value)) & 0xFFFFFFFF
        return stable_hash(value)
    except UnstableKeyError:
        return 0  # all such values share a key: slow if they are many, never wrong


# -- and back ---------------------------------------------------------------------------------------------------------


def _is_exact(value: Any) -> bool:
    kind = value.__class__
    if kind is tuple or kind is Scoped:
        return all(map(_is_exact, value))
    if kind is float:
        return not value.is_integer()
    if kind is TimeWindow:
        return all(-_MIDDLE <= time < _MIDDLE for time in value)
    return kind in _EXACT


_EXACT = frozenset({int, str, bytes, type(None)})


def _split(encoded: bytes) -> list[Any]:
    values, place = [], 1
    while place < len(encoded):
        start = place + 4
        place = start + int.from_bytes(encoded[start - 4 : start], "big")
        values.append(decode(encoded[start:place]))
    return values


_DECODERS: dict[bytes, Callable[[bytes], Any]] = {
    _INT: lambda encoded: _AS_INT.unpack(encoded)[1],
    _BIG: lambda encoded: int.from_bytes(encoded[1:], "big", signed=True),
    _FLOAT: lambda encoded: _AS_FLOAT.unpack(encoded)[1],
    _TEXT: lambda encoded: encoded[1:].decode("utf-8", "surrogatepass"),
    _BYTES: lambda encoded: encoded[1:],
    _NONE: lambda encoded: None,
    _WINDOW: lambda encoded: TimeWindow(*_AS_WINDOW.unpack(encoded)[1:]),
    _TUPLE: lambda encoded: tuple(_split(encoded)),
    _SCOPED: lambda encoded: Scoped(*_split(encoded)),
}
