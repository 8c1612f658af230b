"""Messages: a length and a JSON object each, perhaps with open files."""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Sequence
from typing import Any

_LENGTH = struct.Struct("!I")
LIMIT = 64 * 1024 * 1024
"""Bytes of a message at most: documents of jobs are far below that."""
MAX_FILES = 8


def send(connection: socket.socket, message: dict[str, Any], files: Sequence[int] = ()) -> None:
    """Send a message; with files they go along with its length."""
    payload = json.dumps(message, separators=(",", ":")).encode()
    length = _LENGTH.pack(len(payload))
    if files:
        socket.send_fds(connection, [length], files)
        connection.sendall(payload)
    else:
        connection.sendall(length + payload)


def receive(connection: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """The next message, and the files that came with it, which are the receiver's to close.

    :raises EOFError: the other side has closed, or is dead.
    :raises ValueError: that was no message.
    """
    head, files, _, _ = socket.recv_fds(connection, _LENGTH.size, MAX_FILES)
    if not head:
        raise EOFError("the other side has closed the connection")
    head += _exactly(connection, _LENGTH.size - len(head))
    (length,) = _LENGTH.unpack(head)
    if length > LIMIT:
        raise ValueError(f"a message of {length} bytes, above {LIMIT}")
    message = json.loads(_exactly(connection, length))
    if not isinstance(message, dict):
        raise ValueError("a message is an object")
    return message, files


def _exactly(connection: socket.socket, count: int) -> bytes:
    parts = bytearray()
    while len(parts) < count:
        part = connection.recv(min(count - len(parts), 1 << 20))
        if not part:
            raise EOFError("the other side has closed the connection")
        parts += part
    return bytes(parts)
