"""The messages between the process that reads ORC files and the one that asks it. Both import this module, so it
imports nothing else."""

from __future__ import annotations

import struct
from typing import Any

__all__ = ["ASK", "BATCH", "DONE", "ERROR", "GIVE", "OPEN", "OPENED", "READ", "receive", "send"]


OPEN, READ, GIVE = b"O", b"R", b"G"
"""open a file of a size; read columns of a stripe; the bytes that were asked for"""
OPENED, BATCH, DONE, ERROR, ASK = b"S", b"B", b"D", b"E", b"A"
"""stripes and schema; rows; no more of them; why not; bytes of the file are wanted"""
_HEAD = struct.Struct("<cQ")


def send(stream: Any, kind: bytes, content: Any = b"") -> None:
    """Send one, whole."""
    stream.write(_HEAD.pack(kind, len(content)))
    stream.write(content)
    stream.flush()


def receive(stream: Any) -> tuple[bytes, bytes]:
    """The next one.

    :raises EOFError: the other process has ended.
    """
    kind, size = _HEAD.unpack(_exactly(stream, _HEAD.size))
    return kind, _exactly(stream, size)


def _exactly(stream: Any, size: int) -> bytes:
    found: bytes = stream.read(size)
    if len(found) < size:
        raise EOFError
    return found
