"""``Caller``: sends requests, retries them where that may help, and explains failures; and ``HttpAsyncFunction``, which
calls a service for each element of a stream.

A ``Session`` calls from a synchronous thread: its event loop runs only while the thread waits. Bearer tokens come from
a server of OpenID Connect.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from millrace.common.functions import AsyncFunction, RuntimeContext
from millrace.connectors.http.http_settings import LOOKUP, CallSettings, Oidc, Properties, http_library
from millrace.util.secrets import mask_text

_LIFETIME_SECONDS = 300.0
"""Lifetime of a token whose server does not say one."""


class Token:
    """A bearer token, fetched when it is needed; concurrent requests that wait for it share one fetch.

    :param client: of the loop that it lives in.
    """

    def __init__(self, oidc: Oidc, client: Any) -> None:
        self._oidc = oidc
        self._client = client
        self._lock = asyncio.Lock()
        self._text = ""
        self._fetched = self._until = 0.0

    async def text(self, fresh: bool = False) -> str:
        """The token.

        :param fresh: the server does not take the one that there is.
        :raises ConnectionError: there is none to be had.
        """
        asked = time.monotonic()
        async with self._lock:
            stale = time.monotonic() >= self._until or (fresh and self._fetched < asked)
            if stale:
                await self._fetch()
            return self._text

    async def _fetch(self) -> None:
        form = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
        found = await self._client.post(self._oidc.url, content=self._oidc.request.encode(), headers=form)
        began = time.monotonic()
        try:
            body = found.json()
        except ValueError:
            body = None
        token = body.get("access_token") if isinstance(body, dict) else None
        if found.status_code != 200 or not isinstance(token, str):
            problem = body.get("error") if isinstance(body, dict) else None
            raise ConnectionError(
                f"{self._oidc.url} gives no token: status {found.status_code}" + (f", {problem}" if problem else "")
            )
        self._text, self._fetched = token, began
        self._until = began + float(body.get("expires_in", _LIFETIME_SECONDS)) - self._oidc.early


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
        """The request for messages, without secrets."""
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
        raise HttpError(request, _answer_text(answer), answer)

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
        return answer, _answer_text(answer)

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


def _answer_text(answer: HttpAnswer) -> str:
    text = answer.content[: 4 * _SHOWN].decode("utf-8", "replace").strip()
    shown = mask_text(text[:_SHOWN]) + ("..." if len(text) > _SHOWN else "")
    return f"status {answer.status}" + (f", {shown!r}" if shown else "")


A = TypeVar("A")
T = TypeVar("T")


class Session:
    """
    :param in_flight: calls that may be under way at once.
    """

    def __init__(self, settings: CallSettings, in_flight: int) -> None:
        self._in_flight = in_flight
        self._caller = Caller(settings, in_flight)
        self._loop = asyncio.new_event_loop()
        try:
            self._loop.run_until_complete(self._caller.open())
        except BaseException:
            self._loop.close()
            raise

    def all(self, work: Callable[[Caller, A], Coroutine[Any, Any, T]], items: Iterable[A]) -> list[T]:
        """What ``work`` gives for each item, in their order. The first error ends all."""
        return self._loop.run_until_complete(self._all(work, items))

    async def _all(self, work: Callable[[Caller, A], Coroutine[Any, Any, T]], items: Iterable[A]) -> list[T]:
        room = asyncio.Semaphore(self._in_flight)

        async def one(item: A) -> T:
            async with room:
                return await work(self._caller, item)

        tasks = [asyncio.ensure_future(one(item)) for item in items]
        try:
            return list(await asyncio.gather(*tasks))
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def close(self) -> None:
        if not self._loop.is_closed():
            self._loop.run_until_complete(self._caller.close())
            self._loop.close()


RequestOf = Callable[[Any], HttpRequest | str]
ResultsOf = Callable[[Any, HttpAnswer], list[Any]]


class HttpAsyncFunction(AsyncFunction[Any, Any]):
    """For ``AsyncDataStream``, whose capacity bounds the requests that are under way.

        >>> ask = HttpAsyncFunction(
        ...     lambda order: f"https://prices.example/{order['id']}",
        ...     lambda order, answer: [(order["id"], answer.content.decode())])
        >>> priced = AsyncDataStream.unordered_wait(env.from_collection([{"id": 1}]), ask, Time.seconds(60), 100)

    :param request: element -> what to ask: a URL for GET, or an ``HttpRequest``.
    :param results: (element, answer) -> the results. The answer has ``status``, ``content`` and ``headers_map()``.
    :param properties: options of the table connector: ``lookup.max-retries``, ``http.source.lookup.*``,
        ``http.security.*``.
    """

    def __init__(self, request: RequestOf, results: ResultsOf, properties: Mapping[str, str] | None = None) -> None:
        read = Properties(properties or {})
        self._settings = CallSettings.of(read, LOOKUP, read.count("lookup.max-retries", 3))
        self._request = request
        self._results = results
        self._caller: Caller | None = None

    async def open(self, runtime_context: RuntimeContext) -> None:  # type: ignore[override]
        self._caller = Caller(self._settings)
        await self._caller.open()

    async def async_invoke(self, value: Any) -> list[Any]:
        assert self._caller is not None, "open() comes first"
        wanted = self._request(value)
        request = HttpRequest("GET", wanted) if isinstance(wanted, str) else wanted
        answer = await self._caller.call(request)
        return [] if answer.ignored else self._results(value, answer)

    async def close(self) -> None:  # type: ignore[override]
        caller, self._caller = self._caller, None
        if caller is not None:
            await caller.close()
