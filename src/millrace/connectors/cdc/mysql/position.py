"""``Position``: a place in the binary log that a reader can go on from, and that changes can be compared by."""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["Mark", "Position"]


class Position(NamedTuple):
    """Behind the ``event``-th event of the transaction that begins at ``offset`` of a file. They have an order.

    A server can only be asked for a log from where a transaction begins, so what has been read of it is counted: events
    that change rows or tables, of any table, so that the numbers do not depend on what is captured. 0: nothing of it.
    An event is delivered as a whole: servers put some KB of rows into one, or a single row.
    """

    life: int
    """how often the capture has gone on at another server; places of one server only can be compared"""
    number: int
    """of the file, which its name ends with"""
    offset: int
    event: int = 0
    file: str = ""
    server: str = ""
    """which server's log this is"""
    gtids: str = ""
    """all transactions before this one; empty: the server does not count them, or it is not known"""

    def __str__(self) -> str:
        return f"{self.file}:{self.offset}" + (f" event {self.event}" if self.event else "")


class Mark(NamedTuple):
    """Where a change is in the log; compares with ``Position``."""

    life: int
    number: int
    offset: int
    event: int
    file: str
    server_id: int
    gtid: str


def file_number(name: str) -> int:
    """:raises ValueError: it is no name of a file of a binary log."""
    match = re.search(r"\.(\d+)$", name)
    if match is None:
        raise ValueError(f"'{name}' is no name of a file of a binary log: those end with a number")
    return int(match[1])
