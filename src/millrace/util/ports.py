"""Ports of the network, as configurations write them."""

from __future__ import annotations

from collections.abc import Iterator


def port_range(text: str) -> list[int]:
    """Return the ports of a text like ``9250``, ``9250-9260`` or ``9250,9300-9310``, in order, each once.

    :raises ValueError: the text names no ports.
    """
    ports = list(dict.fromkeys(_ports(text)))
    if not ports or not all(0 <= port <= 65535 for port in ports):
        raise ValueError(f"{text!r} is neither a port nor a range like 9250-9260")
    return ports


def _ports(text: str) -> Iterator[int]:
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdecimal() or (dash and not last.strip().isdecimal()):
            raise ValueError(f"{text!r} is neither a port nor a range like 9250-9260")
        end = int(last) if dash else int(first)
        yield from range(int(first), min(end, 65536) + 1)
