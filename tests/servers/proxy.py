"""A TCP proxy for networks that fail: a server is reached through it until the proxy is cut."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Sequence

_CHUNK = 1 << 16


class Proxy:
    """Ports that stand for others. Between ``cut`` and ``mend`` nothing comes through, and what was open is closed.

    :param count: how many ports.
    """

    def __init__(self, count: int = 1) -> None:
        self._listeners = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
        self._targets: list[int] = []
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._is_cut = False

    @property
    def ports(self) -> list[int]:
        """What clients connect to."""
        return [each.getsockname()[1] for each in self._listeners]

    def start(self, targets: Sequence[int]) -> None:
        """Begin to connect.

        :param targets: ports on loopback, one for each of ``ports``.
        """
        self._targets = list(targets)
        for listener, target in zip(self._listeners, self._targets):
            threading.Thread(target=self._accept, args=(listener, target), daemon=True).start()

    def cut(self) -> None:
        """Close all connections; new ones are closed at once until ``mend``."""
        with self._lock:
            self._is_cut = True
            ended, self._open = self._open, set()
        for each in ended:
            _end(each)

    def mend(self) -> None:
        with self._lock:
            self._is_cut = False

    def stop(self) -> None:
        """Stop the proxy: all connections and its ports are closed."""
        self.cut()
        for each in self._listeners:
            _end(each)

    def _accept(self, listener: socket.socket, target: int) -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(("127.0.0.1", target), timeout=10)
            except OSError:
                _end(client)
                continue
            server.settimeout(None)
            with self._lock:
                refused = self._is_cut
                if not refused:
                    self._open |= {client, server}
            if refused:
                _end(client)
                _end(server)
                continue
            for source, sink in ((client, server), (server, client)):
                threading.Thread(target=self._pass_on, args=(source, sink), daemon=True).start()

    def _pass_on(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(_CHUNK):
                sink.sendall(data)
        with self._lock:
            self._open -= {source, sink}
        _end(source)
        _end(sink)


def _end(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()
