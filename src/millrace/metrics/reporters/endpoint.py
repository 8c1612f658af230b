"""The HTTP endpoint that Prometheus asks: one for all jobs of a process that report at the same port."""

from __future__ import annotations

import ipaddress
import logging
import socket
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from millrace.metrics.reporters.contract import Read
from millrace.metrics.reporters.prometheus_text import CONTENT_TYPE, Families

__all__ = ["Member", "join", "leave"]

logger = logging.getLogger("millrace")

SECONDS = 10.0
"""how long a client may take to ask"""


@dataclass(frozen=True)
class Member:
    """Whose metrics are told, and how."""

    read: Read
    filter_values: bool


class _Endpoint:
    """Answers on one port for its members."""

    def __init__(self, host: str, ports: list[int]) -> None:
        """:raises OSError: none of the ports is free."""
        self.members: dict[object, Member] = {}
        self._server = _bind(host, ports, self)
        self.port = int(self._server.server_address[1])
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.1,), name=f"metrics on port {self.port}", daemon=True
        )
        self._thread.start()

    def text(self) -> str:
        families = Families()
        for member in list(self.members.values()):
            families.add(member.read(), member.filter_values)
        return families.text()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


_lock = threading.Lock()
_endpoints: dict[tuple[str, tuple[int, ...]], _Endpoint] = {}


def join(host: str, ports: list[int], key: object, member: Member) -> int:
    """Let the endpoint of an address answer for a member, too; gives its port.

    :raises OSError: there is none yet, and no port for it is free.
    """
    with _lock:
        endpoint = _endpoints.get((host, tuple(ports)))
        if endpoint is None:
            endpoint = _endpoints[host, tuple(ports)] = _Endpoint(host, ports)
        endpoint.members[key] = member
        return endpoint.port


def leave(host: str, ports: list[int], key: object) -> None:
    """The endpoint no longer answers for a member; without any it closes."""
    with _lock:
        endpoint = _endpoints.get((host, tuple(ports)))
        if endpoint is None or endpoint.members.pop(key, None) is None or endpoint.members:
            return
        del _endpoints[host, tuple(ports)]
    endpoint.close()


def _bind(host: str, ports: list[int], endpoint: _Endpoint) -> ThreadingHTTPServer:
    class Server(ThreadingHTTPServer):
        daemon_threads = True
        block_on_close = False
        address_family = socket.AF_INET6 if ":" in host else socket.AF_INET

        def handle_error(self, request: object, client_address: object) -> None:
            """Nothing: a client that breaks off is no concern of the job."""

    class Handler(_Handler):
        answers_for = endpoint
        any_name = not _is_loopback(host)

    problem: OSError | None = None
    for port in ports:
        try:
            return Server((host, port), Handler)
        except OSError as error:
            problem = error
    span = str(ports[0]) if len(ports) == 1 else f"{ports[0]} to {ports[-1]}"
    raise OSError(f"cannot listen at {host}, port {span}: {problem}") from problem


class _Handler(BaseHTTPRequestHandler):
    answers_for: _Endpoint
    any_name: bool
    """whether clients may call this server by any name; else only by those of the machine itself, so that no page in a
    browser reads metrics through a name of its own for 127.0.0.1"""
    timeout = SECONDS

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def _answer(self, with_body: bool) -> None:
        if not self.any_name and not _is_loopback(_bare(self.headers.get("Host", "localhost"))):
            self._send(403, "text/plain", b"this server is for its own machine\n", with_body)
        elif self.path.partition("?")[0] not in ("/", "/metrics"):
            self._send(404, "text/plain", b"metrics are at /metrics\n", with_body)
        else:
            try:
                text = self.answers_for.text()
            except Exception as error:
                logger.debug("no metrics for Prometheus: %s", type(error).__name__)
                self._send(500, "text/plain", b"the metrics can't be read\n", with_body)
            else:
                self._send(200, CONTENT_TYPE, text.encode(), with_body)

    def _send(self, status: int, kind: str, body: bytes, with_body: bool) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if with_body:
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: each scrape would be a line."""


def _bare(host: str) -> str:
    """A host without its port."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


def _is_loopback(host: str) -> bool:
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
