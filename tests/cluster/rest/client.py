"""A client that calls an application in this process."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
from starlette.applications import Starlette
from tests.cluster.rest.samples import SampleHolder, SamplePrograms, sample_job

from millrace.cluster.rest.app import make_app
from millrace.cluster.rest.settings import RestSettings

ADDRESS = "http://localhost:8081"


class Client:
    """Each call has an event loop of its own; nothing is followed, cookies are not kept."""

    def __init__(self, app: Starlette, token: str | None = None) -> None:
        self._app = app
        self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}

    def call(self, method: str, path: str, **options: Any) -> httpx.Response:
        return asyncio.run(self._call(method, path, options))

    async def _call(self, method: str, path: str, options: dict[str, Any]) -> httpx.Response:
        transport = httpx.ASGITransport(self._app)
        async with httpx.AsyncClient(transport=transport, base_url=ADDRESS, headers=self._headers) as client:
            return await client.request(method, path, **options)

    def get(self, path: str, **options: Any) -> httpx.Response:
        return self.call("GET", path, **options)

    def post(self, path: str, **options: Any) -> httpx.Response:
        return self.call("POST", path, **options)


def sample_holder() -> SampleHolder:
    """One job in each of the usual states, and one in batch mode."""
    states = ("RUNNING", "FINISHED", "FAILED", "CANCELED", "RESTARTING")
    jobs = [sample_job(number, state) for number, state in enumerate(states, 1)]
    return SampleHolder([*jobs, sample_job(6, batch=True)])


def sample_client(settings: RestSettings | None = None, holder: SampleHolder | None = None) -> Client:
    return Client(make_app(holder or sample_holder(), SamplePrograms(), settings or RestSettings()))
