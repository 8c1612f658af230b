"""Addresses of servers, as people write them: ``host``, ``host:port`` or a URL.

A module of its own: each command of the command line loads it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

DEFAULT_PORT = 8081
_HERE = {"localhost", "127.0.0.1", "[::1]"}


def url_of(address: str) -> str:
    return address if "://" in address else f"http://{address}"


def named_in(configuration: Mapping[str, str]) -> str | None:
    """The address that ``rest.address`` and ``rest.port`` name; of a range its first port."""
    host, ports = configuration.get("rest.address"), configuration.get("rest.port")
    if host is None and ports is None:
        return None
    port = re.match(r"\s*(\d+)", ports or "")
    return f"{host or 'localhost'}:{port[1] if port else DEFAULT_PORT}"


def same_address(address: str, url: str | None) -> bool:
    """Whether two addresses are equal, or name the same port of this machine in different words."""
    if url is None:
        return False
    host, port = _parts(address)
    other, its_port = _parts(url)
    return port == its_port and (host == other or {host, other} <= _HERE)


def _parts(address: str) -> tuple[str, str]:
    host, _, port = url_of(address).partition("://")[2].rstrip("/").rpartition(":")
    return host, port
