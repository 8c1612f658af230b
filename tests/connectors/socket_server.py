"""A server for tests of sockets."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager


@contextmanager
def server(connections: Sequence[Sequence[bytes]]) -> Iterator[int]:
    """A server that sends this on each connection, one after the other; gives its port."""
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        for parts in connections:
            connection, _ = listening.accept()
            with connection:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                for part in parts:
                    connection.sendall(part)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield listening.getsockname()[1]
    finally:
        listening.close()
        thread.join(10)
