"""``Transactions``: follows the events of a binary log, transaction by transaction. Transactions that were rolled back
are dropped.

The rows of an XA transaction are in the log where it was prepared: ``PreparedReader`` reads them once it is committed.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from millrace.connectors.cdc.mysql import binlog_stream
from millrace.connectors.cdc.mysql.binlog_position import Gtids, MySqlGtids, file_number
from millrace.connectors.cdc.mysql.binlog_stream import (
    FIRST,
    Begin,
    Event,
    LogConnectionLost,
    LogStream,
    events_within,
    mariadb_plain,
    transaction_plain,
)

_STANDALONE, _PREPARED = 0x01, 0x40
_BEGINS = frozenset(
    (binlog_stream.GTID, binlog_stream.ANONYMOUS_GTID, binlog_stream.TAGGED_GTID, binlog_stream.MARIADB_GTID)
)
_QUERIES = frozenset((binlog_stream.QUERY, binlog_stream.MARIADB_QUERY_COMPRESSED, binlog_stream.EXECUTE_LOAD))
_XA = re.compile(r"XA (START|END|COMMIT|ROLLBACK) (X'[0-9a-f]*',X'[0-9a-f]*',-?\d+)")
_BEGIN = re.compile(r"BEGIN\s*$", re.IGNORECASE)
_END = re.compile(r"(COMMIT|ROLLBACK)\s*(/\*.*)?$", re.IGNORECASE | re.DOTALL)
_NOTHING = re.compile(r"(XA|SAVEPOINT|ROLLBACK TO|RELEASE SAVEPOINT|FLUSH|SET|#)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Statement:
    """A statement as text, which in a log of rows is one that changes a table and not its rows."""

    database: str
    text: str


@dataclass(frozen=True)
class Step:
    """An event that happened. :ivar number: among those of its transaction; 0 for the descriptions of tables."""

    number: int
    event: Event
    statement: Statement | None = None


@dataclass
class Transactions:
    """Follows the events of one stream. ``offset`` and ``gtids`` say where it is: at the beginning of a transaction,
    and all that is before.

    Rows of an XA transaction are in the log when it is prepared. They happen when it is committed, if ever: then they
    are read again, from where they are.

    :ivar replay: gives the steps of the prepared transaction with a name, from the log.
    :ivar forgets: prepared transactions that are over.
    """

    file: str
    offset: int
    gtids: Gtids | None
    replay: Callable[[str], Iterator[Step]]
    prepared: dict[str, tuple[str, int]] = field(default_factory=dict)
    """name -> position (file, offset) of a transaction that was prepared since this object was made, for ``replay``"""
    forgets: bool = True
    count: int = 0
    """steps of the current transaction so far"""
    gtid: str = ""
    _is_open: bool = False
    _waits: bool = False

    def steps(self, event: Event) -> Iterator[Step]:
        """What an event does. :raises ValueError: it means that the log is not whole."""
        kind = event.kind
        if kind == binlog_stream.ROTATE:
            self.file, self.offset, self.count = event.body[8:].decode(), int.from_bytes(event.body[:8], "little"), 0
        elif kind == binlog_stream.HEARTBEAT:
            if event.body.decode() == self.file and not self.count:
                self.offset = max(self.offset, event.end)
        elif not event.is_made_up and kind != binlog_stream.HEARTBEAT_V2:
            yield from self._logged(event)

    def _logged(self, event: Event) -> Iterator[Step]:
        kind = event.kind
        if kind in _BEGINS:
            self._begin(event)
        elif kind == binlog_stream.TRANSACTION_PAYLOAD:
            for each in events_within(transaction_plain(event.body)):
                yield from self._within(each)
            self._end(event)
        elif kind == binlog_stream.INCIDENT:
            raise ValueError("the server says that its log is not whole here (an incident): take a new snapshot")
        elif kind in (binlog_stream.FORMAT, binlog_stream.STOP):
            self.offset = max(self.offset, event.end)
        else:
            yield from self._within(event)
            if kind in (binlog_stream.XID, binlog_stream.XA_PREPARE) or (kind in _QUERIES and not self._is_open):
                self._end(event)

    def _within(self, event: Event) -> Iterator[Step]:
        """An event of a transaction."""
        kind = event.kind
        if kind == binlog_stream.TABLE_MAP:
            if not self._waits:
                yield Step(0, event)
        elif kind in binlog_stream.ROWS:
            if not self._waits:
                self.count += 1
                yield Step(self.count, event)
        elif kind == binlog_stream.PARTIAL_UPDATE:
            raise ValueError(
                "the log has parts of JSON values only: set binlog_row_value_options = '' for all sessions"
            )
        elif kind in _QUERIES:
            yield from self._statement(event)
        elif kind == binlog_stream.XA_PREPARE:
            name, at_once = _prepared(event.body)
            self.prepared[name] = (self.file, self.offset)
            if at_once:
                yield from self._replayed(name)

    def _statement(self, event: Event) -> Iterator[Step]:
        statement = statement_of(event)
        text = statement.text
        if xa := _XA.match(text):
            if xa[1] == "START":
                self._is_open = self._waits = True
            elif xa[1] == "COMMIT":
                yield from self._replayed(xa[2])
            elif xa[1] == "ROLLBACK":
                self._forget(xa[2])
        elif _BEGIN.match(text):
            self._is_open = True
        elif _END.match(text):
            self._is_open = False
        elif not _NOTHING.match(text) and not self._waits:
            self.count += 1
            yield Step(self.count, event, statement)

    def _replayed(self, name: str) -> Iterator[Step]:
        for step in self.replay(name):
            if step.number:
                self.count += 1
                step = Step(self.count, step.event, step.statement)
            yield step
        self._forget(name)

    def _forget(self, name: str) -> None:
        if self.forgets:
            self.prepared.pop(name, None)

    def _begin(self, event: Event) -> None:
        self.offset, self.count, body = self._behind(event) - event.size, 0, event.body
        # MySQL says with the first statement whether there are others.
        self._is_open = self._waits = False
        self.gtid = ""
        if event.kind == binlog_stream.MARIADB_GTID:
            number, domain = int.from_bytes(body[:8], "little"), int.from_bytes(body[8:12], "little")
            self.gtid = f"{domain}-{event.server}-{number}"
            self._is_open, self._waits = not body[12] & _STANDALONE, bool(body[12] & _PREPARED)
        elif event.kind == binlog_stream.GTID:
            source, number = str(uuid.UUID(bytes=body[1:17])), int.from_bytes(body[17:25], "little")
            self.gtid = f"{source}:{number}"
            # Sets may have gaps: what is behind the place where they begin may be in them all the same.
            self._waits = isinstance(self.gtids, MySqlGtids) and self.gtids.has(source, number)
        elif event.kind == binlog_stream.TAGGED_GTID:
            self.gtids = None  # they are not known any more

    def _end(self, event: Event) -> None:
        self.offset, self.count, self._is_open, self._waits = self._behind(event), 0, False, False
        if self.gtid and self.gtids is not None:
            _add(self.gtids, self.gtid)
        self.gtid = ""

    def _behind(self, event: Event) -> int:
        """Where an event ends; the log has only the low bits of it, which a large transaction may exceed."""
        return event.end if event.end >= self.offset else event.end + (1 << 32)


def _add(gtids: Gtids, gtid: str) -> None:
    if isinstance(gtids, MySqlGtids):
        source, _, number = gtid.rpartition(":")
        gtids.add(source, int(number))
    else:
        gtids.add(*map(int, gtid.split("-")))


def prepared_steps(event: Event) -> Iterator[Step | None]:
    """What one event does of a prepared transaction that is read again; None: it is over."""
    if event.kind == binlog_stream.TABLE_MAP:
        yield Step(0, event)
    elif event.kind in binlog_stream.ROWS:
        yield Step(1, event)
    elif event.kind == binlog_stream.TRANSACTION_PAYLOAD:
        for each in events_within(transaction_plain(event.body)):
            yield from prepared_steps(each)
    elif event.kind == binlog_stream.XA_PREPARE:
        yield None


def statement_of(event: Event) -> Statement:
    """The statement that a QUERY event has."""
    body = event.body
    size = body[8]
    # LOAD DATA has 13 more bytes: which file was loaded.
    begin = (26 if event.kind == binlog_stream.EXECUTE_LOAD else 13) + int.from_bytes(body[11:13], "little")
    database, text = body[begin : begin + size], body[begin + size + 1 :]
    if event.kind == binlog_stream.MARIADB_QUERY_COMPRESSED:
        text = mariadb_plain(text)
    return Statement(database.decode(), text.decode(errors="surrogateescape"))


def _prepared(body: bytes) -> tuple[str, bool]:
    """The name of a prepared transaction as statements have it, and whether it is committed at once."""
    at_once, form = bool(body[0]), int.from_bytes(body[1:5], "little", signed=True)
    size = int.from_bytes(body[5:9], "little")
    data = body[13:]
    first, second = data[:size], data[size : size + int.from_bytes(body[9:13], "little")]
    return xa_name(first, second, form), at_once


def xa_name(first: bytes, second: bytes, form: int) -> str:
    return f"X'{first.hex()}',X'{second.hex()}',{form}"


_SECONDS = 60.0
"""The most seconds to wait for events of a part of the log that is known to have some."""
Place = tuple[str, int]


@dataclass(frozen=True)
class PreparedReader:
    """:ivar open: another stream of the log. :ivar files: the names of its files, oldest first."""

    open: Callable[[Begin], LogStream]
    files: Callable[[], list[str]]

    def steps(self, name: str, where: Place | None, until: Place) -> Iterator[Step]:
        """The steps of a transaction.

        :param where: it begins; None: it was prepared before anybody looked, and is searched for from here back.
        :param until: where its commit is.
        :raises ValueError: the log has it no more.
        """
        where = where or self._found(name, until)
        stream = self.open(Begin(*where))
        try:
            for event in _until_heartbeat(stream):
                for step in prepared_steps(event):
                    if step is None:
                        return
                    yield step
        finally:
            stream.close()

    def _found(self, name: str, until: Place) -> Place:
        for file in reversed(self.files()):
            found = self._in_file(name, file, until)
            if found is not None:
                return found
        raise ValueError(
            f"transaction {name} was prepared (XA) before the log begins that the server still has, and committed now: "
            f"take a new snapshot"
        )

    def _in_file(self, name: str, file: str, until: Place) -> Place | None:
        if file_number(file) > file_number(until[0]):
            return None
        stream = self.open(Begin(file, FIRST))
        scan = Transactions(file, FIRST, None, lambda name: iter(()), forgets=False)
        try:
            for event in _until_heartbeat(stream):
                for _ in scan.steps(event):
                    pass
                if scan.file != file or (file == until[0] and scan.offset >= until[1]):
                    return scan.prepared.get(name)
        finally:
            stream.close()
        return None


def _until_heartbeat(stream: LogStream) -> Iterator[Event]:
    while True:
        nothing = True
        for event in stream.events(_SECONDS):
            nothing = False
            yield event
            if event.kind == binlog_stream.HEARTBEAT:
                return  # the log ends here
        if nothing:
            raise LogConnectionLost("the server says nothing of a prepared transaction")
