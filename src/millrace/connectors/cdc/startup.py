"""``StartupOptions``: where capturing begins."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

__all__ = ["StartupMode", "StartupOptions"]


class StartupMode(enum.Enum):
    """The values are those of 'scan.startup.mode'."""

    INITIAL = "initial"
    EARLIEST_OFFSET = "earliest-offset"
    LATEST_OFFSET = "latest-offset"
    COMMITTED_OFFSETS = "committed-offset"
    SPECIFIC_OFFSETS = "specific-offset"
    TIMESTAMP = "timestamp"
    SNAPSHOT = "snapshot"


@dataclass(frozen=True)
class StartupOptions:
    """A mode and what it needs.

        >>> StartupOptions.initial().has_snapshot, StartupOptions.latest().has_snapshot
        (True, False)

    :ivar offset: of SPECIFIC_OFFSETS, in the database's own form.
    :ivar timestamp: of TIMESTAMP, ms since 1970.
    """

    mode: StartupMode = StartupMode.INITIAL
    offset: Any = None
    timestamp: int | None = None

    @property
    def has_snapshot(self) -> bool:
        """Whether the rows are read that are there."""
        return self.mode in (StartupMode.INITIAL, StartupMode.SNAPSHOT)

    @property
    def has_log(self) -> bool:
        """Whether the log of changes is read."""
        return self.mode is not StartupMode.SNAPSHOT

    @staticmethod
    def initial() -> StartupOptions:
        """The rows that are there, then the log."""
        return StartupOptions()

    @staticmethod
    def snapshot() -> StartupOptions:
        """The rows that are there, and no more."""
        return StartupOptions(StartupMode.SNAPSHOT)

    @staticmethod
    def latest() -> StartupOptions:
        """The log from now on."""
        return StartupOptions(StartupMode.LATEST_OFFSET)

    @staticmethod
    def earliest() -> StartupOptions:
        """The log as far back as it goes."""
        return StartupOptions(StartupMode.EARLIEST_OFFSET)

    @staticmethod
    def committed_offset() -> StartupOptions:
        """The log from where the server knows that an earlier job was."""
        return StartupOptions(StartupMode.COMMITTED_OFFSETS)

    @staticmethod
    def specific_offset(*offset: Any) -> StartupOptions:
        """The log from a place of it: a file and a position, or one value in the database's own form."""
        return StartupOptions(StartupMode.SPECIFIC_OFFSETS, offset=offset[0] if len(offset) == 1 else offset)

    @staticmethod
    def timestamp_millis(timestamp: int) -> StartupOptions:
        """The log from a time on."""
        return StartupOptions(StartupMode.TIMESTAMP, timestamp=timestamp)
