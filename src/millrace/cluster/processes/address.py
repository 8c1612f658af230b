"""Where a server listens: the port that is asked for, or the first free one of a few."""

from __future__ import annotations

import errno
import ipaddress
import socket
from collections.abc import Mapping
from dataclasses import dataclass

PORT, BIND_ADDRESS, ADDRESS = "rest.port", "rest.bind-address", "rest.address"
FIRST_PORT, LAST_PORT = 8081, 8099


class NoPortError(Exception):
    """The server cannot listen; the text says where, and why."""


@dataclass(frozen=True)
class Listening:
    """An open socket, and how others call it."""

    socket: socket.socket
    url: str
    beyond_loopback: bool


def listen(configuration: Mapping[str, str], first: int = FIRST_PORT, last: int = LAST_PORT) -> Listening:
    """Listen where the configuration says; without a port at the first free one.

    :raises NoPortError: that is not possible.
    """
    host = configuration.get(BIND_ADDRESS) or "127.0.0.1"
    wanted = configuration.get(PORT)
    try:
        ports = [int(wanted)] if wanted else list(range(first, last + 1))
    except ValueError:
        raise NoPortError(f"{PORT} is a number, not {wanted!r}") from None
    for port in ports:
        try:
            opened = _open(host, port)
        except OSError as error:
            if error.errno == errno.EADDRINUSE and len(ports) > 1:
                continue
            why = "another program listens there" if error.errno == errno.EADDRINUSE else error.strerror
            raise NoPortError(f"cannot listen at {host}:{port} ({PORT}): {why}") from None
        beyond = not is_loopback(host)
        name = configuration.get(ADDRESS) if beyond else None
        shown = name or ("localhost" if host in ("0.0.0.0", "::") else host)
        return Listening(opened, f"http://{f'[{shown}]' if ':' in shown else shown}:{opened.getsockname()[1]}", beyond)
    raise NoPortError(f"all ports from {first} to {last} are taken: set {PORT}")


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _open(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    opened = socket.socket(family, socket.SOCK_STREAM)
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind((host, port))
        opened.listen(256)
    except OSError:
        opened.close()
        raise
    return opened
