"""How long a task may work in an epoch."""

from __future__ import annotations

from collections.abc import Callable

from millrace.runtime.bases.spans import is_over

MOST_FOR_CALLS = 0.75
"""The part of a task's time at whose end calls end that it has begun: it can't leave them to the next epoch."""


class Allowance:
    """The time of one task, epoch after epoch. What is left when it is over is done in the next epoch.

    :param clock: in ms.
    """

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self._millis: int | None = None
        self._reading = 0
        self._until: int | None = None
        self._finish: Callable[[], bool] | None = None
        self._is_over = False
        self._calls_over = False
        self._has_worked = False

    def begin(
        self,
        millis: int | None,
        finish: Callable[[], bool] | None,
        at_first_piece: bool = False,
        reading: int = 0,
    ) -> None:
        """An epoch begins.

        :param millis: how long the task may work (ms); None: as long as there is something to do.
        :param finish: says whether the epoch is to end now; it is asked between any two pieces.
        :param at_first_piece: the time begins when the first piece is done: a task that is new imports and connects.
        :param reading: the part of it that sources have (ms); calls have to end in the rest.
        """
        self._millis = millis
        self._reading = reading
        self._finish = finish
        self._is_over = self._calls_over = self._has_worked = False
        self._until = None if millis is None or at_first_piece else self._clock() + millis

    def worked(self) -> None:
        """A piece is done: however little time there is, a task does one."""
        self._has_worked = True
        if self._until is None and self._millis is not None:
            self._until = self._clock() + self._millis

    def end(self) -> None:
        """It is over now."""
        self._is_over = True

    def over(self) -> bool:
        """Whether nothing more is to be begun in this epoch."""
        if not self._is_over:
            until = self._until if self._has_worked else None
            late = until is not None and is_over(self._clock(), until, self._millis or 0)
            self._is_over = late or (self._finish is not None and self._finish())
        return self._is_over

    def calls_over(self, wait: int, call: int) -> bool:
        """Whether no more calls are to be begun in this epoch, since they would not end in it; nothing more is read
        then.

        :param wait: how long the task would wait for a call to begin (ms).
        :param call: how long that would take (ms). However long calls take, a part of the time is there to begin some.
        """
        if not self._calls_over and self._has_worked and self._until is not None:
            most = ((self._millis or 0) - self._reading) * MOST_FOR_CALLS
            needed = self._reading + wait + min(call, int(most))
            self._calls_over = is_over(self._clock() + needed, self._until, (self._millis or 0) - needed)
        return self._calls_over or self.over()

    def reading_over(self) -> bool:
        """Whether nothing more is to be read in this epoch."""
        return self._calls_over or self.over()

    def extend(self) -> None:
        """What can't wait for the next epoch is done in this one."""
        self._millis = self._until = self._finish = None
        self._is_over = self._calls_over = False
