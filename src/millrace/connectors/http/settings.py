"""How requests are sent: addresses, time-outs, TLS, proxies, what is tried again."""

from __future__ import annotations

import base64
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from millrace.connectors.http.backoff import Backoff
from millrace.connectors.http.codes import Codes
from millrace.connectors.http.properties import Properties

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
