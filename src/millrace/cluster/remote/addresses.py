"""Addresses of servers, as people write them."""

from __future__ import annotations

_HERE = {"localhost", "127.0.0.1", "[::1]"}


def url_of(address: str) -> str:
    return address if "://" in address else f"http://{address}"


def same_address(address: str, url: str | None) -> bool:
    """Whether both lead to the same port of this machine, or are the same."""
    if url is None:
        return False
    host, port = _parts(address)
    other, its_port = _parts(url)
    return port == its_port and (host == other or {host, other} <= _HERE)


def _parts(address: str) -> tuple[str, str]:
    host, _, port = url_of(address).partition("://")[2].rstrip("/").rpartition(":")
    return host, port
