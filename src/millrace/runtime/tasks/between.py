"""What a task does between two epochs: processing-time timers fire when they are due.

All of it belongs to the next epoch. What operators emit is held back at their outputs until that begins, so nothing
below them runs, and no sink is touched. What they change in their state is in the next delta, and until that epoch
counts in the memory of this copy only. If the next epoch does not start from this copy of the task, the copy is
dropped, and everything with it.
"""

from __future__ import annotations

from collections.abc import Iterable

from millrace.runtime.bases.base import Operator
from millrace.runtime.state.working import WorkingState
from millrace.runtime.tasks.member import Member

MOST_HELD = 100_000
"""Elements that a task holds back at most, as far as what is due at one time can be divided: then timers wait for the
next epoch."""
MOST_CHANGED = 100_000
"""Entries of state that is not kept in memory which may have changed, in the last epoch or since."""


class Between:
    """The time between epochs in one task.

    :param members: in the order in which elements pass them.
    :param working: where their keyed state is.
    """

    def __init__(self, members: Iterable[Member], working: WorkingState) -> None:
        self._working = working
        self._members = [member for member in members if type(member.operator).next_due is not Operator.next_due]
        self._failure: BaseException | None = None

    def next_due(self) -> int | None:
        """When the earliest timer that may fire is due (ms), None without."""
        members = self._members
        if not members or self._failure is not None or sum(member.fork.held for member in members) >= MOST_HELD:
            return None
        if self._working.pending() >= MOST_CHANGED:
            return None
        try:
            with self._working.looking() as same:
                dues = [member.operator.next_due() for member in members] if same else []
        except Exception as error:
            self._failure = error
            return None
        return min((due for due in dues if due is not None), default=None)

    def fire(self, now: int) -> None:
        """Fire what is due. Should that fail, the next epoch does."""
        try:
            with self._working.firing() as same:
                for member in self._members if same else ():
                    due = member.operator.next_due()
                    if due is not None and due <= now:
                        with member.fork.holding():
                            member.operator.advance_processing_time(now)
        except BaseException as error:
            self._failure = error

    def settle(self) -> None:
        """An epoch begins: it takes what was held back, and what went wrong.

        :raises BaseException: what a timer has raised.
        """
        if self._failure is not None:
            raise self._failure
        for member in reversed(self._members):  # what is further down the stream came to be without what is above it
            member.fork.release()
