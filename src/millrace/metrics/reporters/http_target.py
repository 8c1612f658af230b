"""HTTP requests of reporters, each with a deadline."""

from __future__ import annotations

import contextlib
import http.client
import socket
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

# Requests

MOST_OF_ANSWER = 500
"""largest part of an answer that is included in an error (characters)"""


class HttpError(Exception):
    """A server has refused a request, or has not answered in time."""


@dataclass(frozen=True)
class Target:
    """A server, and how long a request to it may take. Redirects are not followed: headers may hold secrets.

    :param proxy: host and port of a proxy.
    """

    address: SplitResult
    seconds: float
    proxy: tuple[str, int] | None = None

    @staticmethod
    def of(url: str, seconds: float, proxy: tuple[str, int] | None = None) -> Target:
        """:raises ValueError: no URL of a server."""
        address = urlsplit(url)
        if address.scheme not in ("http", "https") or not address.hostname:
            raise ValueError("not a URL like http://host:port")
        _ = address.port  # ValueError if it is no number
        return Target(address, seconds, proxy)

    def send(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> None:
        """Send a request and wait for the answer.

        :raises HttpError: the server is not there, the answer is no success, or comes too late.
        """
        connection = self._connection()
        deadline = _Deadline(self.seconds)
        try:
            connection.connect()
            deadline.wakes(connection.sock)
            connection.request(method, self._target(path), body, dict(headers))
            answer = connection.getresponse()
            text = answer.read(MOST_OF_ANSWER).decode("utf-8", "replace")
            if deadline.over:
                raise TimeoutError
        except (OSError, http.client.HTTPException) as error:
            if deadline.over or isinstance(error, TimeoutError):
                raise HttpError(f"{self._name()} has not answered within {self.seconds:g} s") from None
            raise HttpError(f"{self._name()}: {type(error).__name__}: {error}") from None
        finally:
            deadline.end()
            connection.close()
        if not 200 <= answer.status < 300:
            raise HttpError(f"{self._name()} answers {answer.status} {answer.reason}: {text.strip()}")

    def _connection(self) -> http.client.HTTPConnection:
        secure = self.address.scheme == "https"
        kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        host, port = self.address.hostname or "", self.address.port or (443 if secure else 80)
        if self.proxy is None:
            return kind(host, port, timeout=self.seconds)
        connection = kind(*self.proxy, timeout=self.seconds)
        if secure:
            connection.set_tunnel(host, port)
        return connection

    def _target(self, path: str) -> str:
        whole = self.address.path.rstrip("/") + path
        plain_proxy = self.proxy is not None and self.address.scheme == "http"
        return f"http://{self._host()}{whole}" if plain_proxy else whole

    def _name(self) -> str:
        """The server's address without the rest of the URL, which may contain secrets."""
        return f"{self.address.scheme}://{self._host()}"

    def _host(self) -> str:
        return self.address.netloc.rpartition("@")[2]


class _Deadline:
    """Interrupts a thread that waits for a socket when the time is over: a socket's own timeout restarts with each
    byte."""

    def __init__(self, seconds: float) -> None:
        self.over = False
        self._socket: socket.socket | None = None
        self._timer = threading.Timer(seconds, self._end_it)
        self._timer.daemon = True
        self._timer.start()

    def wakes(self, sock: socket.socket) -> None:
        self._socket = sock
        if self.over:
            self._end_it()

    def end(self) -> None:
        self._timer.cancel()

    def _end_it(self) -> None:
        self.over = True
        if self._socket is not None:
            with contextlib.suppress(OSError):
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)  # of a TLS socket, too: nothing is negotiated
