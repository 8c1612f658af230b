"""Listening: an application behind a port, in the main thread or beside it."""

from __future__ import annotations

import errno
import socket
import time
from threading import Thread
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from millrace.cluster.rest.settings import Binding

__all__ = ["NoPortError", "RestServer"]

_TAKEN = (errno.EADDRINUSE, errno.EACCES)


class NoPortError(OSError):
    """None of the configured ports is free; the text names them."""


def listen(binding: Binding) -> socket.socket:
    """A socket on the first free port.

    :raises NoPortError: there is none.
    """
    family, kind, protocol, _, _ = socket.getaddrinfo(
        binding.address.strip("[]"), None, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    for port in binding.ports:
        listening = socket.socket(family, kind, protocol)
        # Only against a port of a server that has just ended; two servers that listen never share one.
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((binding.address.strip("[]"), port))
            listening.listen(128)
        except OSError as error:
            listening.close()
            if error.errno not in _TAKEN:
                raise
        else:
            return listening
    ports = [*binding.ports]
    shown = f"port {ports[0]} is" if len(ports) == 1 else f"ports {ports[0]} to {ports[-1]} are all"
    raise NoPortError(f"Can't listen on {binding.address}: {shown} taken. Choose another one with rest.port.")


def make_server(app: ASGIApp, **more: Any) -> uvicorn.Server:
    """A server of an application, not yet behind any socket."""
    return uvicorn.Server(
        uvicorn.Config(
            app,
            log_config=None,
            access_log=False,  # the link with the token would be in it
            server_header=False,
            proxy_headers=False,  # nothing depends on the client's address, so no proxy needs to be trusted
            lifespan="off",
            ws="none",
            timeout_graceful_shutdown=5,
            **more,
        )
    )


class RestServer:
    """An application behind a port. The port is taken at once, requests are answered once it is started."""

    def __init__(self, app: ASGIApp, binding: Binding) -> None:
        self._socket = listen(binding)
        self.port: int = self._socket.getsockname()[1]
        self._runs = False
        self._secure = binding.certificate is not None
        self._name = binding.address
        self._thread: Thread | None = None
        self._server = make_server(app, ssl_certfile=binding.certificate, ssl_keyfile=binding.key)

    @property
    def address(self) -> str:
        """The server's URL for a browser; a server that listens on all addresses is named ``localhost``."""
        name = "localhost" if self._name in ("127.0.0.1", "0.0.0.0", "::", "") else self._name
        if ":" in name and not name.startswith("["):
            name = f"[{name}]"
        return f"{'https' if self._secure else 'http'}://{name}:{self.port}"

    def run(self) -> None:
        """Serve requests in this thread, until a signal arrives or ``stop`` is called."""
        self._runs = True
        self._server.run(sockets=[self._socket])  # closes it

    def start(self, seconds: float = 30.0) -> None:
        """Serve requests in a thread of its own.

        :raises TimeoutError: it doesn't within this time.
        """
        self._thread = Thread(target=self.run, name="millrace-rest", daemon=True)
        self._thread.start()
        end = time.monotonic() + seconds
        while not self._server.started:
            if not self._thread.is_alive():
                raise RuntimeError(f"The server at {self.address} has ended while it was started.")
            if time.monotonic() > end:
                self._server.should_exit = True
                raise TimeoutError(f"The server at {self.address} does not answer after {seconds:g} seconds.")
            time.sleep(0.01)

    def stop(self, seconds: float = 30.0) -> None:
        """Stop the server. Requests in progress have a few seconds to complete.

        :raises TimeoutError: it still runs after this time.
        """
        self._server.should_exit = True
        if not self._runs and self._thread is None:
            self._socket.close()
        if self._thread is None:
            return
        self._thread.join(seconds)
        if self._thread.is_alive():
            self._server.force_exit = True
            raise TimeoutError(f"The server at {self.address} goes on after {seconds:g} seconds.")
