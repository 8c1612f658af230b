"""A server in plain Python that answers as a test says. **A stand-in**: for what no server can be made to do, and for
Elasticsearch 8, which cannot be had."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Asked:
    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self.body.splitlines()]


Answer = tuple[int, Any]
"""status and body; 0: the connection ends instead"""
Script = Callable[[Asked], Answer]
ABOUT = {
    "opensearch": {"version": {"number": "2.19.1", "distribution": "opensearch"}},
    "elasticsearch-7": {"version": {"number": "7.10.2"}},
    "elasticsearch-8": {"version": {"number": "8.15.0"}},
}
PRODUCT = {"X-Elastic-Product": "Elasticsearch"}


@dataclass
class Fake:
    """
    :ivar asked: all requests but those for the version.
    """

    url: str
    asked: list[Asked] = field(default_factory=list)

    @property
    def bulks(self) -> list[Asked]:
        return [each for each in self.asked if each.path.startswith("/_bulk")]


@contextmanager
def serving(
    kind: str,
    script: Script,
    headers: Mapping[str, str] = {},
    certificate: ssl.SSLContext | None = None,
) -> Iterator[Fake]:
    """:param headers: of all answers."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            asked = Asked(self.command, self.path, dict(self.headers), body)
            if self.path.endswith("/"):
                status, found = script(asked) if "/" in OWN else (200, ABOUT[kind])
            else:
                fake.asked.append(asked)
                status, found = script(asked)
            if status == 0:
                self.close_connection = True
                return
            content = found if isinstance(found, bytes) else json.dumps(found).encode()
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(content))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PUT = do_DELETE = answer

        def log_message(self, *_: Any) -> None:
            pass

    OWN: set[str] = getattr(script, "own", set())
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if certificate is not None:
        server.socket = certificate.wrap_socket(server.socket, server_side=True)
    scheme = "http" if certificate is None else "https"
    fake = Fake(f"{scheme}://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield fake
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def done(asked: Asked, status: Callable[[int, Any], int] = lambda number, action: 200) -> Answer:
    """What a bulk request gives. :param status: of each action, by its number and itself."""
    actions = [
        each for each in asked.lines if isinstance(each, dict) and set(each) & {"index", "create", "update", "delete"}
    ]
    items = []
    for number, action in enumerate(actions):
        ((name, at),) = action.items()
        given = status(number, action)
        item = {"_index": at.get("_index", ""), "_id": at.get("_id", "made"), "status": given}
        if given >= 400:
            kinds = {409: "version_conflict_engine_exception", 429: "rejected_execution_exception"}
            item["error"] = {"type": kinds.get(given, "mapper_parsing_exception"), "reason": f"because of {given}"}
        items.append({name: item})
    return 200, {"took": 1, "errors": any(next(iter(each.values()))["status"] >= 400 for each in items), "items": items}
