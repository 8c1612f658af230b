"""How long what a writer gathers may wait before it is written, though the epoch goes on."""

from __future__ import annotations

from collections.abc import Callable

WAIT_MS = 100
"""Where nothing else is said: about as long as an epoch without checkpoints, and long enough to bring much together."""


class Patience:
    """Since when the first element waits, by the task's clock, which ``end_slice`` goes by.

    :param clock: ms.
    :param millis: how long it may wait; None: for ever.
    """

    __slots__ = ("_clock", "_millis", "_since")

    def __init__(self, clock: Callable[[], int], millis: float | None = WAIT_MS) -> None:
        self._clock = clock
        self._millis = millis
        self._since: int | None = None

    def begin(self) -> None:
        """An element waits, perhaps as the first one."""
        if self._since is None:
            self._since = self._clock()

    def end(self) -> None:
        """None waits any more."""
        self._since = None

    def is_over(self, now: int | None = None) -> bool:
        """Whether an element has waited for long enough.

        :param now: what the clock says, if that is known.
        """
        if self._since is None or self._millis is None:
            return False
        passed = (self._clock() if now is None else now) - self._since
        return not 0 <= passed < self._millis  # a clock that was put back does not make anything wait longer
