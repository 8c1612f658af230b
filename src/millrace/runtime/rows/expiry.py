"""Time to live of rows in columns: when each row was written last, and which rows have expired."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
import pyarrow as pa

from millrace.runtime.rows.hashes import Flags
from millrace.runtime.tables.columns.growing import with_room
from millrace.runtime.tables.columns.keys import Ids

CLEANUPS = 4
"""How often expired rows that no operator looks for are removed within a time to live."""


class Clock(Protocol):
    """Gives the time by which rows expire."""

    def begin(self) -> int:
        """The time of the slice (ms), which begins now if it has not begun."""

    def now(self) -> int:
        """The time of the slice (ms); between slices the present time."""

    def end(self) -> None:
        """The slice has ended."""


class SliceClock:
    """Processing time. All accesses of a slice have the time of the first one, so that no row expires while the changes
    of the slice refer to it; tables of one operator share a clock, so that what belongs together expires together.

    :param clock: gives the present processing time (ms).
    """

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self._time: int | None = None
        """the time of the slice (ms); None: nothing was accessed in it"""

    def begin(self) -> int:
        if self._time is None:
            self._time = self._clock()
        return self._time

    def now(self) -> int:
        return self._clock() if self._time is None else self._time

    def end(self) -> None:
        self._time = None


class _LatestWrite:
    """The clock of a table that is made from deltas alone: the time of the latest write, which is in the past."""

    def __init__(self) -> None:
        self.time = 0

    def begin(self) -> int:
        return self.time

    def now(self) -> int:
        return self.time

    def end(self) -> None:
        """Does nothing: writes alone let the time go on."""


class Expiry:
    """The times at which the rows of one table were written last.

    :param ttl: ms after its last write until a row expires.
    :param clock: None for a table that no operator uses, only deltas are applied to it.
    """

    def __init__(self, ttl: int, clock: Clock | None = None) -> None:
        self.ttl = ttl
        self._latest = _LatestWrite()
        self._clock: Clock = self._latest if clock is None else clock
        self._written = np.zeros(0, np.int64)
        """for each row the time of its last write (ms)"""
        self._due = 0
        """the time (ms) at which expired rows are looked for"""

    def begin(self) -> None:
        """The table is accessed by its operator."""
        self._clock.begin()

    def end(self) -> None:
        """The slice has ended."""
        self._clock.end()

    def wrote(self, numbers: Ids) -> None:
        """These rows are written now."""
        self._set(numbers, self._clock.begin())

    def restore(self, numbers: Ids, times: pa.Array) -> None:
        """These rows were written at these times (ms)."""
        written: Ids = times.to_numpy()
        self._set(numbers, written)
        self._latest.time = max(self._latest.time, int(written.max(initial=0)))

    def _set(self, numbers: Ids, times: Ids | int) -> None:
        if len(numbers):
            self._written = with_room(self._written, int(numbers.max()) + 1)
            self._written[numbers] = times

    def times(self, numbers: Ids) -> pa.Array:
        """When these rows were written last (ms)."""
        return pa.array(self._written[numbers])

    def live(self, numbers: Ids) -> Flags:
        """Whether these rows have not expired, as numpy Booleans."""
        live: Flags = self._written[numbers] > self._clock.now() - self.ttl
        return live

    def live_at(self, times: pa.Array) -> Flags:
        """Whether rows that were written at these times (ms) have not expired, as numpy Booleans."""
        live: Flags = times.to_numpy() > self._clock.now() - self.ttl
        return live

    def retained(self, kept: Ids) -> None:
        """All other rows were removed; these rows have the numbers 0, 1, and so on."""
        self._written = self._written[kept]

    def cleanup_is_due(self) -> bool:
        """Whether the table should remove all expired rows now."""
        now = self._clock.now()
        if now < self._due:
            return False
        self._due = now + max(self.ttl // CLEANUPS, 1)
        return True


def expiry_of_copy(ttl: int) -> Expiry | None:
    """For a table that only deltas are applied to; None for a time to live of 0, which stands for none."""
    return Expiry(ttl) if ttl else None
