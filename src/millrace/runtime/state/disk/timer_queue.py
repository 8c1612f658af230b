"""Timers on disk. The key is time and address, the value the number of the registration.

Only timers that are due are read into memory, and those that the epoch sets or deletes are there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from millrace.runtime.state.backend import TIMERS
from millrace.runtime.state.disk.keys import decode, is_plain, part, time_of, time_part
from millrace.runtime.state.disk.reader import Reader
from millrace.runtime.state.disk.records import SHARED, identities
from millrace.runtime.state.disk.stored_table import StoredTable
from millrace.runtime.state.disk.tables import PIECE, READS, TOGETHER
from millrace.runtime.state.disk.writer import Writer
from millrace.runtime.timers import TimerId, TimerQueue

_TIME = 8
"""bytes of a timer's time in its key"""
_NUMBER = 8
"""bytes of a registration number"""
_BEFORE_ALL = -(2**63)
_NEVER = 2**63
_IN_STORE = -1
"""stands for the registration number of a timer that is only in the store"""


class DiskTimerQueue(TimerQueue):
    """A timer queue that has in memory the timers set since the last write, and the stored timers that are due."""

    kind = TIMERS

    def __init__(self, reader: Reader) -> None:
        super().__init__()
        self.shelf = StoredTable(reader)
        self._changed: dict[TimerId, bool] = {}
        """timers set or deleted since the last write -> whether the store may contain them"""
        self._stored: set[TimerId] = set()
        """some timers that are known to be stored and unchanged"""
        self._unread = _BEFORE_ALL
        """stored timers before this time (ms) are in memory; all others are later"""

    def __len__(self) -> int:
        return sum(1 for _ in self._everything())

    def register(self, timestamp: int, at: Any) -> None:
        timer = (timestamp, at)
        if self.closed or self._is_set(timer):
            return
        self._order[timer] = self._next
        self._next += 1
        self._line_up(timestamp, at)
        self._changed.setdefault(timer, False)

    def delete(self, timestamp: int, at: Any) -> None:
        timer = (timestamp, at)
        if not self._is_set(timer):
            return
        number = self._order.pop(timer, None)
        if number is not None:
            self._leave(timer)
        self._gone(timer, _IN_STORE if number is None else number)

    def clear(self) -> None:
        for timer, number in list(self._everything()):
            self._gone(timer, number)
        self._forget()
        self._unread = _NEVER

    def next_time(self) -> int | None:
        mine = super().next_time()
        if self._unread == _NEVER or (mine is not None and mine < self._unread):
            return mine
        unread = _timers(self.shelf.onward(time_part(self._unread)))
        stored = next((timer[0] for timer, _ in unread if timer not in self._changed), None)
        return min((time for time in (mine, stored) if time is not None), default=None)

    def pop_due(self, time: int) -> TimerId | None:
        self._read_due(time)
        found = self._pop(time)
        if found is None:
            return None
        self._gone(*found)
        return found[0]

    def times(self, at: Any) -> list[int]:
        return sorted(time for (time, address), _ in self._everything() if address == at)

    def _gone(self, timer: TimerId, number: int) -> None:
        super()._gone(timer, number)
        if self._changed.get(timer, True):
            self._changed[timer] = True
        else:
            del self._changed[timer]

    def _is_set(self, timer: TimerId) -> bool:
        if timer in self._order:
            return True
        time, at = timer
        if timer in self._changed or time < self._unread:
            return False
        if timer in self._stored:
            return True
        found = self.shelf.payload(time_part(time) + part(at), at) is not None
        if found:
            if len(self._stored) >= READS:
                self._stored.clear()
            self._stored.add(timer)
        return found

    def _read_due(self, time: int) -> None:
        """Read the earliest stored timers, if they come before all in memory and are due at ``time`` (ms)."""
        while self._unread <= time:
            mine = super().next_time()
            if mine is not None and mine < self._unread:
                return
            self._read(self._unread)
            first = self.shelf.first(time_part(self._unread) + b"\xff")
            self._unread = _NEVER if first is None else time_of(first[:_TIME])

    def _read(self, time: int) -> None:
        """Read the timers of one time."""
        for timer, number in _timers(self.shelf.below(time_part(time))):
            if timer not in self._changed:
                self._ascending = False
                self._put(timer, number)

    def _everything(self) -> Iterator[tuple[TimerId, int]]:
        yield from self._order.items()
        for timer, number in _timers(self.shelf.below(b"")):
            if timer not in self._changed and timer not in self._order:
                yield timer, number

    # -- deltas ---------------------------------------------------------------------------------------------------

    def apply(self, changes: Iterable[tuple[TimerId, int | None]]) -> None:
        changes = list(changes)
        super().apply(changes)
        self._changed.update((timer, True) for timer, _ in changes)

    def entries(self) -> list[tuple[TimerId, int | None]]:
        return list(self._everything())

    def pieces(self) -> Iterator[dict[TimerId, int]]:
        """All timers as deltas onto an empty queue that are applied one after the other."""
        piece: dict[TimerId, int] = {}
        for timer, number in self._everything():
            piece[timer] = number
            if len(piece) == PIECE:
                yield piece
                piece = {}
        if piece:
            yield piece

    def pending(self) -> int:
        return len(self._changed)

    def forget(self) -> None:
        """Drop the changes in memory, because the store contains them now."""
        self._forget()
        self._changed.clear()
        self._stored.clear()
        self._unread, self._next = _BEFORE_ALL, 0

    def go_on_from(self, next_number: int) -> None:
        """Continue registration numbers from here: no stored timer has this number or a later one."""
        self._next = self._reported = next_number

    @property
    def next_number(self) -> int:
        """The number of the next registration."""
        return self._next

    def flush(self, writer: Writer, prefix: bytes) -> None:
        keys = [(time_part(timer[0]), part(timer[1]), timer) for timer in self._changed]
        keys.sort(key=_place)
        puts = []
        for time, encoded, timer in keys:
            key, number, at = prefix + time + encoded, self._order.get(timer), timer[1]
            if number is None:
                writer.remove(key, at)
            elif is_plain(at, encoded):
                puts.append((key, number.to_bytes(_NUMBER, "big")))
                if len(puts) == TOGETHER:
                    writer.put_all(puts)
                    puts = []
            else:
                writer.put_shared(key, at, number.to_bytes(_NUMBER, "big"))
        writer.put_all(puts)


def _place(entry: tuple[bytes, bytes, TimerId]) -> tuple[bytes, bytes]:
    return entry[:2]


def _timers(records: Iterable[tuple[bytes, bytes]]) -> Iterator[tuple[TimerId, int]]:
    """(timer, registration number) of records."""
    for key, record in records:
        time = time_of(key[:_TIME])
        if record[0] == SHARED:
            for at, number in identities(record):
                yield (time, at), int.from_bytes(number, "big")
        else:
            yield (time, decode(key[_TIME:])), int.from_bytes(record, "big")
