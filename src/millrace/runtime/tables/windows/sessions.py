"""Session windows of each key: rows that are no further apart than the gap, in any order of arrival."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple, TypeVar

import numpy as np

from millrace.relational.rows import Rows
from millrace.runtime.tables.columns.keys import Ids
from millrace.runtime.tables.columns.window_times import passed
from millrace.runtime.tables.windows.firing import FiringOperator
from millrace.runtime.tables.windows.window_config import TimedWindows
from millrace.runtime.tables.windows.window_table import without_null_times

C = TypeVar("C", bound=TimedWindows)
SESSIONS = "sessions"
"""name of the state with open sessions"""


class Session(NamedTuple):
    """An open session of a key. Times are local (ms)."""

    id: int
    """its start when it began, which identifies it among the key's open sessions"""
    start: int
    end: int
    """time of its last row plus the gap"""
    content: Any


class Sessions(ABC):
    """The open sessions of all keys."""

    @abstractmethod
    def restored(self) -> None:
        """The state was restored, from an earlier copy or from other subtasks."""

    @abstractmethod
    def add(self, rows: Rows, times: Ids) -> None:
        """Add rows that are not late, at least one."""

    @abstractmethod
    def hopeful(self, rows: Rows, late: Any) -> Any:
        """Which late rows may belong to an open session, as numpy Booleans; a few that don't may be included."""

    @abstractmethod
    def finds(self, row: Rows, time: int) -> bool:
        """Whether there is an open session for a row."""

    @abstractmethod
    def fire_until(self, time: int) -> None:
        """Emit the sessions that have ended at ``time`` (ms)."""

    @abstractmethod
    def next_end(self) -> int | None:
        """When the next session ends (ms); None: there is none."""

    @abstractmethod
    def forget(self) -> None:
        """Drop all open sessions; they never fire."""


class SessionOperator(FiringOperator[C]):
    """The base of operators on session windows. As in Flink, rows exactly one gap apart are in one session."""

    keys: tuple[int, ...]
    """indexes of the key columns, set in ``setup``"""
    sessions: Sessions
    """set in ``setup``"""

    def plan(self) -> None:
        self.sessions.restored()

    # -- rows come in ---------------------------------------------------------------------------------------------

    def receive(self, rows: Rows, input: int) -> None:
        time = self.config.time
        if time is None:
            now = self.context.clock()
            self.fire_until(now)
            self._add(rows, np.full(len(rows), self._clock.time(now), np.int64))
            return
        rows = without_null_times(rows, time, self._without_time)
        times = self._clock.times(rows.batch.column(time))
        late = passed(times + self.config.window.size, self._clock, self.watermark)
        if late.any():
            wanted = ~late | self.sessions.hopeful(rows, late)
            self._late.inc(len(rows) - int(wanted.sum()))
            rows, times, late = rows.where(wanted), times[wanted], late[wanted]
        if not late.any():
            self._add(rows, times)
            return
        # A late row still counts if there is an open session for it, so the order of arrival matters.
        cuts = np.flatnonzero(late[1:] | late[:-1]) + 1
        for part in np.split(np.arange(len(rows)), cuts):
            if not late[part[0]] or self.sessions.finds(rows.take(part), int(times[part[0]])):
                self._add(rows.take(part), times[part])
            else:
                self._late.inc()

    def _add(self, rows: Rows, times: Ids) -> None:
        if len(rows):
            self.sessions.add(rows, times)

    # -- sessions end ---------------------------------------------------------------------------------------------

    def next_end(self) -> int | None:
        return self.sessions.next_end()

    def forget_open_windows(self) -> None:
        self.sessions.forget()

    def fire_until(self, time: int) -> None:
        self.sessions.fire_until(time)


def pieces_of(ids: Ids, times: Ids, gap: int) -> tuple[Ids, Ids, Ids, Ids]:
    """Divide rows into pieces of rows within one gap: (piece of each row, key, start and end of each piece), by key and
    time.

    :param ids: the key of each row.
    """
    order = np.lexsort((times, ids))
    keys, ordered = ids[order], times[order]
    begins = np.ones(len(order), bool)
    begins[1:] = (keys[1:] != keys[:-1]) | (ordered[1:] - ordered[:-1] > gap)
    firsts = np.flatnonzero(begins)
    pieces = np.empty(len(order), np.int64)
    pieces[order] = np.cumsum(begins) - 1
    return pieces, keys[firsts], ordered[firsts], ordered[np.append(firsts[1:], len(order)) - 1] + gap
