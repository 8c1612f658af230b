"""Calls to a server of Spark by a process that knows nothing but its port: ``USER GROUP``, and on standard
input a list of ports, calls and what they take.

It runs by itself, with Python's own library only. Messages of Spark's network: 8 bytes of length, one of the kind, and
what the kind says.
"""

from __future__ import annotations

import encodings.idna  # noqa: F401  (what the user may not read is read before)
import http.client
import json
import os
import socket
import struct
import sys
from concurrent.futures import ThreadPoolExecutor

RPC, RPC_ANSWER, STREAM, STREAM_ANSWER = 3, 4, 6, 7
CHUNK, CHUNK_ANSWER = 0, 1
OPEN_BLOCKS, UPLOAD_BLOCK = 0, 1
SECONDS = 4


class Wire:
    """A connection to a server of Spark."""

    def __init__(self, host: str, port: int) -> None:
        self.socket = socket.create_connection((host, port), timeout=SECONDS)

    def send(self, kind: int, head: bytes, body: bytes = b"") -> None:
        self.socket.sendall(struct.pack(">qb", 9 + len(head) + len(body), kind) + head + body)

    def receive(self) -> tuple[int, bytes]:
        size, kind = struct.unpack(">qb", self._exactly(9))
        if not 0 <= size - 9 < 1 << 24:
            raise EOFError("these are no words of Spark")
        return kind, self._exactly(size - 9)

    def _exactly(self, size: int) -> bytes:
        found = b""
        while len(found) < size:
            more = self.socket.recv(size - len(found))
            if not more:
                raise EOFError("closed")
            found += more
        return found

    def call(self, body: bytes) -> bytes:
        """The answer of a remote call; raises what the server says otherwise."""
        self.send(RPC, struct.pack(">qi", 7, len(body)), body)
        kind, answer = self.receive()
        if kind != RPC_ANSWER:
            raise PermissionError(answer.decode("utf-8", "replace"))
        return answer[12:]


def text(value: str) -> bytes:
    return struct.pack(">i", len(value)) + value.encode()


def java_text(value: str) -> bytes:
    return struct.pack(">H", len(value)) + value.encode()


def read_block(host: str, port: int, application: str, block: str) -> str:
    """What is in a block, in hexadecimal digits."""
    wire = Wire(host, port)
    asked = bytes([OPEN_BLOCKS]) + text(application) + text("driver") + struct.pack(">i", 1) + text(block)
    answer = wire.call(asked)
    (stream,) = struct.unpack(">q", answer[1:9])
    wire.send(CHUNK, struct.pack(">qi", stream, 0))
    kind, chunk = wire.receive()
    if kind != CHUNK_ANSWER:
        raise PermissionError(chunk.decode("utf-8", "replace"))
    return chunk[12:].hex()


def write_block(host: str, port: int, application: str, block: str, metadata: str, data: str) -> str:
    """Put a block there; metadata is what Spark serializes for it, in hexadecimal digits."""
    about, content = bytes.fromhex(metadata), bytes.fromhex(data)
    asked = bytes([UPLOAD_BLOCK]) + text(application) + text("driver") + text(block)
    asked += struct.pack(">i", len(about)) + about + struct.pack(">i", len(content)) + content
    Wire(host, port).call(asked)
    return "written"


def remote_call(host: str, port: int, endpoint: str) -> str:
    """Let an endpoint read an object of Java: a text."""
    message = b"\xac\xed\x00\x05t" + java_text("hello")
    address = b"\x01" + java_text(host) + struct.pack(">i", port)
    wire = Wire(host, port)
    try:
        return wire.call(b"\x00" + address + java_text(endpoint) + message).hex()
    except PermissionError as error:
        # An endpoint that does not know what to do with a text has read it.
        if "SaslMessage" in str(error) or "auth" in str(error).lower():
            raise
        return str(error)


def read_stream(host: str, port: int, name: str) -> str:
    """A file that a driver offers to its executors."""
    wire = Wire(host, port)
    wire.send(STREAM, text(name))
    kind, answer = wire.receive()
    if kind != STREAM_ANSWER:
        raise PermissionError(answer.decode("utf-8", "replace"))
    (size,) = struct.unpack(">q", answer[4 + len(name) : 12 + len(name)])
    return wire._exactly(size).hex()


def page(host: str, port: int, path: str, method: str = "GET", name: str = "") -> str:
    """A page of a web server, asked for under another name of the machine."""
    connection = http.client.HTTPConnection(host, port, timeout=SECONDS)
    connection.request(method, path, headers={"Host": name} if name else {})
    answer = connection.getresponse()
    found = answer.read().decode("utf-8", "replace")
    if answer.status >= 400:
        raise PermissionError(f"HTTP {answer.status}: {found}")
    return f"{answer.status} {answer.getheader('Location')} {found}"


CALLS = {"read": read_block, "write": write_block, "call": remote_call, "stream": read_stream, "page": page}


def attempt(port: int, call: str, arguments: list[str]) -> dict[str, str]:
    try:
        return {"got": CALLS[call]("127.0.0.1", port, *arguments)}
    except (OSError, EOFError, struct.error, http.client.HTTPException) as error:
        return {"refused": f"{type(error).__name__}: {error}"[:2000]}


def main() -> None:
    user, group = map(int, sys.argv[1:])
    attempts = json.load(sys.stdin)
    os.setgroups([])
    os.setgid(group)
    os.setuid(user)
    with ThreadPoolExecutor(8) as threads:
        print(json.dumps(list(threads.map(lambda each: attempt(*each), attempts))))


if __name__ == "__main__":
    main()
