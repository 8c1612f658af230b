"""What of a MySQL or MariaDB is captured, and how."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from millrace.connectors.cdc.schema import TableId
from millrace.connectors.jdbc.dialects.target import Target

__all__ = ["MySqlSettings", "parse_server_ids"]

_MOST = (1 << 32) - 1


@dataclass(frozen=True)
class MySqlSettings:
    """Where, which tables, and who this reader is for the server.

    :ivar databases: regular expressions; :ivar tables: regular expressions of ``database.table``. Each has to match the
        whole name.
    :ivar server_ids: the first and the last of the numbers that are this capture's alone among all that read logs of
        the server; None: any.
    :ivar zone: of the server, for its TIMESTAMP and DATETIME where they are read as the other kind.
    :ivar heartbeat: seconds after which the server says that nothing happens.
    :ivar retries: how often a connection that is lost is tried again.
    :ivar new_tables: whether tables are captured that are made later, from their first row on.
    """

    target: Target
    databases: tuple[str, ...]
    tables: tuple[str, ...]
    server_ids: tuple[int, int] | None = None
    zone: str = "UTC"
    heartbeat: float = 30.0
    retries: int = 3
    new_tables: bool = False

    def __post_init__(self) -> None:
        for text in (*self.databases, *self.tables):
            try:
                re.compile(text)
            except re.error as error:
                raise ValueError(f"{text!r} is no regular expression: {error}") from None
        try:
            ZoneInfo(self.zone)
        except (ZoneInfoNotFoundError, ValueError):
            raise ValueError(f"{self.zone!r} is no time zone: 'UTC', 'Europe/Berlin' are some") from None
        if self.heartbeat < 1:
            raise ValueError(f"the heartbeat interval has to be 1 s at least, not {self.heartbeat:g} s")

    @property
    def place(self) -> str:
        return f"MySQL at {self.target.place.rstrip('/')}"

    @property
    def time_zone(self) -> ZoneInfo:
        return ZoneInfo(self.zone)

    def wants(self, table: TableId) -> bool:
        """Whether a table is captured."""
        return any(re.fullmatch(each, table.schema) for each in self.databases) and any(
            re.fullmatch(each, table.short) for each in self.tables
        )

    @property
    def log_id(self) -> int:
        """For the reader of the log: the same one always if there is a range, so that it ends one of its own that the
        server takes for alive."""
        return random.randint(1 << 20, _MOST) if self.server_ids is None else self.server_ids[0]

    @property
    def other_id(self) -> int:
        """For those who read a piece of the log in between."""
        if self.server_ids is None or self.server_ids[0] == self.server_ids[1]:
            return random.randint(1 << 20, _MOST)
        return random.randint(self.server_ids[0] + 1, self.server_ids[1])


def parse_server_ids(text: str) -> tuple[int, int]:
    """``5400`` or ``5400-5408``.

    :raises ValueError: it is neither.
    """
    match = re.fullmatch(r"\s*(\d+)\s*(?:-\s*(\d+)\s*)?", text)
    if match is None:
        raise ValueError(f"'server-id' is a number or a range like 5400-5408, not '{text}'")
    first, last = int(match[1]), int(match[2] or match[1])
    if not 0 < first <= last <= _MOST:
        raise ValueError(f"'server-id' = '{text}': numbers from 1 to {_MOST}, the smaller one first")
    return first, last
