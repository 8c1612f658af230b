"""A connection of a writer that stays open from epoch to epoch."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Generic, Protocol, TypeVar


class Closeable(Protocol):
    def close(self) -> None: ...


C = TypeVar("C", bound=Closeable)


class KeptConnection(Generic[C]):
    """Opened when it is first used. One that fails at its first use after ``settled``, because the other side has
    closed it meanwhile, is replaced once."""

    def __init__(self, connect: Callable[[], C]) -> None:
        self._connect = connect
        self._connection: C | None = None
        self._proven = False
        """whether it has done something that is not settled"""

    def use(self, work: Callable[[C], None]) -> None:
        aged = self._connection is not None and not self._proven
        if self._connection is None:
            self._connection = self._connect()
        try:
            work(self._connection)
        except Exception:
            if not aged:
                raise
            with suppress(Exception):
                self.close()
            self._connection = self._connect()
            work(self._connection)
        self._proven = True

    def settled(self) -> C | None:
        """The connection, if it was used since the last call: what it has done shall be for good now."""
        used, self._proven = self._proven, False
        return self._connection if used else None

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
