"""Which tasks of an epoch come further, by what their owners tell again and again: slow is no failure, standing still
is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from millrace.spark.owners.frames import TaskId, TaskPosition, Told


class Seen(NamedTuple):
    """A task that runs, as it was seen last."""

    host: str
    pid: int
    position: TaskPosition
    since: float
    """when it was seen first where it is"""

    def task(self) -> str:
        """Which one it is, for a sentence."""
        stage, partition = self.position.task
        where = f"task {partition} of stage {stage}"
        at = self.position
        return f"{at.operator} ({at.subtask + 1}/{at.parallelism}), {where}" if at.operator else where

    def piece(self) -> str:
        """What it is at."""
        at = self.position
        if not at.operator:
            return "what lies between its operators"
        if at.elements:
            return f"a piece of {_plural(at.elements, 'element')}"
        return "something else than elements (reading, a watermark, a timer, the end of the epoch)"

    def before(self) -> str:
        """What waits to be handed to it."""
        at = self.position
        waiting = [
            _plural(number, what) for number, what in ((at.before, "element"), (at.packets, "packet")) if number
        ]
        return f"{' and '.join(waiting) or 'nothing'} before it"

    def line(self) -> str:
        """All of that."""
        return f"{self.task()}, has been at {self.piece()} for {self.position.millis / 1000:.1f} s, {self.before()}"


class Standing:
    """Of the tasks of one epoch. Times are seconds of a monotonic clock.

    :param lives: whether a process that does not answer lives, as far as that can be known.
    """

    def __init__(self, now: float, lives: Callable[[str, int], bool]) -> None:
        self._lives = lives
        self._known: dict[tuple[str, int, TaskId], Seen] = {}
        self._waits_for = ""
        self._moved = now

    def see(self, told: Sequence[Told], waits_for: str, now: float) -> None:
        """Owners have told where their tasks are.

        :param waits_for: what the epoch waits for as far as Spark or the connections to the tasks tell.
        """
        answered = {(each.host, each.pid) for each in told}
        found = {
            key: seen
            for key, seen in self._known.items()
            if key[:2] not in answered and self._lives(seen.host, seen.pid)
        }
        for each in told:
            for position in each.positions:
                key = (each.host, each.pid, position.task)
                before = self._known.get(key)
                stands = before is not None and _mark(before.position) == _mark(position)
                found[key] = Seen(each.host, each.pid, position, before.since if before and stands else now)
        moved = found.keys() != self._known.keys() or any(seen.since == now for seen in found.values())
        if moved or waits_for != self._waits_for:
            self._moved = now
        self._known, self._waits_for = found, waits_for

    def hangs(self, now: float, seconds: float) -> Iterator[Seen]:
        """The tasks that have stood still for so long, the longest first."""
        for seen in sorted(self._known.values(), key=lambda seen: seen.since):
            if now - seen.since >= seconds:
                yield seen

    def is_silent(self, now: float, seconds: float) -> bool:
        """Whether nothing at all has been heard to move for so long, of tasks and of Spark."""
        return now - self._moved >= seconds

    def slowest(self) -> Seen | None:
        """The task that is at its piece for the longest time."""
        return max(self._known.values(), key=lambda seen: seen.position.millis, default=None)

    def line(self) -> str:
        """What the epoch is at."""
        slowest = self.slowest()
        if slowest is None:
            return f"it waits for {self._waits_for}"
        others = len(self._known) - 1
        return slowest.line() + (f"; {_plural(others, 'more task')} at work" if others else "")


def _mark(position: TaskPosition) -> tuple[int, int]:
    return position.steps, position.place


def _plural(count: int, thing: str) -> str:
    return f"{count:,} {thing}" + ("" if count == 1 else "s")
