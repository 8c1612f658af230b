"""What is left of an epoch's limits for one subtask of a source."""

from __future__ import annotations

from collections.abc import Callable

from millrace.runtime.bases.base import ReadingLimits, least
from millrace.runtime.bases.spans import is_over


class Budget:
    """What is left of an epoch's limits for one subtask of a source."""

    def __init__(self, limits: ReadingLimits, clock: Callable[[], int], whole: bool) -> None:
        """:param whole: there are no limits."""
        self._limits = ReadingLimits() if whole else limits
        self._most = least(self._limits.records, self._limits.paced)
        self._clock = clock
        self._records = 0
        self._begun = False
        """whether there was a piece: one is handed on, however little time there is"""
        millis = self._limits.millis
        self._until = None if millis is None or self._limits.at_first_piece else clock() + millis

    @property
    def stays(self) -> bool:
        """Whether a source that has nothing is asked again in this epoch."""
        return self._limits.stays

    @property
    def unlimited(self) -> bool:
        """Whether all is read at once."""
        return self._most is None and self._limits.millis is None

    def took(self, records: int) -> None:
        """Something was handed on, a piece if it has records."""
        if not records:
            return
        self._begun = True
        self._records += records
        if self._until is None and self._limits.millis is not None:
            self._until = self._clock() + self._limits.millis

    def fitting(self, most: int, rows: bool = False) -> int:
        """So many records, or those that are left of the epoch's.

        :param rows: whether they are in batches.
        """
        if self._limits.room is not None:
            most = max(self._limits.room(most), 1)
        records = self._limits.paced if rows else self._most
        return most if records is None else max(min(most, records - self._records), 1)

    def spent(self) -> bool:
        """Whether the epoch has enough."""
        if self._most is not None and self._records >= self._most:
            return True
        late = self._begun and self._until is not None and is_over(self._clock(), self._until, self._limits.millis or 0)
        return late or self._limits.over()
