"""Forwards SQL requests from a cluster's server to its SQL gateway, a process that the first request starts.

A query that takes all memory, or hangs, does so in the gateway and not in the server of the REST API. A module of its
own: the supervisor loads it without the rest of the server.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator

import httpx
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from millrace.cluster import job_folder, rpc
from millrace.cluster.rest.call import RestError
from millrace.cluster.rest.endpoints import error_response, require_token
from millrace.cluster.rest.settings import RestSettings
from millrace.cluster.rpc import NotThereError, ask

SQL = "sql"
"""Path below which the gateway is served."""
GATEWAY = "gateway"
"""The gateway's name in its supervisor."""
START_SECONDS = 120.0
ANSWER_SECONDS = 900.0
"""How long a request may take: ``configure-session`` waits for its statement."""
LOOK_SECONDS = 0.1
_OPEN = ("info", "api_versions")
"""Operations that need no token."""
_RETIRED = 503
"""Status with which a gateway answers that is about to end."""


class SqlForwarding:
    """Forwards requests to the gateway, and streams its answers back.

    :param folder: the cluster's folder.
    """

    def __init__(self, folder: str, settings: RestSettings) -> None:
        self._folder = folder
        self._settings = settings
        self._client: httpx.AsyncClient | None = None

    async def answer(self, request: Request) -> Response:
        path = request.path_params["path"]
        try:
            if path.rpartition("/")[2] not in _OPEN or self._settings.protect_reads:
                require_token(request, self._settings)
            body = await request.body()
        except RestError as error:
            response = error_response(error.status, *error.texts)
            if error.status == 401:
                response.headers["WWW-Authenticate"] = "Bearer"
            return response
        query = request.url.query
        return await self._handed_on(request.method, f"/{path}?{query}" if query else f"/{path}", body)

    async def _handed_on(self, method: str, target: str, body: bytes) -> Response:
        until = time.monotonic() + START_SECONDS
        asked = False
        while time.monotonic() < until:
            try:
                answer = await self._send(method, target, body)
                if answer.status_code != _RETIRED:
                    return _response(answer)
                await answer.aclose()
            except (httpx.ConnectError, FileNotFoundError):
                if not asked:  # until it is there, or its start has failed
                    asked = await run_in_threadpool(self._want)
            except httpx.TimeoutException:
                return error_response(504, f"The SQL gateway has not answered for {ANSWER_SECONDS:g} s.")
            except httpx.TransportError as error:
                return error_response(502, f"The SQL gateway has ended while it was asked: {error}")
            await asyncio.sleep(LOOK_SECONDS)
        log = os.path.join(self._folder, job_folder.LOGS, f"{GATEWAY}.log")
        return error_response(503, f"The SQL gateway has not been ready for {START_SECONDS:g} s: see {log}")

    async def _send(self, method: str, target: str, body: bytes) -> httpx.Response:
        if self._client is None:
            self._client = httpx.AsyncClient(
                base_url="http://localhost",
                transport=httpx.AsyncHTTPTransport(uds=rpc.socket_path(self._folder, rpc.GATEWAY)),
                timeout=httpx.Timeout(ANSWER_SECONDS, connect=5.0),
                limits=httpx.Limits(max_connections=None, max_keepalive_connections=0),
            )
        return await self._client.send(self._client.build_request(method, target, content=body or None), stream=True)

    def _want(self) -> bool:
        """Ask the supervisor to start the gateway. False if the supervisor does not answer: it may just be
        restarting."""
        try:
            path = rpc.socket_path(self._folder, rpc.SUPERVISOR)
            return bool(ask(path, "the supervisor of the cluster", "want", name=GATEWAY))
        except NotThereError:
            return False


def _response(answer: httpx.Response) -> Response:
    async def parts() -> AsyncIterator[bytes]:
        try:
            async for part in answer.aiter_raw():
                yield part
        finally:
            await answer.aclose()

    return StreamingResponse(parts(), answer.status_code, media_type=answer.headers.get("content-type"))
