"""A small server for one page: it asks the indexes, and the page draws what it says."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route

FOLDER = Path(__file__).parent
START_SECONDS = 60.0
# All that the page loads is its own.
HEADERS = {"Content-Security-Policy": "default-src 'self'", "X-Content-Type-Options": "nosniff"}


def _by(field: str, order: str = "asc") -> dict[str, Any]:
    # An index that has just been made knows no fields yet.
    return {field: {"order": order, "unmapped_type": "keyword"}}


# OpenSearch takes texts such as 2024-05-06 for dates by itself, and keeps others as keyword, too.
QUERIES: dict[str, dict[str, Any]] = {
    "buy_cnt_per_hour": {"size": 24, "sort": [_by("hour_of_day")]},
    "cumulative_uv": {"size": 144, "sort": [_by("date_str"), _by("time_str.keyword")]},
    "top_category": {"size": 10, "sort": [_by("buy_cnt", "desc"), _by("category_name.keyword")]},
}


def make_app(search: str, prefix: str = "") -> Starlette:
    """:param search: the address of the server with the indexes."""
    client = httpx.Client(base_url=search, timeout=30, trust_env=False)

    def rows(index: str) -> list[dict[str, Any]]:
        """None yet if the index is not there, or being made."""
        answer = client.post(f"/{prefix}{index}/_search", json=QUERIES[index])
        if answer.status_code in (404, 503):
            return []
        return [hit["_source"] for hit in answer.raise_for_status().json()["hits"]["hits"]]

    def charts(request: Request) -> Response:
        return JSONResponse({index: rows(index) for index in QUERIES}, headers={"Cache-Control": "no-store"})

    def file(name: str) -> Any:
        return lambda request: FileResponse(FOLDER / name, headers=HEADERS)

    def no_icon(request: Request) -> Response:
        return Response(status_code=204)

    names = {"/": "index.html", "/charts.js": "charts.js", "/charts.css": "charts.css"}
    files = [Route(at, file(name)) for at, name in names.items()]
    return Starlette(routes=[Route("/charts", charts), Route("/favicon.ico", no_icon), *files])


@contextmanager
def served(search: str, prefix: str = "") -> Iterator[str]:
    """The address of the page while it is served, on loopback."""
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(make_app(search, prefix), log_level="warning", lifespan="off"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    until = time.monotonic() + START_SECONDS
    while not server.started:
        if time.monotonic() > until:
            raise RuntimeError(f"the page was not served in {START_SECONDS:g} s")
        time.sleep(0.02)
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(START_SECONDS)
