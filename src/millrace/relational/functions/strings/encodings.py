"""ASCII, CHR, ENCODE, DECODE, base 64: text and what it is made of."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence

from millrace.relational.functions.columns import by_row
from millrace.relational.functions.registry import Column, Surroundings, scalar
from millrace.relational.functions.signatures import (
    BYTES,
    BYTES_TYPE,
    INT_TYPE,
    STRING,
    TEXT,
    TEXT_OR_BYTES,
    WHOLE,
    takes,
)
from millrace.relational.rex import Call

_CHARSETS = {
    "US-ASCII": "ascii",
    "ISO-8859-1": "latin-1",
    "UTF-8": "utf-8",
    "UTF-16BE": "utf-16-be",
    "UTF-16LE": "utf-16-le",
    "UTF-16": "utf-16",
}
_BIG_ENDIAN_MARK = b"\xfe\xff"


@scalar("ASCII", takes(TEXT, result=INT_TYPE))
def _ascii(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    """The first byte of the text as Java has it, with a sign; 0 for no text."""
    return by_row(call, args, lambda text: int.from_bytes(text.encode()[:1], "big", signed=True) if text else 0)


@scalar("CHR", takes(WHOLE, result=STRING, nullable=True))
def _chr(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return by_row(call, args, lambda code: "" if code < 0 else chr(code & 0xFF))


def _charset(name: str) -> str:
    found = _CHARSETS.get(name.upper())
    if found is None:
        raise ValueError(f"there is no character set {name!r}: use one of {', '.join(_CHARSETS)}")
    return found


@scalar("DECODE", takes(BYTES, TEXT, result=STRING))
def _decode(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    """What cannot be decoded becomes U+FFFD."""
    return by_row(call, args, decoded_text, prepare={1: _charset})


def decoded_text(value: bytes, charset: str) -> str:
    if charset == "utf-16" and value[:2] not in (b"\xff\xfe", _BIG_ENDIAN_MARK):
        charset = "utf-16-be"
    return value.decode(charset, "replace")


@scalar("ENCODE", takes(TEXT, TEXT, result=BYTES_TYPE))
def _encode(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    """What the character set lacks becomes ``?``."""
    return by_row(call, args, encoded_text, prepare={1: _charset})


def encoded_text(text: str, charset: str) -> bytes:
    if charset == "utf-16":
        return (_BIG_ENDIAN_MARK if text else b"") + text.encode("utf-16-be", "replace")
    return text.encode(charset, "replace")


@scalar("TO_BASE64", takes(TEXT_OR_BYTES, result=STRING), spark=r"replace(base64({0}), '\r\n', '')")
def _to_base64(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return by_row(call, args, lambda value: base64.b64encode(_bytes(value)).decode())


@scalar("FROM_BASE64", takes(TEXT_OR_BYTES, result=STRING))
def _from_base64(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    """:raises ValueError: this is not base 64."""
    return by_row(call, args, from_base64)


def from_base64(value: str | bytes) -> str:
    raw = _bytes(value)
    try:
        return base64.b64decode(raw + b"=" * (-len(raw) % 4), validate=True).decode("utf-8", "replace")
    except binascii.Error:
        raise ValueError(f"FROM_BASE64 cannot read {value!r}") from None


def _bytes(value: str | bytes) -> bytes:
    return value.encode() if isinstance(value, str) else value
