"""PARSE_URL, URL_ENCODE, URL_DECODE, INET_ATON, INET_NTOA."""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import quote_plus

from millrace.relational.functions.columns import by_row
from millrace.relational.functions.registry import Column, Surroundings, scalar
from millrace.relational.functions.signatures import BIGINT_TYPE, STRING, TEXT, WHOLE, takes
from millrace.relational.rex import Call

_URL = re.compile(
    r"(?P<protocol>[A-Za-z][A-Za-z0-9+.-]*):(?://(?P<authority>[^/?#]*))?(?P<path>[^?#]*)(?:\?(?P<query>[^#]*))?(?:#(?P<ref>.*))?",
    re.DOTALL,
)
_PROTOCOLS = frozenset(("http", "https", "ftp", "file", "jar", "mailto"))
"""those that Java knows; other addresses are no URLs to it"""
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
    """None if a ``%`` is not followed by two hexadecimal digits."""
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
