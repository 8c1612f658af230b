"""A small service on loopback that does what a test says, also what services should not do."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit


@dataclass(frozen=True)
class Asked:
    method: str
    path: str
    params: dict[str, list[str]]
    headers: dict[str, str]
    """names in small letters"""
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Reply:
    """
    :ivar close: the connection is closed without an answer.
    :ivar slow: seconds before the answer.
    """

    body: Any = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    close: bool = False
    slow: float = 0.0


class Service:
    """
    :param answer: what is done about a request; what it gives that is no ``Reply`` is the body.
    """

    def __init__(self, answer: Callable[[Asked], Any], context: ssl.SSLContext | None = None) -> None:
        self.asked: list[Asked] = []
        self.answer = answer
        self.busy = self.busiest = 0
        self._lock = threading.Lock()
        self._ended = threading.Event()
        service = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _any(self) -> None:
                service._handle(self)

            do_GET = do_POST = do_PUT = do_PATCH = _any

            def log_message(self, format: str, *args: Any) -> None: ...

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            block_on_close = False
            request_queue_size = 128

            def handle_error(self, request: Any, client_address: Any) -> None: ...

        self._server = Server(("127.0.0.1", 0), Handler)
        if context is not None:
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.port = self._server.server_address[1]
        self.url = f"http{'' if context is None else 's'}://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()

    def _handle(self, handler: BaseHTTPRequestHandler) -> None:
        parts = urlsplit(handler.path)
        length = int(handler.headers.get("Content-Length") or 0)
        headers = {name.lower(): value for name, value in handler.headers.items()}
        asked = Asked(handler.command, parts.path, parse_qs(parts.query), headers, handler.rfile.read(length))
        with self._lock:
            self.asked.append(asked)
            self.busy += 1
            self.busiest = max(self.busiest, self.busy)
        try:
            found = self.answer(asked)
            reply = found if isinstance(found, Reply) else Reply(found)
            self._ended.wait(reply.slow)
        finally:
            with self._lock:
                self.busy -= 1
        if reply.close:
            handler.close_connection = True
            handler.connection.close()
            return
        body = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
        handler.send_response(reply.status)
        for name, value in reply.headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    def close(self) -> None:
        self._ended.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
