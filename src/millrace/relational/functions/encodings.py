"""Encodings of text: ASCII, CHR, ENCODE, DECODE, base 64; digests in hexadecimal digits; URLs and IP addresses."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import quote_plus

from millrace.relational import types as t
from millrace.relational.functions.registry import (
    BIGINT_TYPE,
    BYTES,
    BYTES_TYPE,
    INT_TYPE,
    STRING,
    TEXT,
    TEXT_OR_BYTES,
    WHOLE,
    Column,
    Surroundings,
    by_row,
    scalar,
    takes,
)
from millrace.relational.functions.text_values import decoded_text, encoded_text
from millrace.relational.rex import Call

# Characters and bytes

_CHARSETS = {
    "US-ASCII": "ascii",
    "ISO-8859-1": "latin-1",
    "UTF-8": "utf-8",
    "UTF-16BE": "utf-16-be",
    "UTF-16LE": "utf-16-le",
    "UTF-16": "utf-16",
}


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


@scalar("ENCODE", takes(TEXT, TEXT, result=BYTES_TYPE))
def _encode(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    """What the character set lacks becomes ``?``."""
    return by_row(call, args, encoded_text, prepare={1: _charset})


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


# Digests

_ALGORITHMS: dict[str, Callable[[bytes], Any]] = {
    "MD5": hashlib.md5,
    "SHA1": hashlib.sha1,
    "SHA224": hashlib.sha224,
    "SHA256": hashlib.sha256,
    "SHA384": hashlib.sha384,
    "SHA512": hashlib.sha512,
}
_SPARK = {"MD5": "md5({0})", "SHA1": "sha1({0})"}
_BY_LENGTH = {224: hashlib.sha224, 256: hashlib.sha256, 384: hashlib.sha384, 512: hashlib.sha512}


def _digest(algorithm: Callable[[bytes], Any], value: str | bytes) -> str:
    found: str = algorithm(value.encode() if isinstance(value, str) else value).hexdigest()
    return found


def _register(name: str, algorithm: Callable[[bytes], Any]) -> None:
    length = algorithm(b"").digest_size * 2
    bits = name.removeprefix("SHA")
    spark = _SPARK.get(name, f"sha2({{0}}, {bits})")

    @scalar(name, takes(TEXT_OR_BYTES, result=t.CharType(length)), spark=spark)
    def _compute(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
        return by_row(call, args, lambda value: _digest(algorithm, value))


for _name, _algorithm in _ALGORITHMS.items():
    _register(_name, _algorithm)


@scalar("SHA2", takes(TEXT_OR_BYTES, WHOLE, result=t.VarCharType(128)), syntax="SHA2(string, 224 | 256 | 384 | 512)")
def _sha2(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return by_row(call, args, lambda value, algorithm: _digest(algorithm, value), prepare={1: _of_length})


def _of_length(bits: int) -> Callable[[bytes], Any]:
    found = _BY_LENGTH.get(bits)
    if found is None:
        raise ValueError(f"SHA2 has digests of 224, 256, 384 and 512 bits, not of {bits}")
    return found


# URLs and addresses

_URL = re.compile(
    r"(?P<protocol>[A-Za-z][A-Za-z0-9+.-]*):(?://(?P<authority>[^/?#]*))?(?P<path>[^?#]*)(?:\?(?P<query>[^#]*))?(?:#(?P<ref>.*))?",
    re.DOTALL,
)
_PROTOCOLS = frozenset(("http", "https", "ftp", "file", "jar", "mailto"))
"""protocols that Java knows; to Java an address with another protocol is no URL"""
_PERCENT = re.compile(rb"%([0-9A-Fa-f]{2})")


@scalar("PARSE_URL", takes(TEXT, TEXT, TEXT, optional=1, result=STRING, nullable=True))
def _parse_url(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return by_row(call, args, parse_url)


def parse_url(url: str, part: str, key: str | None = None) -> str | None:
    """A part of a URL, or with ``key`` a parameter of its query; None if it is not there."""
    match = _URL.fullmatch(url.strip())
    if match is None or match["protocol"].lower() not in _PROTOCOLS or (key is not None and part != "QUERY"):
        return None
    if key is not None:
        found = re.search(rf"(?:&|^){re.escape(key)}=([^&]*)", match["query"] or "")
        return found[1] if found else None
    authority = match["authority"]
    user, at, host = (authority or "").rpartition("@")
    host = re.sub(r":[0-9]*$", "", host)
    query = match["query"]
    parts = {
        "PROTOCOL": match["protocol"].lower(),
        "AUTHORITY": authority,
        "USERINFO": user if at else None,
        "HOST": host,
        "PATH": match["path"],
        "QUERY": query,
        "FILE": match["path"] + ("" if query is None else f"?{query}"),
        "REF": match["ref"],
    }
    return parts.get(part)


@scalar("URL_ENCODE", takes(TEXT, result=STRING, nullable=True))
def _url_encode(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    # Java leaves * alone and writes ~ as %7E.
    return by_row(call, args, lambda text: quote_plus(text, safe="*").replace("~", "%7E"))


@scalar("URL_DECODE", takes(TEXT, result=STRING, nullable=True))
def _url_decode(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return by_row(call, args, url_decode)


def url_decode(text: str) -> str | None:
    """URL_DECODE; NULL if a ``%`` is not followed by two hexadecimal digits."""
    raw = text.replace("+", " ").encode()
    if raw.count(b"%") != len(_PERCENT.findall(raw)):
        return None
    return _PERCENT.sub(lambda match: bytes([int(match[1], 16)]), raw).decode("utf-8", "replace")


@scalar("INET_ATON", takes(TEXT, result=BIGINT_TYPE, nullable=True))
def _inet_aton(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return by_row(call, args, inet_aton)


def inet_aton(text: str) -> int | None:
    """The number of an IPv4 address. Of a short form the last part is the last byte: ``127.1``. None for what is
    none."""
    parts = text.split(".")
    if len(parts) > 4 or not all(part.isascii() and part.isdigit() for part in parts):
        return None
    *upper, last = map(int, parts)
    if max([*upper, last]) > 255:
        return None
    return sum(part << 24 - 8 * place for place, part in enumerate(upper)) + last


@scalar("INET_NTOA", takes(WHOLE, result=STRING, nullable=True))
def _inet_ntoa(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return by_row(call, args, inet_ntoa)


def inet_ntoa(number: int) -> str | None:
    if not 0 <= number < 1 << 32:
        return None
    return ".".join(str(number >> shift & 255) for shift in (24, 16, 8, 0))
