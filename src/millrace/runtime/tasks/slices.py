"""When a task hands on what it has gathered: the end of a slice."""

from __future__ import annotations

from millrace.util.resting import LONGEST_REST_SECONDS, REST_FACTOR

COST_FACTOR = REST_FACTOR
"""A slice is as long as so many times what ending one takes: so that costs a twentieth of the time."""
LONGEST_NANOSECONDS = int(LONGEST_REST_SECONDS * 1e9)
"""That never makes it longer than this."""


class Beat:
    """The ends of slices. A slice begins with the first thing that is gathered, and ends as soon as the task has
    nothing else to do, at the latest after some time. But ends are not closer to each other than they are worth.

    All times are of one clock that does not go back (ns).

    :param longest: how long a slice may take (ns); 0: it ends after each piece; None: only with its epoch.
    :param least: how long slices take at least (ns).
    """

    def __init__(self, longest: int | None, least: int = 0) -> None:
        self._longest = longest
        self._least = least
        self._earliest = 0
        """the next one does not end before"""
        self._began: int | None = None

    @property
    def is_open(self) -> bool:
        """Whether something was gathered since the last end."""
        return self._began is not None

    @property
    def is_timed(self) -> bool:
        """Whether slices end before their epoch does."""
        return self._longest is not None

    def begin(self, now: int) -> None:
        """Something is gathered."""
        if self._began is None:
            self._began = now

    def due(self, now: int, at_rest: bool) -> bool:
        """Whether the slice shall end now.

        :param at_rest: whether the task has nothing else to do.
        """
        end = self.end_at(at_rest)
        return end is not None and now >= end

    def end_at(self, at_rest: bool) -> int | None:
        """When the slice shall end (ns); None: there is none, or only its epoch ends it."""
        if self._began is None or self._longest is None:
            return None
        if self._longest == 0:
            return self._began
        latest = self._began + self._least if at_rest else self._began + max(self._longest, self._least)
        return max(latest, self._earliest)

    def ended(self, now: int, cost: int) -> None:
        """The slice has ended now, and that took so long (ns)."""
        self._began = None
        self._earliest = now + min(COST_FACTOR * cost, LONGEST_NANOSECONDS)
