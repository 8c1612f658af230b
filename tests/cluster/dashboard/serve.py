"""The dashboard in front of stories, on a port of its own.

``python -m tests.cluster.dashboard.serve 8081`` shows it to people.
"""

from __future__ import annotations

import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.types import ASGIApp
from tests.cluster.dashboard.gateway import Gateway
from tests.cluster.dashboard.holder import Programs, StoryHolder

from millrace.cluster.rest.app import make_app
from millrace.cluster.rest.settings import RestSettings

DEADLINE = 60.0


@contextmanager
def served(app: ASGIApp, port: int = 0) -> Iterator[str]:
    """The address of an app while it is served."""
    listening = socket.create_server(("127.0.0.1", port))
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="off"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    wait_for(lambda: server.started, "the server to start")
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(DEADLINE)


def wait_for(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < deadline, f"waited {DEADLINE:g} s for {what}"
        time.sleep(0.02)


@dataclass(frozen=True)
class Site:
    """All that the dashboard speaks with."""

    holder: StoryHolder = field(default_factory=StoryHolder)
    programs: Programs = field(default_factory=Programs)
    gateway: Gateway = field(default_factory=Gateway)

    def app(self, **settings: Any) -> ASGIApp:
        """The REST API, with the gateway beside it."""
        rest = make_app(self.holder, self.programs, RestSettings(sql="sql", **settings))
        return Starlette(routes=[Mount("/sql", self.gateway.app()), Mount("/", rest)])


if __name__ == "__main__":
    with served(Site().app(), int(sys.argv[1])) as address:
        print(address, flush=True)
        threading.Event().wait()
