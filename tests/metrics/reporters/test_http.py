"""Requests to servers that are not there, do not answer, or answer byte by byte."""

from __future__ import annotations

import contextlib
import socket
import threading

import pytest
from tests.metrics.reporters.samples import silent, web

from millrace.metrics.reporters.http_target import HttpError, Target


def test_a_server_that_never_answers() -> None:
    with silent() as port, pytest.raises(HttpError, match="has not answered within"):
        Target.of(f"http://127.0.0.1:{port}", 0.2).send("POST", "/", b"x", {})


def test_a_server_that_answers_byte_by_byte() -> None:
    done = threading.Event()

    def drip(server: socket.socket) -> None:
        connection, _ = server.accept()
        with connection, contextlib.suppress(OSError):
            connection.sendall(b"HTTP/1.1 200 OK\r\n")
            while not done.wait(0.02):
                connection.sendall(b"x: y\r\n")

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=drip, args=(server,), daemon=True)
        thread.start()
        try:
            with pytest.raises(HttpError, match="has not answered within 1 s"):
                Target.of(f"http://127.0.0.1:{server.getsockname()[1]}", 1).send("POST", "/", b"x", {})
        finally:
            done.set()
            thread.join(60)


def test_nobody_listens() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        with pytest.raises(HttpError, match="ConnectionRefusedError"):
            Target.of(f"http://127.0.0.1:{closed.getsockname()[1]}", 60).send("POST", "/", b"x", {})


def test_redirects_are_not_followed() -> None:
    with web() as server:
        server.status = 307
        with pytest.raises(HttpError, match="answers 307"):
            Target.of(server.url, 60).send("POST", "/write?u=1", b"x", {"Authorization": "secret"})
        assert [request.path for request in server.requests] == ["/write?u=1"]


@pytest.mark.parametrize("url", ["", "h:80", "ftp://h", "http://", "http://h:x"])
def test_no_url(url: str) -> None:
    with pytest.raises(ValueError):
        Target.of(url, 1)
