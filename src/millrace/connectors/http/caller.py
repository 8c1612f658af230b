"""``Caller``: sends requests, again where that may help, and says what is wrong with the others."""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from millrace.connectors.http.settings import CallSettings, http_library
from millrace.connectors.http.token import Token
from millrace.util.secrets import mask_text

logger = logging.getLogger(__name__)

_SHOWN = 200
"""characters of a body in an error"""
_UNAUTHORIZED = 401


@dataclass(frozen=True)
class HttpRequest:
    """What is asked of a server.

        >>> HttpRequest("GET", "https://prices.example", params=(("id", "1"),)).method
        'GET'

    :ivar params: are added to the URL.
    """

    method: str
    url: str
    params: tuple[tuple[str, str], ...] = ()
    body: bytes | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    def __str__(self) -> str:
        """For people: without what is secret."""
        more = "&".join(f"{name}={value}" for name, value in self.params)
        mark = "" if not more else "&" if "?" in self.url else "?"
        return mask_text(f"{self.method} {self.url}{mark}{more}")


@dataclass(frozen=True)
class HttpAnswer:
    """What a server said.

        >>> answer = HttpAnswer(200, (("Content-Type", "text/plain"),), b"42")
        >>> answer.status, answer.content
        (200, b'42')

    :ivar ignored: whether its content does not count, by its code.
    """

    status: int
    headers: tuple[tuple[str, str], ...] = field(repr=False)
    content: bytes = field(repr=False)
    ignored: bool = False

    def headers_map(self) -> dict[str, list[str]]:
        """The headers by name, each with its values."""
        found: dict[str, list[str]] = {}
        for name, value in self.headers:
            found.setdefault(name, []).append(value)
        return found


class HttpError(ConnectionError):
    """A request has no answer that counts.

        >>> str(HttpError(HttpRequest("GET", "https://prices.example/1"), "no answer"))
        'GET https://prices.example/1: no answer'

    :ivar answer: what the server said; None: nothing.
    """

    def __init__(self, request: HttpRequest, said: str, answer: HttpAnswer | None = None) -> None:
        super().__init__(f"{request}: {said}")
        self.request, self.said, self.answer = request, said, answer

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.request, self.said, self.answer)


class Caller:
    """Lives in one event loop: ``open`` and ``close`` are called there, too.

    :param connections: that may be open at once; None: as many as it takes.
    """

    def __init__(self, settings: CallSettings, connections: int | None = None) -> None:
        self._settings = settings
        self._connections = connections
        self._client: Any = None

    async def open(self) -> None:
        """:raises ImportError: the client is not installed.
        :raises ValueError: a certificate is none.
        """
        httpx, settings = http_library(), self._settings
        # What a server refuses only after the handshake of TLS 1.3 may come as Python's own error of the socket.
        self._failures = (httpx.TransportError, asyncio.TimeoutError, ssl.SSLError)
        self._hopeless = (httpx.UnsupportedProtocol, httpx.InvalidURL)
        self._client = httpx.AsyncClient(
            verify=settings.tls.context(),
            timeout=httpx.Timeout(settings.timeout, connect=settings.connect or settings.timeout, pool=None),
            limits=httpx.Limits(max_connections=self._connections, max_keepalive_connections=self._connections),
            proxy=None if settings.proxy is None else httpx.Proxy(settings.proxy, auth=settings.proxy_login),
            http2=settings.http2,
            follow_redirects=False,
            trust_env=False,
        )
        self._token = None if settings.oidc is None else Token(settings.oidc, self._client)

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def call(self, request: HttpRequest) -> HttpAnswer:
        """:raises HttpError: there is no answer, or it has a code that is an error."""
        backoff = self._settings.backoff
        for attempt in range(backoff.attempts + 1):
            answer, said = await self._attempt(request)
            if answer is not None and self._is_final(request, answer):
                return answer
            if attempt == backoff.attempts:
                tries = f", after {attempt + 1} attempts" if attempt else ""
                raise HttpError(request, f"{said}{tries}", answer)
            headers = {} if answer is None else {name.lower(): value for name, value in answer.headers}
            pause = backoff.pause(attempt, headers.get("retry-after"))
            logger.warning("%s: %s; it is sent again in %.3g s", request, said, pause)
            await asyncio.sleep(pause)
        raise AssertionError("not reached")

    def _is_final(self, request: HttpRequest, answer: HttpAnswer) -> bool:
        settings = self._settings
        if answer.ignored or answer.status in settings.success:
            return True
        if answer.status in settings.again:
            return False
        raise HttpError(request, _said(answer), answer)

    async def _attempt(self, request: HttpRequest) -> tuple[HttpAnswer | None, str]:
        settings = self._settings
        try:
            answer = await self._send(request, False)
            if answer.status == _UNAUTHORIZED and self._token is not None:
                answer = await self._send(request, True)
        except self._hopeless as error:
            raise HttpError(request, mask_text(str(error))) from error
        except asyncio.TimeoutError:
            return None, f"no answer within {settings.timeout:g} s"
        except self._failures as error:
            return None, f"no answer ({type(error).__name__}: {mask_text(str(error)) or 'the connection was lost'})"
        logger.debug("%s: %s", request, answer.status)
        return answer, _said(answer)

    async def _send(self, request: HttpRequest, fresh: bool) -> HttpAnswer:
        """:param fresh: whether the token is fetched although it has not expired."""
        headers = dict(self._settings.headers)
        told = {name.lower() for name in headers}
        headers |= {name: value for name, value in request.headers.items() if name.lower() not in told}
        if self._token is not None:
            headers["Authorization"] = f"Bearer {await self._token.text(fresh)}"
        sent = self._client.request(
            request.method, request.url, params=request.params or None, content=request.body, headers=headers
        )
        found = await asyncio.wait_for(sent, self._settings.timeout)
        status = found.status_code
        return HttpAnswer(status, tuple(found.headers.multi_items()), found.content, status in self._settings.ignored)


def _said(answer: HttpAnswer) -> str:
    text = answer.content[: 4 * _SHOWN].decode("utf-8", "replace").strip()
    shown = mask_text(text[:_SHOWN]) + ("..." if len(text) > _SHOWN else "")
    return f"status {answer.status}" + (f", {shown!r}" if shown else "")
