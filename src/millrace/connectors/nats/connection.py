"""The client of NATS, which is asynchronous: here it runs in the thread that asks it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any, TypeVar

T = TypeVar("T")

_MISSING = "nats can't be imported, which the NATS connector needs: pip install 'millrace-streaming[nats]' ({})"
_SECONDS = 10


def nats_library() -> Any:
    """:raises ImportError: it is not installed."""
    try:
        import nats as found
        import nats.js.api
    except ImportError as error:
        raise ImportError(_MISSING.format(error)) from error
    return found


@dataclass(frozen=True)
class NatsServers:
    """
    :ivar urls: ``nats://host:port``, ``tls://``; they may hold user and password.
    :ivar options: of ``nats.connect``, for instance ``user_credentials`` (the path of a file).
    """

    urls: tuple[str, ...] = field(repr=False)
    options: tuple[tuple[str, Any], ...] = field(default=(), repr=False)

    def __str__(self) -> str:
        return ", ".join(url.rpartition("@")[2].rpartition("//")[2] for url in self.urls)

    def connect(self) -> NatsClient:
        """:raises ConnectionError: no server answers."""
        return NatsClient(self)


class NatsClient:
    """A connection with an event loop of its own, which turns while something is asked."""

    def __init__(self, servers: NatsServers) -> None:
        library = nats_library()
        self.api = library.js.api
        self.errors = library.js.errors
        self._lost = (library.errors.ConnectionClosedError, library.errors.StaleConnectionError)
        self._servers = servers
        self._failure: Exception | None = None
        self._loop = asyncio.new_event_loop()
        try:
            self._connection = self.run(self._connect(library))
        except Exception as error:
            self._loop.close()
            raise ConnectionError(f"NATS at {servers} does not answer, or does not let us in: {error!r}") from None
        self.jetstream = self._connection.jetstream()

    async def _connect(self, library: Any) -> Any:
        async def on_error(error: Exception) -> None:
            self._failure = error

        return await library.connect(
            list(self._servers.urls),
            # A lost connection fails the job, which restarts from its checkpoint.
            allow_reconnect=False,
            max_reconnect_attempts=1,
            reconnect_time_wait=0.1,
            connect_timeout=_SECONDS,
            error_cb=on_error,
            **dict(self._servers.options),
        )

    def run(self, what: Coroutine[Any, Any, T]) -> T:
        """:raises ConnectionError: the connection is lost."""
        try:
            return self._loop.run_until_complete(what)
        except self._lost as error:
            raise ConnectionError(
                f"NATS at {self._servers}: the connection is lost: {self._failure or error!r}"
            ) from error

    def check(self) -> None:
        """:raises ConnectionError: the connection is lost."""
        if self._connection.is_closed:
            raise ConnectionError(f"NATS at {self._servers}: the connection is lost: {self._failure!r}")

    def serve(self) -> None:
        """Let it answer the server."""
        self.run(asyncio.sleep(0))
        self.check()

    def close(self) -> None:
        if not self._loop.is_closed():
            try:
                self.run(self._connection.close())
                for task in asyncio.all_tasks(self._loop):
                    task.cancel()
                self.run(asyncio.sleep(0))
            finally:
                self._loop.close()
