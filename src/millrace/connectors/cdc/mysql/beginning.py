"""Where a capture begins: places of the log by name, by GTID, by time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from millrace.connectors.cdc.mysql.log import kinds
from millrace.connectors.cdc.mysql.log.event import Event
from millrace.connectors.cdc.mysql.log.stream import FIRST, Begin, LogConnectionLost, LogRefused, LogStream
from millrace.connectors.cdc.mysql.log.transactions import Transactions
from millrace.connectors.cdc.mysql.position import Position
from millrace.connectors.cdc.mysql.reader import gone
from millrace.connectors.cdc.mysql.server import Server
from millrace.connectors.cdc.startup import StartupMode, StartupOptions

_SECONDS = 60.0
"""in which a server has to say something"""
Open = Callable[[Begin], LogStream]


def begin(startup: StartupOptions, server: Server, connection: Any, open_stream: Open) -> Position:
    """:raises PositionLost: the log does not go back to there.
    :raises ValueError: there is no such way to begin."""
    mode = startup.mode
    if mode is StartupMode.COMMITTED_OFFSETS:
        raise ValueError(f"{server.title} does not know where others have read its log: there is no '{mode.value}'")
    if mode is StartupMode.EARLIEST_OFFSET:
        return server.at(server.files(connection)[0][0], FIRST)
    if mode is StartupMode.SPECIFIC_OFFSETS:
        return _specific(startup.offset, server, connection, open_stream)
    if mode is StartupMode.TIMESTAMP:
        return _at_time(startup.timestamp or 0, server, connection, open_stream)
    return now(server, connection)


def now(server: Server, connection: Any, life: int = 0) -> Position:
    """The end of the log: whatever is before it is seen by everybody from now on."""
    if not server.mariadb:
        return server.position(connection, life)
    exact = server.snapshot(connection, life)
    connection.commit()
    return exact._replace(gtids=server.gtids(connection, exact.file, exact.offset))


def _specific(offset: Any, server: Server, connection: Any, open_stream: Open) -> Position:
    if isinstance(offset, Mapping):
        gtids, file, place = offset.get("gtids"), offset.get("file"), offset.get("pos", FIRST)
    elif isinstance(offset, (tuple, list)):
        gtids, (file, place) = None, offset
    else:
        gtids, file, place = str(offset), None, FIRST
    if gtids:
        return after_gtids(str(gtids), server, connection, open_stream)
    if file is None:
        raise ValueError("a place of the log is a file and a position in it, or a set of GTIDs")
    found = server.at(str(file), int(place))
    check(found, server, connection)
    if server.mariadb:
        found = found._replace(gtids=server.gtids(connection, found.file, found.offset))
    return found


def check(position: Position, server: Server, connection: Any) -> None:
    """:raises PositionLost: the log of the server does not have a place."""
    sizes = dict(server.files(connection))
    if position.file not in sizes:
        first = next(iter(sizes), "nothing")
        raise gone(server, position, f"it begins with {first}")
    # Behind a transaction of GBs the next one is in the next file.
    if position.offset > sizes[position.file] and position.offset < 1 << 32:
        raise gone(server, position, f"{position.file} has {sizes[position.file]} bytes: it is another file by now")


def after_gtids(gtids: str, server: Server, connection: Any, open_stream: Open, life: int = 0) -> Position:
    """The first transaction that is not in a set.

    :raises PositionLost: the server has no log any more of one that is not in the set.
    """
    end = server.position(connection, life)
    stream = open_stream(Begin(gtids=gtids))
    at = Transactions("", FIRST, None, lambda name: iter(()))
    try:
        for event in _all(stream):
            for _ in at.steps(event):
                pass
            if event.kind in (kinds.GTID, kinds.ANONYMOUS_GTID, kinds.TAGGED_GTID, kinds.MARIADB_GTID):
                return server.at(at.file, at.offset, gtids, life)
            if event.kind == kinds.HEARTBEAT and (at.file, event.end) >= (end.file, end.offset):
                return end._replace(gtids=gtids)
    except LogRefused as error:
        if error.is_gone:
            raise gone(server, gtids, error.message) from None
        raise server.refused_log(error.code, error.message) from None
    finally:
        stream.close()
    return end


def _at_time(milliseconds: int, server: Server, connection: Any, open_stream: Open) -> Position:
    """The first transaction that ran at a time or later; times of the log have seconds."""
    end = server.position(connection)
    files = [name for name, _ in server.files(connection)]
    begins = next((file for file in reversed(files) if _made(file, open_stream) * 1000 <= milliseconds), files[0])
    stream = open_stream(Begin(begins, FIRST))
    at = Transactions(begins, FIRST, None, lambda name: iter(()))
    try:
        for event in _all(stream):
            for _ in at.steps(event):
                pass
            here = server.at(at.file, at.offset)
            if here >= end:
                break
            is_first = event.kind in (kinds.GTID, kinds.ANONYMOUS_GTID, kinds.TAGGED_GTID, kinds.MARIADB_GTID)
            if is_first and event.time * 1000 >= milliseconds:
                gtids = server.gtids(connection, here.file, here.offset) if server.mariadb else ""
                return here._replace(gtids=gtids)
    finally:
        stream.close()
    return end


def _made(file: str, open_stream: Open) -> int:
    """When a file of the log was begun."""
    stream = open_stream(Begin(file, FIRST))
    try:
        return next((event.time for event in _all(stream) if event.kind == kinds.FORMAT), 0)
    finally:
        stream.close()


def _all(stream: LogStream) -> Iterator[Event]:
    """:raises LogConnectionLost: nothing comes."""
    last = time.monotonic()
    while time.monotonic() - last < _SECONDS:
        for event in stream.events(1.0):
            last = time.monotonic()
            yield event
    raise LogConnectionLost("the server says nothing of its log")
