"""Where the time of a task goes: each moment is counted for one slot, and to change slots costs a look at the clock."""

from __future__ import annotations

from time import perf_counter_ns

from millrace.runtime.protocol.times import OperatorTimes, TaskTimes

REST, OTHER, READING, PASSING, RECORDING, WAITING, PRESSED = range(7)
"""Slots of the task as a whole: between epochs; none of the others; waiting for packets; packets for later stages;
writing state; a source that has nothing; in flow: waiting for credit."""
_WHOLE = 7
_PARTS = 3
"""Slots of each operator: at work, sorting what it emits by receiver, and waiting until that is taken."""


class Stopwatch:
    """One for each task; its threads take turns."""

    __slots__ = ("_current", "_since", "spent")

    def __init__(self, operators: int) -> None:
        self.spent = [0] * (_WHOLE + _PARTS * operators)
        """slot -> nanoseconds"""
        self._current = REST
        self._since = perf_counter_ns()

    def switch(self, slot: int) -> int:
        """Time goes to this slot from now on; which one it went to before."""
        now = perf_counter_ns()
        before = self._current
        self.spent[before] += now - self._since
        self._since = now
        self._current = slot
        return before

    def move(self, source: int, target: int, nanoseconds: int) -> None:
        """So much was counted for the wrong slot."""
        self.spent[source] -= nanoseconds
        self.spent[target] += nanoseconds

    def of_operator(self, number: int) -> OperatorTimes:
        """What an operator has taken since ``start``."""
        return of_operator(self.spent, number)

    def so_far(self) -> list[int]:
        """Slot -> nanoseconds since ``start``, with those of the slot that is at it; from any thread."""
        spent = list(self.spent)
        spent[self._current] += max(perf_counter_ns() - self._since, 0)
        return spent

    def of_task(self) -> TaskTimes:
        """What the task as a whole has taken since ``start``, beyond its operators."""
        spent = self.spent
        return TaskTimes(
            spent[READING] // 1000,
            spent[PASSING] // 1000,
            spent[RECORDING] // 1000,
            spent[WAITING] // 1000,
            spent[OTHER] // 1000,
        )

    def start(self) -> None:
        """A new epoch. What was done between epochs stays: it belongs to this one."""
        self.switch(OTHER)
        self.spent[REST] = 0

    def stop(self) -> None:
        """The epoch is over and told of."""
        self.switch(REST)
        self.spent = [0] * len(self.spent)


def of_operator(spent: list[int], number: int) -> OperatorTimes:
    """What the operator with this number in its task has taken, of what all slots have."""
    place = _WHOLE + _PARTS * number
    work, sort, write = spent[place : place + _PARTS]
    return OperatorTimes(work // 1000, sort // 1000, write // 1000)


def work_slot(number: int) -> int:
    """Of the operator with this number in its task: it is at work."""
    return _WHOLE + _PARTS * number


def sort_slot(number: int) -> int:
    """It sorts what it emits by receiver."""
    return work_slot(number) + 1


def write_slot(number: int) -> int:
    """It waits until what it has emitted is taken."""
    return work_slot(number) + 2
