"""Positions in a binary log: ``Position``, which orders changes and which a reader resumes from, and sets of GTIDs.

MySQL knows sets of transactions for each source, MariaDB the last transaction of each domain. Positions are stored in
checkpoints.
"""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass, field
from typing import NamedTuple

_MYSQL = re.compile(r"([0-9a-fA-F]{8}(?:-?[0-9a-fA-F]{4}){3}-?[0-9a-fA-F]{12})((?::\d+(?:-\d+)?)+)")
_MARIADB = re.compile(r"(\d+)-(\d+)-(\d+)")


@dataclass
class MySqlGtids:
    """What a server of MySQL has executed: of each source the numbers of its transactions, in ranges with both ends."""

    ranges: dict[str, list[tuple[int, int]]] = field(default_factory=dict)

    @staticmethod
    def parse(text: str) -> MySqlGtids:
        """:raises ValueError: no such set; those with tags (since MySQL 8.3) are not known here."""
        found = MySqlGtids()
        for part in filter(None, re.split(r"[,\s]+", text.strip())):
            match = _MYSQL.fullmatch(part)
            if match is None:
                raise ValueError(f"'{part}' is no GTID of MySQL (those with tags are not known here)")
            for each in match[2][1:].split(":"):
                first, _, last = each.partition("-")
                found.add(match[1], int(first), int(last or first))
        return found

    def add(self, source: str, first: int, last: int | None = None) -> None:
        """A transaction, or a range of them."""
        last = first if last is None else last
        if last < first or first < 1:
            raise ValueError(f"{first}-{last} is no range of transactions")
        ranges = self.ranges.setdefault(str(uuid.UUID(source)), [])
        if ranges and first == ranges[-1][1] + 1:
            ranges[-1] = (ranges[-1][0], last)
            return
        merged: list[tuple[int, int]] = []
        for begin, end in sorted([*ranges, (first, last)]):
            if merged and begin <= merged[-1][1] + 1:
                merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
            else:
                merged.append((begin, end))
        ranges[:] = merged

    def has(self, source: str, number: int) -> bool:
        return any(first <= number <= last for first, last in reversed(self.ranges.get(source, ())))

    def covers(self, other: MySqlGtids) -> bool:
        """Whether all of another set is in this one."""
        return all(
            any(begin <= first and last <= end for begin, end in self.ranges.get(source, []))
            for source, ranges in other.ranges.items()
            for first, last in ranges
        )

    def encoded(self) -> bytes:
        """The set in the binary form of COM_BINLOG_DUMP_GTID, in which ranges have exclusive ends."""
        parts = [len(self.ranges).to_bytes(8, "little")]
        for source, ranges in sorted(self.ranges.items()):
            parts += [uuid.UUID(source).bytes, len(ranges).to_bytes(8, "little")]
            parts += [number.to_bytes(8, "little") for first, last in ranges for number in (first, last + 1)]
        return b"".join(parts)

    def __str__(self) -> str:
        return ",".join(
            ":".join([source, *(f"{first}-{last}" if last > first else str(first) for first, last in ranges)])
            for source, ranges in sorted(self.ranges.items())
        )


@dataclass
class MariaDbGtids:
    """The last transaction of each domain: domain -> (server, number)."""

    last: dict[int, tuple[int, int]] = field(default_factory=dict)

    @staticmethod
    def parse(text: str) -> MariaDbGtids:
        """:raises ValueError: no such position."""
        found = MariaDbGtids()
        for part in filter(None, (each.strip() for each in text.split(","))):
            match = _MARIADB.fullmatch(part)
            if match is None:
                raise ValueError(f"'{part}' is no GTID of MariaDB: domain-server-number")
            found.add(*map(int, match.groups()))
        return found

    def add(self, domain: int, server: int, number: int) -> None:
        self.last[domain] = (server, number)

    def __str__(self) -> str:
        return ",".join(f"{domain}-{server}-{number}" for domain, (server, number) in sorted(self.last.items()))


Gtids = MySqlGtids | MariaDbGtids


class Position(NamedTuple):
    """The position after ``event`` events of the transaction that begins at ``offset`` of a file. Positions are
    ordered.

    A server sends its log only from the beginning of a transaction, so the events that were read of it are counted:
    events that change rows or tables, of any table, so that the number does not depend on which tables are captured. 0:
    none. An event is delivered as a whole: servers put some KB of rows into one, or a single row.
    """

    life: int
    """how often the capture has gone on at another server; places of one server only can be compared"""
    number: int
    """number at the end of the log file's name"""
    offset: int
    event: int = 0
    file: str = ""
    server: str = ""
    """UUID or id of the server that wrote the log"""
    gtids: str = ""
    """GTIDs of all transactions before this one; empty: the server does not use GTIDs, or they are unknown"""

    def __str__(self) -> str:
        return f"{self.file}:{self.offset}" + (f" event {self.event}" if self.event else "")


class Mark(NamedTuple):
    """The position of a change in the log; comparable with ``Position``."""

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
