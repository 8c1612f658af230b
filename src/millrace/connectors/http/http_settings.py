"""How requests are sent, read from the options of the connector by name: addresses, time-outs, TLS, proxies, log-ins,
which status codes are a success or tried again (``2XX,404,!203``), and how long to wait before that.
"""

from __future__ import annotations

import base64
import email.utils
import re
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeVar

from millrace.common.configuration import to_boolean, to_bytes_count, to_duration
from millrace.relational.sources import whole_number

_PART = re.compile(r"(?P<without>!?)\s*(?:(?P<group>[1-5])XX|(?P<code>[1-5]\d\d))")


@dataclass(frozen=True)
class Codes:
    """
    :ivar groups: first digits whose codes are all in it.
    """

    groups: frozenset[int] = frozenset()
    codes: frozenset[int] = frozenset()
    without: frozenset[int] = frozenset()

    @staticmethod
    def of(text: str) -> Codes:
        """:raises ValueError: it is no such set."""
        groups, codes, without = set[int](), set[int](), set[int]()
        for part in filter(None, (each.strip() for each in text.split(","))):
            found = _PART.fullmatch(part.upper())
            if found is None or (found["without"] and found["group"]):
                raise ValueError(f"status codes are written as 2XX, 404 and !203, with commas, not '{part}'")
            if found["group"]:
                groups.add(int(found["group"]))
            else:
                (without if found["without"] else codes).add(int(found["code"]))
        return Codes(frozenset(groups), frozenset(codes), frozenset(without))

    def __contains__(self, code: int) -> bool:
        return (code in self.codes or code // 100 in self.groups) and code not in self.without


T = TypeVar("T")

OLD_PREFIX = "gid.connector.http."
"""what option names began with before the connector came to Flink"""
PREFIX = "http."


def current_names(given: Mapping[str, str]) -> dict[str, str]:
    """The options with the names that they have today."""
    return {
        PREFIX + name[len(OLD_PREFIX) :] if name.startswith(OLD_PREFIX) else name: value
        for name, value in given.items()
    }


class Properties:
    """
    :raises ValueError: from every method, for a value that is none.
    """

    def __init__(self, given: Mapping[str, str]) -> None:
        self.given = current_names(given)

    def text(self, name: str) -> str | None:
        return self.given.get(name)

    def flag(self, name: str, default: bool = False) -> bool:
        return self._read(name, to_boolean, default)

    def count(self, name: str, default: int, least: int = 0) -> int:
        found = self._read(name, lambda text: whole_number(name, text), default)
        if found < least:
            raise ValueError(f"'{name}' is {least} or more, not {found}")
        return found

    def ratio(self, name: str, default: float) -> float:
        return self._read(name, float, default)

    def size(self, name: str, default: int) -> int:
        return self._read(name, to_bytes_count, default)

    def seconds(self, name: str, default: float, bare: float = 0.001) -> float:
        """A span of time.

        :param bare: seconds that a number without a unit counts.
        """

        def convert(text: str) -> float:
            if text.strip().replace(".", "", 1).isdigit():
                return float(text) * bare
            return float(to_duration(text).to_millis()) / 1000

        return self._read(name, convert, default)

    def codes(self, name: str, default: str) -> Codes:
        return self._read(name, Codes.of, Codes.of(default))

    def one_of(self, name: str, default: str, known: tuple[str, ...]) -> str:
        found = self.given.get(name, default)
        for each in known:
            if each.lower() == found.lower():
                return each
        raise ValueError(f"'{name}' is one of {', '.join(known)}, not '{found}'")

    def names(self, name: str) -> tuple[str, ...] | None:
        """Names with semicolons between them."""
        found = self.given.get(name)
        return None if found is None else tuple(each.strip() for each in found.split(";") if each.strip())

    def below(self, prefix: str) -> dict[str, str]:
        """What begins with a prefix, without it."""
        return {name[len(prefix) :]: value for name, value in self.given.items() if name.startswith(prefix)}

    def _read(self, name: str, convert: Callable[[str], T], default: T) -> T:
        found = self.given.get(name)
        if found is None:
            return default
        try:
            return convert(found)
        except ValueError as error:
            raise ValueError(f"'{name}': {error}") from None


FIXED, EXPONENTIAL = "fixed-delay", "exponential-delay"


@dataclass(frozen=True)
class Backoff:
    """Pauses in seconds.

    :ivar attempts: how often a request is sent again.
    :ivar most: no pause is longer, whatever the server asks for.
    """

    attempts: int = 3
    first: float = 1.0
    multiplier: float = 1.0
    most: float = 60.0

    @staticmethod
    def of(properties: Properties, prefix: str, attempts: int) -> Backoff:
        """:param prefix: of the options, as in ``http.sink.``.
        :raises ValueError: for what cannot be.
        """
        strategy = f"{prefix}retry-strategy."
        kind = properties.one_of(f"{strategy}type", FIXED, (FIXED, EXPONENTIAL))
        if kind == FIXED:
            delay = properties.seconds(f"{strategy}{FIXED}.delay", 1.0)
            return Backoff(attempts, delay, 1.0, max(delay, 60.0))
        name = f"{strategy}{EXPONENTIAL}."
        multiplier = properties.ratio(f"{name}backoff-multiplier", 1.5)
        if multiplier < 1:
            raise ValueError(f"'{name}backoff-multiplier' is 1 or more, not {multiplier:g}")
        first = properties.seconds(f"{name}initial-backoff", 1.0)
        return Backoff(attempts, first, multiplier, properties.seconds(f"{name}max-backoff", 60.0))

    def pause(self, attempt: int, retry_after: str | None = None) -> float:
        """:param attempt: 0 for the first request.
        :param retry_after: what the server's header says, if it has one.
        """
        asked = None if retry_after is None else asked_for(retry_after, time.time())
        return min(self.first * self.multiplier**attempt if asked is None else asked, self.most)


def asked_for(retry_after: str, now: float) -> float | None:
    """Seconds that the header Retry-After asks for, as a number or as a time; None: it says neither."""
    text = retry_after.strip()
    if text.isdigit():
        return float(text)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(text).timestamp() - now)
    except (TypeError, ValueError):
        return None


LOOKUP, SINK = "http.source.lookup.", "http.sink."
AGAIN = "429,500,503,504"
"""Flink's codes, and the one that asks for patience"""
_SECURITY = "http.security."
_OIDC = f"{_SECURITY}oidc.token."
_CALLBACKS = (
    "slf4j-lookup-logger", "http-slf4j-lookup-logger", "slf4j-logger", "http-slf4j-logger", "rest-lookup-logger",
)  # fmt: skip
_VERSIONS = ("HTTP_1_1", "HTTP_2")
_MISSING = "httpx can't be imported, which the HTTP connector needs: pip install 'millrace-streaming[http]' ({})"


def http_library() -> Any:
    """:raises ImportError: it is not installed."""
    try:
        import httpx as found
    except ImportError as error:
        raise ImportError(_MISSING.format(error)) from error
    return found


@dataclass(frozen=True)
class Tls:
    """Files with certificates and keys, in PEM.

    :ivar trusted: of servers, besides those that the machine trusts.
    """

    trusted: tuple[str, ...] = ()
    certificate: str | None = None
    key: str | None = None
    any_server: bool = False

    @cache  # noqa: B019  # reading the machine's certificates takes longer than a request
    def context(self) -> ssl.SSLContext:
        """:raises ValueError: a file cannot be read, or is something else."""
        context = ssl.create_default_context()
        try:
            for each in self.trusted:
                context.load_verify_locations(each)
            if self.certificate is not None:
                context.load_cert_chain(self.certificate, self.key)
        except OSError as error:  # which errors of ssl are, too
            names = ", ".join(filter(None, (*self.trusted, self.certificate, self.key)))
            raise ValueError(f"'{_SECURITY}*': a certificate or key in PEM among {names} is not one: {error}") from None
        if self.any_server:
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        return context


@dataclass(frozen=True)
class Oidc:
    """A token that is fetched, and fetched again when it expires.

    :ivar request: the body of the request, which may hold secrets.
    :ivar early: seconds before the end at which it counts as expired.
    """

    url: str
    request: str = field(repr=False)
    early: float = 1.0


@dataclass(frozen=True)
class CallSettings:
    """
    :ivar timeout: seconds for a request as a whole; ``connect`` for its connection.
    :ivar success: codes that are fine; ``ignored``: fine, and what came with them is not looked at; ``again``: those
        after which the request is sent again. All others are errors, also those that point elsewhere: headers with
        secrets would go there.
    """

    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    timeout: float = 30.0
    connect: float | None = None
    success: Codes = field(default_factory=lambda: Codes.of("2XX"))
    ignored: Codes = field(default_factory=Codes)
    again: Codes = field(default_factory=lambda: Codes.of(AGAIN))
    backoff: Backoff = field(default_factory=Backoff)
    tls: Tls = field(default_factory=Tls)
    proxy: str | None = None
    proxy_login: tuple[str, str] | None = field(default=None, repr=False)
    oidc: Oidc | None = None
    http2: bool = False

    @staticmethod
    def of(properties: Properties, side: str, attempts: int) -> CallSettings:
        """:param side: what the options begin with: ``LOOKUP`` or ``SINK``.
        :param attempts: how often a request is sent again.
        :raises ValueError: for what cannot be.
        """
        version = properties.one_of(f"{side}http-version", _VERSIONS[0], _VERSIONS)
        callback = properties.text(f"{side}request-callback")
        if callback is not None and callback not in _CALLBACKS:
            raise ValueError(f"'{side}request-callback' names a class of Java, '{callback}': nearest is the log")
        connect = properties.text(f"{side}connection.timeout")
        return CallSettings(
            headers=_headers(properties, side),
            timeout=properties.seconds(f"{side}request.timeout", 30.0, bare=1.0),
            connect=None if connect is None else properties.seconds(f"{side}connection.timeout", 0.0),
            success=_success(properties, side),
            ignored=properties.codes(f"{side}ignored-response-codes", ""),
            again=properties.codes(f"{side}retry-codes", AGAIN),
            backoff=Backoff.of(properties, side, attempts),
            tls=_tls(properties),
            proxy=_proxy(properties, side),
            proxy_login=_proxy_login(properties, side),
            oidc=_oidc(properties),
            http2=version == _VERSIONS[1] and f"{side}http-version" in properties.given,
        )


def _success(properties: Properties, side: str) -> Codes:
    if side == LOOKUP or f"{side}success-codes" in properties.given:
        return properties.codes(f"{side}success-codes", "2XX")
    errors = properties.codes(f"{side}error.code", "3XX,4XX,5XX")
    fine = properties.codes(f"{side}error.code.exclude", "")
    return Codes(codes=frozenset(code for code in range(200, 600) if code not in errors or code in fine))


def _headers(properties: Properties, side: str) -> dict[str, str]:
    headers = properties.below(f"{side}header.")
    raw = properties.flag(f"{side}use-raw-authorization-header")
    for name, value in headers.items():
        if name.lower() == "authorization" and not raw and not value.startswith(("Basic ", "Bearer ")):
            headers[name] = "Basic " + base64.b64encode(value.encode()).decode()
    return headers


def _tls(properties: Properties) -> Tls:
    for name in properties.given:
        if name.startswith(f"{_SECURITY}keystore."):
            raise ValueError(f"'{name}': key stores of Java are not read; nearest: {_SECURITY}cert.client, a PEM file")
    trusted = properties.text(f"{_SECURITY}cert.server") or ""
    return Tls(
        tuple(each.strip() for each in trusted.split(",") if each.strip()),
        properties.text(f"{_SECURITY}cert.client"),
        properties.text(f"{_SECURITY}key.client"),
        properties.flag(f"{_SECURITY}cert.server.allowSelfSigned"),
    )


def _proxy(properties: Properties, side: str) -> str | None:
    host = properties.text(f"{side}proxy.host")
    if host is None:
        return None
    port = properties.count(f"{side}proxy.port", 80, 1)
    return f"http://{host}:{port}" if "://" not in host else f"{host}:{port}"


def _proxy_login(properties: Properties, side: str) -> tuple[str, str] | None:
    user = properties.text(f"{side}proxy.username")
    return None if user is None else (user, properties.text(f"{side}proxy.password") or "")


def _oidc(properties: Properties) -> Oidc | None:
    url, request = properties.text(f"{_OIDC}endpoint.url"), properties.text(f"{_OIDC}request")
    if (url is None) != (request is None):
        raise ValueError(f"'{_OIDC}endpoint.url' and '{_OIDC}request' are given together")
    if url is None or request is None:
        return None
    return Oidc(url, request, properties.seconds(f"{_OIDC}expiry.reduction", 1.0))
