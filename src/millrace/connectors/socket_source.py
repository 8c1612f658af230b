"""Reads text or bytes that a server sends over TCP, cut at a delimiter. A socket cannot be read again: after a
failure reading goes on with the data that comes then."""

from __future__ import annotations

import select
import socket
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from millrace.common.files.file_access import BEGINNING, record_limit, too_large
from millrace.common.source import Boundedness, Source, SourceReader, SourceReaderContext, SplitEnumeratorContext
from millrace.common.typeinfo import TypeInformation, Types
from millrace.connectors.source_base import QueueEnumerator
from millrace.connectors.split_reader import SourceReaderBase, SplitBatch, SplitReader

T = TypeVar("T")

CONNECT_SECONDS = 30.0
RETRY_SECONDS = 0.5
RECEIVE_BYTES = 64 * 1024


@dataclass(frozen=True)
class SocketSplit:
    """The connection. It has no position: a socket can't be read again."""

    split_id: str = "socket"


@dataclass(frozen=True)
class Server:
    """The address of the server, and the delimiter of its messages."""

    hostname: str
    port: int
    delimiter: bytes
    max_retry: int = 0
    """how often to try to connect, at least once; -1: without limit"""

    def __post_init__(self) -> None:
        if not 0 < self.port < 65_536:
            raise ValueError(f"a port is in 1..65535, not {self.port}")
        if self.max_retry < -1:
            raise ValueError(f"max_retry is at least 0, or -1 for ever, not {self.max_retry}")
        if not self.delimiter:
            raise ValueError("the delimiter of a socket stream must not be empty")


class SocketSource(Source[T, SocketSplit], ABC, Generic[T]):
    """Connects to a server and reads from one subtask.

    When the server closes the connection, the rest without a delimiter is the last message, and the source ends;
    with ``max_retry`` it connects again before, so many times less one, -1 for ever. A server that can't be reached
    fails the job. At most once: what was sent to a task that failed is lost.
    """

    server: Server

    @abstractmethod
    def records(self, messages: list[bytes]) -> list[T]:
        """The elements of messages. Called in a thread of the reader."""

    def check_large(self) -> None:
        """A message is larger than a record may be.

        :raises ValueError: it is not left out.
        """
        raise ValueError(f"{self.server.hostname}:{self.server.port}: {too_large('a message', record_limit())}")

    def set_aside(self, beginning: bytes, length: int) -> None:
        """The beginning of a message that is too large, and how many bytes it has; called at its end."""

    def get_boundedness(self) -> Boundedness:
        return Boundedness.CONTINUOUS_UNBOUNDED

    def create_enumerator(
        self, context: SplitEnumeratorContext[SocketSplit], checkpoint: Sequence[SocketSplit] | None = None
    ) -> QueueEnumerator[SocketSplit]:
        return QueueEnumerator(context, [SocketSplit()] if checkpoint is None else checkpoint)

    def create_reader(self, context: SourceReaderContext) -> SourceReader[T, SocketSplit]:
        return SourceReaderBase(lambda: _Reader(self))


class _Reader(SplitReader[Any, SocketSplit]):
    """Waits for a message, or to be woken up."""

    def __init__(self, source: SocketSource[Any]) -> None:
        self._source = source
        self._server = source.server
        self._split = SocketSplit()
        self._connection: socket.socket | None = None
        self._rest = b""
        self._limit = record_limit()
        self._large: tuple[bytes, int] | None = None
        """the beginning of a message over the size limit whose end has not come, and how many of its bytes were
        dropped"""
        self._attempt = 0
        self._woken, self._wakes = socket.socketpair()
        self._wakes.setblocking(False)

    def handle_splits_changes(self, added: Sequence[SocketSplit]) -> None:
        (self._split,) = added

    def fetch(self) -> list[SplitBatch[Any, SocketSplit]]:
        if self._connection is None:
            self._connection = self._connect()
        if not self._readable(self._connection):
            return []
        content = self._connection.recv(RECEIVE_BYTES)
        if content:
            *messages, self._rest = (self._rest + content).split(self._server.delimiter)
            if self._large is not None and messages:
                self._end_large(messages.pop(0))
            if len(self._rest) > self._limit or self._large is not None:
                self._drop_rest()
            return [self._batch(messages, self._split)]
        self._disconnect()
        return self._lost()

    def _drop_rest(self) -> None:
        """The message that has begun is too large: of what is there only what may begin its delimiter stays."""
        beginning, length = self._large or (self._rest[:BEGINNING], 0)
        if self._large is None:
            self._source.check_large()
        kept = len(self._server.delimiter) - 1
        dropped = len(self._rest) - kept
        self._large = beginning, length + max(0, dropped)
        self._rest = self._rest[max(0, dropped) :]

    def _end_large(self, rest: bytes) -> None:
        assert self._large is not None
        (beginning, length), self._large = self._large, None
        self._source.set_aside(beginning, length + len(rest))

    def _connect(self) -> socket.socket:
        host, port = self._server.hostname, self._server.port
        try:
            return socket.create_connection((host, port), CONNECT_SECONDS)
        except OSError as error:
            raise ConnectionError(f"no connection to {host}:{port}: {error}") from error

    def _readable(self, *connection: socket.socket, seconds: float | None = None) -> bool:
        poll = select.poll()
        for each in (*connection, self._woken):
            poll.register(each, select.POLLIN)
        ready = {descriptor for descriptor, _ in poll.poll(None if seconds is None else seconds * 1000)}
        if self._woken.fileno() in ready:
            self._woken.recv(RECEIVE_BYTES)
        return any(each.fileno() in ready for each in connection)

    def _lost(self) -> list[SplitBatch[Any, SocketSplit]]:
        """The server has closed the connection."""
        self._attempt += 1
        if self._server.max_retry == -1 or self._attempt < self._server.max_retry:
            self._readable(seconds=RETRY_SECONDS)
            return []
        rest, self._rest = self._rest, b""
        if self._large is not None:
            self._end_large(rest)
            rest = b""
        return [self._batch([rest] if rest else [], None)]

    def _batch(self, messages: list[bytes], left: SocketSplit | None) -> SplitBatch[Any, SocketSplit]:
        size = sum(map(len, messages))
        return SplitBatch(self._split.split_id, self._source.records(messages), left, size=size)

    def wake_up(self) -> None:
        try:
            self._wakes.send(b"!")
        except OSError:
            return  # the socket's buffer is full of earlier calls, or the socket is closed

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def close(self) -> None:
        self._disconnect()
        self._woken.close()
        self._wakes.close()


class SocketTextSource(SocketSource[str]):
    """UTF-8 text from ``hostname:port``; see ``SocketSource``."""

    def __init__(self, hostname: str, port: int, delimiter: str = "\n", max_retry: int = 0) -> None:
        self.server = Server(hostname, port, delimiter.encode(), max_retry)

    def records(self, messages: list[bytes]) -> list[str]:
        texts = [message.decode("utf-8", "replace") for message in messages]
        return [text.removesuffix("\r") for text in texts] if self.server.delimiter == b"\n" else texts

    def get_produced_type(self) -> TypeInformation | None:
        return Types.STRING()
