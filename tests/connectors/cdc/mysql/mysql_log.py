"""A binary log as MySQL 8.4 writes it, after its description: events, transactions, rows."""

from __future__ import annotations

import struct
import uuid
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa

SOURCE = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
FILE = "binlog.000007"
TABLE, UTF8 = 77, 45


def number(value: int) -> bytes:
    """Of one to nine bytes."""
    if value < 0xFB:
        return bytes([value])
    for mark, width in ((0xFC, 2), (0xFD, 3), (0xFE, 8)):
        if value < 1 << 8 * width:
            return bytes([mark]) + value.to_bytes(width, "little")
    raise ValueError(value)


def event(kind: int, body: bytes, end: int, time: int = 1_700_000_000, flags: int = 0, checked: bool = True) -> bytes:
    size = 19 + len(body) + 4 * checked
    data = struct.pack("<IBIIIH", time, kind, 1, size, end, flags) + body
    return data + zlib.crc32(data).to_bytes(4, "little") if checked else data


def format_event(end: int) -> bytes:
    headers = bytes(
        [56, 13, 0, 8, 0, 0, 0, 0, 4, 0, 4, 0, 0, 0, 98, 0, 4, 26, 8, 0, 0, 0, 8, 8, 8, 2, 0, 0, 0, 10, 10, 10]
    )
    body = struct.pack("<H50sIB", 4, b"8.4.3", 1_700_000_000, 19) + headers.ljust(41, b"\0") + b"\x01"
    return event(15, body, end)


def rotate(offset: int) -> bytes:
    return event(4, offset.to_bytes(8, "little") + FILE.encode(), 0, 0, 0x20)


def query(text: str) -> tuple[int, bytes]:
    database = b"shop"
    return 2, struct.pack("<IIBHH", 9, 0, len(database), 0, 0) + database + b"\0" + text.encode()


def table_map(columns: Sequence[tuple[int, bytes]], unsigned: str) -> tuple[int, bytes]:
    """With MySQL's default, binlog_row_metadata = MINIMAL: signs and character sets, no names."""
    codes = bytes(kind for kind, _ in columns)
    detail = b"".join(each for _, each in columns)
    signs = int(unsigned.ljust(8, "0"), 2).to_bytes(1, "big")
    body = TABLE.to_bytes(6, "little") + b"\1\0" + b"\4shop\0" + b"\1t\0"
    body += number(len(codes)) + codes + number(len(detail)) + detail + b"\xff" * ((len(codes) + 7) // 8)
    return 19, body + b"\x01\x01" + signs + b"\x02\x01" + bytes([UTF8])


def rows(kind: int, width: int, images: Sequence[bytes]) -> tuple[int, bytes]:
    """Of the second version, as since MySQL 5.6."""
    present = ((1 << width) - 1).to_bytes((width + 7) // 8, "little")
    head = TABLE.to_bytes(6, "little") + b"\1\0" + b"\2\0" + number(width) + present * (2 if kind == 31 else 1)
    return kind, head + b"".join(images)


@dataclass
class MySqlLog:
    """:ivar events: with the places where they begin."""

    events: list[tuple[int, bytes]] = field(default_factory=list)
    end: int = 4
    transactions: int = 0

    def __post_init__(self) -> None:
        size = len(format_event(0))
        self._put(format_event(self.end + size))

    def _put(self, data: bytes) -> None:
        self.events.append((self.end, data))
        self.end += len(data)

    def put(self, kind: int, body: bytes) -> None:
        self._put(event(kind, body, self.end + 19 + len(body) + 4))

    def transaction(self, *parts: tuple[int, bytes]) -> int:
        """A transaction with the next GTID; where it begins."""
        begin = self.end
        self.transactions += 1
        self.put(33, b"\0" + uuid.UUID(SOURCE).bytes + self.transactions.to_bytes(8, "little") + b"\2" + bytes(16))
        for kind, body in parts:
            self.put(kind, body)
        return begin

    def rows(self, *parts: tuple[int, bytes]) -> int:
        return self.transaction(query("BEGIN"), *parts, (16, (9).to_bytes(8, "little")))

    def compressed(self, *parts: tuple[int, bytes]) -> int:
        """``binlog_transaction_compression = ON``."""
        inside = b"".join(
            event(kind, body, 0, checked=False)
            for kind, body in (query("BEGIN"), *parts, (16, (9).to_bytes(8, "little")))
        )
        packed = pa.compress(inside, codec="zstd", asbytes=True)
        head = b""
        for what, value in ((2, 0), (3, len(inside)), (1, len(packed))):
            head += number(what) + number(len(number(value))) + number(value)
        return self.transaction((40, head + b"\0" + packed))

    def prepared(self, name: bytes, at_once: bool, *parts: tuple[int, bytes]) -> int:
        text = f"X'{name.hex()}',X'',1"
        body = bytes([at_once]) + struct.pack("<III", 1, len(name), 0) + name
        return self.transaction(query(f"XA START {text}"), *parts, query(f"XA END {text}"), (38, body))
