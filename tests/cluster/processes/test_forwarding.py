"""Requests for the SQL gateway of a cluster, on their way through its server."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from tests.cluster.dashboard.holder import StoryHolder
from tests.cluster.dashboard.serve import served, wait_for

from millrace.cluster import rpc
from millrace.cluster.processes import sql_forwarding
from millrace.cluster.processes.services import ServiceOnDemand
from millrace.cluster.processes.sql_forwarding import SQL, SqlForwarding
from millrace.cluster.rest.app import make_app
from millrace.cluster.rest.serving import make_server
from millrace.cluster.rest.settings import RestSettings

HEADERS = {"Authorization": "Bearer secret"}


class Behind:
    """A gateway that is there once it is wanted, and refuses the first session since it is about to end."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.wanted = 0
        self.asked: list[tuple[str, str, bytes]] = []
        routes = [Route("/{path:path}", self._answer, methods=["GET", "POST", "DELETE"])]
        self.server = make_server(Starlette(routes=routes))

    def want(self) -> bool:
        self.wanted += 1
        listening = rpc.listen(rpc.socket_path(str(self._folder), rpc.GATEWAY))
        threading.Thread(target=self.server.run, kwargs={"sockets": [listening]}, daemon=True).start()
        return True

    async def _answer(self, request: Request) -> Response:
        self.asked.append((request.method, f"{request.url.path}?{request.url.query}", await request.body()))
        return JSONResponse({"n": len(self.asked)}, 503 if len(self.asked) == 1 else 202)


@pytest.fixture
def behind(tmp_path: Path) -> Iterator[Behind]:
    made = Behind(tmp_path)
    yield made
    made.server.should_exit = True


@pytest.fixture
def address(tmp_path: Path, behind: Behind, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    settings = RestSettings(token="secret", sql=SQL)
    way = SqlForwarding(str(tmp_path), settings)
    monkeypatch.setattr(way, "_want", behind.want)
    with served(make_app(StoryHolder(), None, settings, way.answer)) as found:
        yield found


def test_the_first_request_starts_it(address: str, behind: Behind) -> None:
    url = f"{address}/sql/v2/sessions"
    assert httpx.post(url, json={}).status_code == 401
    assert httpx.post(url, json={}, headers={**HEADERS, "Origin": "http://elsewhere"}).status_code == 403
    assert behind.wanted == 0
    answer = httpx.post(url, content=b'{"a": 1}', headers=HEADERS, timeout=60)
    assert (answer.status_code, answer.json()) == (202, {"n": 2}), "the first answer is that of one that ends"
    assert httpx.get(f"{address}/sql/v1/info?x=y", timeout=60).json() == {"n": 3}
    assert httpx.get(f"{url}/s", timeout=60).status_code == 401
    assert behind.asked[1:] == [("POST", "/v2/sessions?", b'{"a": 1}'), ("GET", "/v1/info?x=y", b"")]
    assert behind.wanted == 1


def test_one_that_does_not_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sql_forwarding, "START_SECONDS", 0.3)
    monkeypatch.setattr(SqlForwarding, "_want", lambda _: True)
    way = SqlForwarding("/none", RestSettings())
    with served(make_app(StoryHolder(), None, RestSettings(sql=SQL), way.answer)) as at:
        answer = httpx.get(f"{at}/sql/info", timeout=60)
    assert answer.status_code == 503 and "gateway.log" in answer.text


def test_a_service_on_demand(tmp_path: Path) -> None:
    started = tmp_path / "started"
    code = f"open({str(started)!r}, 'a').write('x')"
    service = ServiceOnDemand("gateway", [sys.executable, "-c", code], str(tmp_path / "log"), lambda: None)
    service.look(0.0)
    assert service.pid is None and not started.exists()
    for times in (1, 2):
        service.want()
        service.look(float(times))
        wait_for(lambda: started.exists() and started.read_text() == "x" * times, "its start")  # noqa: B023
        wait_for(lambda: service.look(9.0) or service.pid is None, "its end")
