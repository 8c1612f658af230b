"""``HttpAsyncFunction``: asks a service for each element of a stream."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from millrace.common.functions import AsyncFunction, RuntimeContext
from millrace.connectors.http.caller import Caller, HttpAnswer, HttpRequest
from millrace.connectors.http.properties import Properties
from millrace.connectors.http.settings import LOOKUP, CallSettings

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
