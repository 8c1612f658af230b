"""A server that speaks as MySQL 8.4 does, as far as a capture listens.

MySQL itself is not among the packages that tests can have. What it says here (``caching_sha2_password``, some
questions, its log) is written after the description of its protocol.
"""

from __future__ import annotations

import hashlib
import re
import socket
import threading
import uuid
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from typing import Any

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from tests.connectors.cdc.mysql.mysql_log import FILE, MySqlLog, event, format_event, number, rotate

from millrace.connectors.cdc.mysql.binlog_position import MySqlGtids

NONCE = bytes(range(1, 21))
OK = b"\0\0\0\2\0\0\0"
END = b"\xfe\0\0\2\0"
_CAPABILITIES = 0x00BFF7FF & ~0x800 & ~0x1000000  # no TLS, results end as ever
Rows = Sequence[Sequence[Any]]


class FakeMySql:
    """:ivar answers: to questions, by regular expressions; values are rows, or give them."""

    def __init__(self, log: MySqlLog, answers: dict[str, Rows | Callable[[], Rows]], password: str, fast: bool) -> None:
        self.log, self.answers, self.fast = log, answers, fast
        self._password = password.encode()
        self._key = None if fast else rsa.generate_private_key(65537, 2048)
        self._listening = socket.socket()
        self._listening.bind(("127.0.0.1", 0))
        self._listening.listen()
        self.port = self._listening.getsockname()[1]
        self.dumped: list[Any] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listening.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                threading.Thread(target=self._serve, args=(_Wire(client),), daemon=True).start()

    def _serve(self, wire: _Wire) -> None:
        with suppress(OSError, EOFError), closing(wire):
            if not self._greet(wire):
                return
            while (data := wire.read())[0] != 0x01:
                if data[0] == 0x03:
                    self._answer(wire, data[1:].decode())
                elif data[0] in (0x12, 0x1E):
                    self._dump(wire, data)
                else:
                    wire.write(OK)

    # -- caching_sha2_password ----------------------------------------------------------------------------------

    def _greet(self, wire: _Wire) -> bool:
        lower, upper = _CAPABILITIES & 0xFFFF, _CAPABILITIES >> 16
        wire.write(
            b"\x0a8.4.3\0" + (1).to_bytes(4, "little") + NONCE[:8] + b"\0" + lower.to_bytes(2, "little") + b"\xff\2\0"
            + upper.to_bytes(2, "little") + b"\x15" + bytes(10) + NONCE[8:] + b"\0caching_sha2_password\0"
        )  # fmt: skip
        answer = wire.read()
        at = answer.index(b"\0", 32) + 1
        right = self._fits(answer[at + 1 : at + 1 + answer[at]])
        if right and not self.fast:
            right = self._whole_password(wire)
        elif right:
            wire.write(b"\1\3")
        if not right:
            wire.write(b"\xff" + (1045).to_bytes(2, "little") + b"#28000Access denied")
            return False
        wire.write(OK)
        return True

    def _fits(self, scramble: bytes) -> bool:
        once = hashlib.sha256(self._password).digest()
        mask = hashlib.sha256(hashlib.sha256(once).digest() + NONCE).digest()
        return bytes(a ^ b for a, b in zip(scramble, mask)) == once

    def _whole_password(self, wire: _Wire) -> bool:
        """The server has forgotten it, and asks for it with a key of its own."""
        assert self._key is not None
        wire.write(b"\1\4")
        assert wire.read() == b"\2"
        form = serialization.PublicFormat.SubjectPublicKeyInfo
        wire.write(b"\1" + self._key.public_key().public_bytes(serialization.Encoding.PEM, form))
        way = padding.OAEP(padding.MGF1(hashes.SHA1()), hashes.SHA1(), None)
        mixed = self._key.decrypt(wire.read(), way)
        return bytes(a ^ NONCE[place % 20] for place, a in enumerate(mixed)) == self._password + b"\0"

    # -- questions ----------------------------------------------------------------------------------------------

    def _answer(self, wire: _Wire, text: str) -> None:
        for pattern, answer in self.answers.items():
            if re.search(pattern, text, re.IGNORECASE | re.DOTALL):
                self._result(wire, answer() if callable(answer) else answer)
                return
        if re.match(r"SET|COMMIT|ROLLBACK|BEGIN|START", text, re.IGNORECASE):
            wire.write(OK)
            return
        wire.write(b"\xff" + (1064).to_bytes(2, "little") + f"#42000What is that: {text}".encode())

    @staticmethod
    def _result(wire: _Wire, rows: Rows) -> None:
        width = len(rows[0]) if rows else 1
        wire.write(number(width))
        for place in range(width):
            whole = bool(rows) and isinstance(rows[0][place], int)
            names = b"\3def" + b"\0" * 3 + number(len(f"c{place}")) + f"c{place}".encode() + b"\0"
            kind = b"\x3f\0" if whole else b"\x2d\0"
            wire.write(names + b"\x0c" + kind + bytes(4) + (b"\x08" if whole else b"\xfd") + b"\0\0\0\0\0")
        wire.write(END)
        for row in rows:
            texts = [None if value is None else str(value).encode() for value in row]
            wire.write(b"".join(b"\xfb" if each is None else number(len(each)) + each for each in texts))
        wire.write(END)

    # -- the log ------------------------------------------------------------------------------------------------

    def _dump(self, wire: _Wire, data: bytes) -> None:
        if data[0] == 0x12:
            begin, known = int.from_bytes(data[1:5], "little"), MySqlGtids()
            self.dumped.append((data[11:].decode(), begin))
        else:
            size = int.from_bytes(data[7:11], "little")
            at = 11 + size
            begin, known = int.from_bytes(data[at : at + 8], "little"), decoded(data[at + 12 :])
            self.dumped.append(str(known))
        wire.write(b"\0" + rotate(begin))
        skipped = False
        for place, each in self.log.events:
            kind = each[4]
            if kind == 33:
                skipped = known.has(_source(each), int.from_bytes(each[36:44], "little"))
            if kind == 15 and begin > 4:
                wire.write(b"\0" + format_event(0))
            elif kind == 15 or (place >= begin and not skipped):
                wire.write(b"\0" + each)
        while True:
            wire.write(b"\0" + event(27, FILE.encode(), self.log.end, 0))
            if wire.closes_within(0.2):
                return


def _source(each: bytes) -> str:
    return str(uuid.UUID(bytes=each[20:36]))


def decoded(data: bytes) -> MySqlGtids:
    """A set of GTIDs as clients send it."""
    found, at = MySqlGtids(), 8
    for _ in range(int.from_bytes(data[:8], "little")):
        source = str(uuid.UUID(bytes=data[at : at + 16]))
        count = int.from_bytes(data[at + 16 : at + 24], "little")
        at += 24
        for _ in range(count):
            first, end = (int.from_bytes(data[each : each + 8], "little") for each in (at, at + 8))
            found.add(source, first, end - 1)
            at += 16
    return found


class _Wire:
    """Packets of a connection."""

    def __init__(self, client: socket.socket) -> None:
        self._client, self._number = client, 0

    def read(self) -> bytes:
        head = self._exactly(4)
        self._number = head[3] + 1
        return self._exactly(int.from_bytes(head[:3], "little"))

    def write(self, payload: bytes) -> None:
        self._client.sendall(len(payload).to_bytes(3, "little") + bytes([self._number & 0xFF]) + payload)
        self._number += 1

    def closes_within(self, seconds: float) -> bool:
        self._client.settimeout(seconds)
        try:
            return not self._client.recv(1)
        except TimeoutError:
            return False
        finally:
            self._client.settimeout(None)

    def _exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            more = self._client.recv(size - len(data))
            if not more:
                raise EOFError
            data += more
        return data

    def close(self) -> None:
        self._client.close()
