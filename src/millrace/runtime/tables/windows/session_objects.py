"""Open sessions with contents of any kind: one object for each key."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from millrace.relational.rows import Rows
from millrace.runtime.state.address import Scoped
from millrace.runtime.tables.columns.keys import Ids, Key, group
from millrace.runtime.tables.columns.window_times import has_passed
from millrace.runtime.tables.windows.sessions import SESSIONS, Session, SessionOperator, Sessions, pieces_of
from millrace.runtime.tables.windows.window_config import TimedWindows

C = TypeVar("C", bound=TimedWindows)


class Fired(NamedTuple):
    key: Key
    session: Session

    @property
    def at(self) -> Scoped:
        return Scoped(self.key, self.session.id)


class ObjectSessionOperator(SessionOperator[C]):
    """The base of operators on sessions: defines the content of a session. Further state of a session is at
    ``Scoped(key, id)``."""

    @abstractmethod
    def empty(self) -> Any:
        """The content of a new session."""

    @abstractmethod
    def add(self, rows: Rows, ids: Ids, contents: Sequence[Any], ats: Sequence[Scoped]) -> Sequence[Any]:
        """The contents after adding rows; ``ids`` are indexes into ``contents`` and ``ats``."""

    @abstractmethod
    def join(self, at: Scoped, content: Any, other: Scoped, other_content: Any) -> Any:
        """The content of a session after merging another one into it."""

    @abstractmethod
    def fire(self, fired: Sequence[Fired]) -> None:
        """Emit the rows of sessions that have ended, and clear their further state."""


class ObjectSessions(Sessions):
    """State: key -> its open sessions, in the order of time; a timer at the end of each."""

    def __init__(self, operator: ObjectSessionOperator[Any]) -> None:
        self._operator = operator
        self._backend = operator.backend
        self._clock = operator.config.clock
        self._state = operator.keyed_value(SESSIONS, ttl=0)
        self._gap = operator.config.window.size
        event_time = operator.config.time is not None
        self._timers = self._backend.event_timers if event_time else self._backend.processing_timers

    def restored(self) -> None:
        table = self._backend.table(SESSIONS)
        if table is None or self._timers.next_time() is not None:
            return
        # Sessions in columns have no timers, and are saved without them.
        for key in table.addresses():
            for each in self._state.get(key) or ():
                self._timers.register(self._clock.instant(each.end) - 1, key)

    def hopeful(self, rows: Rows, late: Any) -> Any:
        return late

    def finds(self, row: Rows, time: int) -> bool:
        (key,) = group([row.batch.column(index) for index in self._operator.keys], 1).keys
        known = self._state.get(key) or ()
        return any(each.start <= time + self._gap and each.end >= time for each in known)

    def add(self, rows: Rows, times: Ids) -> None:
        grouped = group([rows.batch.column(index) for index in self._operator.keys], len(rows))
        pieces, ids, starts, ends = pieces_of(grouped.ids, times, self._gap)
        opened: dict[Key, list[Session]] = {}
        targets: dict[Scoped, int] = {}
        target_of: list[int] = []
        for key_id, start, end in zip(ids.tolist(), starts.tolist(), ends.tolist()):
            key = grouped.keys[key_id]
            if key not in opened:
                opened[key] = list(self._state.get(key) or ())
            session = self._open(key, opened[key], start, end)
            target_of.append(targets.setdefault(Scoped(key, session.id), len(targets)))
        self._update(rows, np.array(target_of, np.int64)[pieces], list(targets), opened)

    def _open(self, key: Key, sessions: list[Session], start: int, end: int) -> Session:
        """The session that rows from ``start`` on belong to: a new one, or the merged one of all sessions that they
        touch."""
        touching = [each for each in sessions if each.start <= end and each.end >= start]
        if not touching:
            new = Session(start, start, end, self._operator.empty())
            sessions.append(new)
            sessions.sort(key=lambda session: session.start)
            return new
        first = touching[0]
        content = first.content
        for other in touching[1:]:
            content = self._operator.join(Scoped(key, first.id), content, Scoped(key, other.id), other.content)
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
        contents = self._operator.add(rows, ids, [sessions[place].content for sessions, place in found], ats)
        for at, (sessions, place), content in zip(ats, found, contents):
            session = sessions[place] = sessions[place]._replace(content=content)
            self._timers.register(self._clock.instant(session.end) - 1, at.key)
        for key, sessions in opened.items():
            self._state.put(key, tuple(sessions))

    def next_end(self) -> int | None:
        return self._timers.next_time()

    def forget(self) -> None:
        self._timers.clear()
        table = self._backend.table(SESSIONS)
        for key in [] if table is None else list(table.addresses()):
            self._state.remove(key)

    def fire_until(self, time: int) -> None:
        fired: list[Fired] = []
        while (timer := self._timers.pop_due(time)) is not None:
            key = timer[1]
            sessions = self._state.get(key) or ()
            left = tuple(each for each in sessions if not has_passed(each.end, self._clock, time))
            fired += (Fired(key, each) for each in sessions if each not in left)
            if left:
                self._state.put(key, left)
            else:
                self._state.remove(key)
        if fired:
            fired.sort(key=lambda each: each.session.end)
            self._operator.fire(fired)
