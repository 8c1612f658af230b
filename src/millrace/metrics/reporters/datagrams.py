"""UDP: what is sent may get lost, and there is no answer."""

from __future__ import annotations

import socket
from collections.abc import Iterable, Iterator

__all__ = ["Datagrams", "packed"]

MOST_BYTES = 1432
"""of a datagram that passes through any Ethernet in one piece"""


def packed(lines: Iterable[bytes], separator: bytes = b"") -> Iterator[bytes]:
    """Lines in as few datagrams as they fit into; none is cut."""
    parts: list[bytes] = []
    size = 0
    for line in lines:
        if parts and size + len(separator) + len(line) > MOST_BYTES:
            yield separator.join(parts)
            parts, size = [], 0
        size += len(line) + (len(separator) if parts else 0)
        parts.append(line)
    if parts:
        yield separator.join(parts)


class Datagrams:
    """Sends to one address, whose name is looked up each time that something is sent."""

    def __init__(self, host: str, port: int, hops: int | None = None) -> None:
        """:param hops: how many networks a multicast may cross."""
        self._address = (host, port)
        self._hops = hops
        self._socket: socket.socket | None = None

    def send(self, datagrams: Iterable[bytes]) -> None:
        """:raises OSError: the address is unknown, or a datagram too long."""
        family, *_, address = socket.getaddrinfo(*self._address, type=socket.SOCK_DGRAM)[0]
        if self._socket is None or self._socket.family != family:
            self.close()
            self._socket = socket.socket(family, socket.SOCK_DGRAM)
            if self._hops is not None and family == socket.AF_INET:
                self._socket.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, self._hops)
        for datagram in datagrams:
            self._socket.sendto(datagram, address)

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None
