"""Session windows of each key: rows that are no further apart than the gap, in any order of arrival."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from millrace.relational.rows import Rows
from millrace.runtime.state.address import Scoped
from millrace.runtime.tables.columns.keys import Ids, Key, group
from millrace.runtime.tables.columns.window_times import has_passed, passed
from millrace.runtime.tables.windows.firing import FiringOperator
from millrace.runtime.tables.windows.window_config import TimedWindows
from millrace.runtime.tables.windows.window_table import without_null_times

C = TypeVar("C", bound=TimedWindows)


class Session(NamedTuple):
    """An open session of a key. Times are on the wall (ms)."""

    id: int
    """its start when it began: no other open session of the key has it"""
    start: int
    end: int
    """the gap after its last row"""
    content: Any


class Fired(NamedTuple):
    key: Key
    session: Session

    @property
    def at(self) -> Scoped:
        return Scoped(self.key, self.session.id)


class SessionOperator(FiringOperator[C]):
    """State: key -> its open sessions, in order of time; a timer at the end of each. As in Flink rows that are exactly
    the gap apart are in one session. What a session has besides its content lies at ``Scoped(key, id)``."""

    keys: tuple[int, ...]
    """columns of the input, set in ``setup``"""

    def setup(self, context: Any, output: Any) -> None:
        super().setup(context, output)
        self._sessions = self.keyed_value("sessions", ttl=0)
        self._gap = self.config.window.size
        self._timers = self.backend.event_timers if self._event_time else self.backend.processing_timers

    @abstractmethod
    def empty(self) -> Any:
        """The content of a new session."""

    @abstractmethod
    def add(self, rows: Rows, ids: Ids, contents: Sequence[Any], ats: Sequence[Scoped]) -> Sequence[Any]:
        """The contents after rows were added; ``ids`` are positions in ``contents`` and ``ats``."""

    @abstractmethod
    def join(self, at: Scoped, content: Any, other: Scoped, other_content: Any) -> Any:
        """The content of a session that has taken in another one."""

    @abstractmethod
    def fire(self, fired: Sequence[Fired]) -> None:
        """These sessions are over: emit their rows, and clear what they have besides their content."""

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
        late = passed(times + self._gap, self._clock, self.watermark)
        if not late.any():
            self._add(rows, times)
            return
        # A late row still counts if there is an open session for it, so the order of arrival matters.
        cuts = np.flatnonzero(late[1:] | late[:-1]) + 1
        for part in np.split(np.arange(len(rows)), cuts):
            if not late[part[0]] or self._finds_session(rows.take(part), int(times[part[0]])):
                self._add(rows.take(part), times[part])
            else:
                self._late.inc()

    def _finds_session(self, row: Rows, time: int) -> bool:
        (key,) = group([row.batch.column(index) for index in self.keys], 1).keys
        known = self._sessions.get(key) or ()
        return any(each.start <= time + self._gap and each.end >= time for each in known)

    def _add(self, rows: Rows, times: Ids) -> None:
        if not len(rows):
            return
        grouped = group([rows.batch.column(index) for index in self.keys], len(rows))
        order = np.lexsort((times, grouped.ids))
        ids, ordered = grouped.ids[order], times[order]
        begins = np.ones(len(order), bool)
        begins[1:] = (ids[1:] != ids[:-1]) | (ordered[1:] - ordered[:-1] > self._gap)
        firsts = np.flatnonzero(begins)
        starts = ordered[firsts].tolist()
        ends = (ordered[np.append(firsts[1:], len(order)) - 1] + self._gap).tolist()
        opened: dict[Key, list[Session]] = {}
        targets: dict[Scoped, int] = {}
        target_of: list[int] = []
        for key_id, start, end in zip(ids[firsts].tolist(), starts, ends):
            key = grouped.keys[key_id]
            if key not in opened:
                opened[key] = list(self._sessions.get(key) or ())
            session = self._open(key, opened[key], start, end)
            target_of.append(targets.setdefault(Scoped(key, session.id), len(targets)))
        row_targets = np.empty(len(order), np.int64)
        row_targets[order] = np.array(target_of, np.int64)[np.cumsum(begins) - 1]
        self._update(rows, row_targets, list(targets), opened)

    def _open(self, key: Key, sessions: list[Session], start: int, end: int) -> Session:
        """The session that rows from ``start`` on belong to: a new one, or one that those that they touch become."""
        touching = [each for each in sessions if each.start <= end and each.end >= start]
        if not touching:
            new = Session(start, start, end, self.empty())
            sessions.append(new)
            sessions.sort(key=lambda session: session.start)
            return new
        first = touching[0]
        content = first.content
        for other in touching[1:]:
            content = self.join(Scoped(key, first.id), content, Scoped(key, other.id), other.content)
            sessions.remove(other)
        grown = Session(first.id, min(start, first.start), max(end, *(each.end for each in touching)), content)
        sessions[sessions.index(first)] = grown
        return grown

    def _update(self, rows: Rows, ids: Ids, ats: list[Scoped], opened: dict[Key, list[Session]]) -> None:
        places = {
            Scoped(key, session.id): (sessions, place)
            for key, sessions in opened.items()
            for place, session in enumerate(sessions)
        }
        found = [places[at] for at in ats]
        contents = self.add(rows, ids, [sessions[place].content for sessions, place in found], ats)
        for at, (sessions, place), content in zip(ats, found, contents):
            session = sessions[place] = sessions[place]._replace(content=content)
            self._timers.register(self._clock.instant(session.end) - 1, at.key)
        for key, sessions in opened.items():
            self._sessions.put(key, tuple(sessions))

    # -- sessions end ---------------------------------------------------------------------------------------------

    def next_end(self) -> int | None:
        return self._timers.next_time()

    def forget_open_windows(self) -> None:
        self._timers.clear()

    def fire_until(self, time: int) -> None:
        fired: list[Fired] = []
        while (timer := self._timers.pop_due(time)) is not None:
            key = timer[1]
            sessions = self._sessions.get(key) or ()
            left = tuple(each for each in sessions if not has_passed(each.end, self._clock, time))
            fired += (Fired(key, each) for each in sessions if each not in left)
            if left:
                self._sessions.put(key, left)
            else:
                self._sessions.remove(key)
        if fired:
            fired.sort(key=lambda each: each.session.end)
            self.fire(fired)
