"""Messages of the plugin ``pgoutput``, protocol version 1, as the manual describes them."""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

from millrace.connectors.cdc.changes import UNCHANGED

__all__ = ["EPOCH_MS", "Begin", "Described", "row", "read_begin", "read_commit", "read_relation", "read_truncate"]

EPOCH_MS = 946_684_800_000
"""PostgreSQL counts microseconds from 2000-01-01"""
_BEGIN = struct.Struct(">QqI")
_COMMIT = struct.Struct(">BQQq")
_COUNT = struct.Struct(">H")
_LENGTH = struct.Struct(">I")
_NULL, _UNCHANGED = ord("n"), ord("u")


class Begin(NamedTuple):
    """A transaction begins. :ivar commit: where its commit is written. :ivar time: ms since 1970."""

    commit: int
    time: int
    xid: int


class Described(NamedTuple):
    """A table as it is at this place of the log. :ivar columns: name, number of the type, its modifier, part of the
    replica identity."""

    number: int
    schema: str
    name: str
    identity: str
    columns: tuple[tuple[str, int, int, bool], ...]


def read_begin(message: bytes) -> Begin:
    commit, time, xid = _BEGIN.unpack_from(message, 1)
    return Begin(commit, EPOCH_MS + time // 1000, xid)


def read_commit(message: bytes) -> int:
    """Where what follows begins."""
    return int(_COMMIT.unpack_from(message, 1)[2])


def read_relation(message: bytes) -> Described:
    number = _LENGTH.unpack_from(message, 1)[0]
    schema, place = _text(message, 5)
    name, place = _text(message, place)
    identity = chr(message[place])
    count = _COUNT.unpack_from(message, place + 1)[0]
    place += 3
    columns = []
    for _ in range(count):
        in_identity = message[place] == 1
        column, place = _text(message, place + 1)
        kind, modifier = struct.unpack_from(">Ii", message, place)
        place += 8
        columns.append((column, kind, modifier, in_identity))
    return Described(number, schema or "pg_catalog", name, identity, tuple(columns))


def read_truncate(message: bytes) -> tuple[int, ...]:
    """The numbers of the tables."""
    count = _LENGTH.unpack_from(message, 1)[0]
    return struct.unpack_from(f">{count}I", message, 6)


def row(message: bytes, place: int) -> tuple[tuple[Any, ...], int]:
    """A row from a place of a message on, and the place behind it."""
    count = _COUNT.unpack_from(message, place)[0]
    place += 2
    values: list[Any] = []
    for _ in range(count):
        kind = message[place]
        place += 1
        if kind == _NULL:
            values.append(None)
        elif kind == _UNCHANGED:
            values.append(UNCHANGED)
        else:
            begin = place + 4
            place = begin + int.from_bytes(message[place:begin], "big")
            values.append(message[begin:place].decode())
    return tuple(values), place


def _text(message: bytes, place: int) -> tuple[str, int]:
    end = message.index(0, place)
    return message[place:end].decode(), end + 1
