"""Requests of a client that go to an application in this process."""

from __future__ import annotations

import asyncio

import httpx
from starlette.applications import Starlette


class AppTransport(httpx.BaseTransport):
    """Each request has an event loop of its own; any thread may make one."""

    def __init__(self, app: Starlette) -> None:
        self._transport = httpx.ASGITransport(app)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return asyncio.run(self._handle(request))

    async def _handle(self, request: httpx.Request) -> httpx.Response:
        response = await self._transport.handle_async_request(
            httpx.Request(request.method, request.url, headers=request.headers, content=request.read())
        )
        return httpx.Response(response.status_code, headers=response.headers, content=await response.aread())
