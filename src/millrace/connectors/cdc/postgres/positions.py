"""Places in PostgreSQL's log, and what a snapshot has seen of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from millrace.connectors.cdc.seen import Seen

__all__ = ["LogPosition", "Mark", "SnapshotSeen", "lsn_number", "lsn_text"]

_HALF, _WHOLE = 1 << 31, 1 << 32


class LogPosition(NamedTuple):
    """Behind a transaction, and perhaps some rows of the one that follows.

    A slot gives whole transactions in the order of their commits, and a transaction's changes always in the same order.

    :ivar lsn: the end of the last transaction that was read to its end.
    :ivar rows: changes of rows of the next one that were read, of whichever table.
    """

    lsn: int
    rows: int = 0


class Mark(NamedTuple):
    """Which transaction a change belongs to."""

    xid: int
    commit: int
    """where its commit is written"""


@dataclass(frozen=True)
class SnapshotSeen(Seen):
    """The transactions that a snapshot sees, exactly: of those below ``xmax`` all that had ended when it was taken.

    Positions would not do: a transaction is seen a moment after its commit was written, and with synchronous replicas
    much later.

    :ivar high: a place in the log behind the snapshot: whatever is committed there is not seen.
    """

    xmin: int
    xmax: int
    running: frozenset[int]
    high: int

    @staticmethod
    def of(text: str, high: int) -> SnapshotSeen:
        """:param text: what ``pg_current_snapshot()`` says."""
        xmin, xmax, running = text.split(":")
        return SnapshotSeen(int(xmin), int(xmax), frozenset(map(int, filter(None, running.split(",")))), high)

    def contains(self, mark: Mark) -> bool:
        if mark.commit >= self.high:
            return False
        # The log has the lower half of the number.
        distance = (mark.xid - self.xmax) % _WHOLE
        xid = self.xmax + (distance - _WHOLE if distance >= _HALF else distance)
        return xid < self.xmax and xid not in self.running

    def passed(self, position: LogPosition) -> bool:
        return position.lsn >= self.high


def lsn_number(text: str) -> int:
    """``0/16B3748`` as a number. :raises ValueError: it is none."""
    high, slash, low = text.partition("/")
    if not slash:
        raise ValueError(f"'{text}' is no place in PostgreSQL's log: two hexadecimal numbers with a slash between")
    return (int(high, 16) << 32) + int(low, 16)


def lsn_text(number: int) -> str:
    return f"{number >> 32:X}/{number & 0xFFFFFFFF:X}"
