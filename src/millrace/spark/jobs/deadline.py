"""The deadline of an epoch: without it a function, a sink or a disk that hangs would stop a job without a word.

Owners say again and again how far their tasks have come: a task that is slow is no failure and has time, one that makes
no progress is a failure, and the error says what it is doing.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import NamedTuple

from millrace.configuration import own_options as options
from millrace.spark.workers.frames import OwnerReport, Positions, TaskId, TaskPosition


class TaskProgress(NamedTuple):
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
        waiting = [_plural(number, what) for number, what in ((at.before, "element"), (at.packets, "packet")) if number]
        return f"{' and '.join(waiting) or 'nothing'} before it"

    def line(self) -> str:
        """All of that."""
        return f"{self.task()}, has been at {self.piece()} for {self.position.millis / 1000:.1f} s, {self.before()}"


class Progress:
    """Of the tasks of one epoch. Times are seconds of a monotonic clock.

    :param lives: whether a process that does not answer lives, as far as that can be known.
    """

    def __init__(self, now: float, lives: Callable[[str, int], bool]) -> None:
        self._lives = lives
        self._known: dict[tuple[str, int, TaskId], TaskProgress] = {}
        self._waits_for = ""
        self._moved = now

    def see(self, told: Sequence[OwnerReport], waits_for: str, now: float) -> None:
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
                found[key] = TaskProgress(each.host, each.pid, position, before.since if before and stands else now)
        moved = found.keys() != self._known.keys() or any(seen.since == now for seen in found.values())
        if moved or waits_for != self._waits_for:
            self._moved = now
        self._known, self._waits_for = found, waits_for

    def hangs(self, now: float, seconds: float) -> Iterator[TaskProgress]:
        """The tasks that have stood still for so long, the longest first."""
        for seen in sorted(self._known.values(), key=lambda seen: seen.since):
            if now - seen.since >= seconds:
                yield seen

    def is_silent(self, now: float, seconds: float) -> bool:
        """Whether nothing at all has been heard to move for so long, of tasks and of Spark."""
        return now - self._moved >= seconds

    def slowest(self) -> TaskProgress | None:
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


logger = logging.getLogger("millrace")

LOOK_SECONDS = 5.0
"""How often somebody looks at a late epoch."""
LINE_SECONDS = 10.0
"""How often a late epoch says what it is at."""
ANSWER_SECONDS = 2.0
"""How long an owner has to tell where its tasks are."""
LOOKS = 4
"""looks within ``millrace.epoch.timeout`` at least"""


class EpochTimeoutError(Exception):
    """An epoch stood still for ``millrace.epoch.timeout``."""


class Deadline:
    """Watches an epoch while it runs; breaks it off when it stands still.

    :param timeout_ms: how long a task may stand still; None: as long as it likes.
    :param break_off: is called on another thread; what runs inside shall raise then.
    :param waits_for: says what it waits for, as far as the driver knows.
    :param look: asks the owners; those that do not answer soon are left out.
    :param lives: whether the process of an owner lives, as far as that can be known.
    :param tell: is told what a late epoch is at, every ten seconds.
    """

    def __init__(
        self,
        epoch: int,
        timeout_ms: int | None,
        break_off: Callable[[], None],
        waits_for: Callable[[], str],
        look: Callable[[Positions], list[OwnerReport]],
        lives: Callable[[str, int], bool],
        tell: Callable[[str], None],
    ) -> None:
        self._epoch = epoch
        self._timeout_ms = timeout_ms
        self._break_off = break_off
        self._waits_for = waits_for
        self._look = look
        self._tell = tell
        self._began = time.monotonic()
        self._standing = Progress(self._began, lives)
        self._seen = ""
        self._missed: str | None = None
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None

    def line(self) -> str:
        """What the epoch is at, as it was seen last."""
        text = f"epoch {self._epoch} runs for {time.monotonic() - self._began:.0f} s"
        return f"{text}: {self._seen}" if self._seen else text

    def __enter__(self) -> Deadline:
        limit = LOOK_SECONDS if self._timeout_ms is None else self._timeout_ms / 1000 / LOOKS
        # Most epochs end long before: a timer of theirs is all that they have.
        self._timer = threading.Timer(min(LOOK_SECONDS, limit), self._watch, (min(LOOK_SECONDS, limit),))
        self._timer.daemon = True
        self._timer.start()
        return self

    def _watch(self, pause: float) -> None:
        told = self._began
        while not self._ended.is_set() and self._missed is None:
            try:
                now = time.monotonic()
                self._standing.see(self._look(Positions()), self._waits(), now)
                if self._ended.is_set():
                    return
                self._seen = self._standing.line()
                if now - told >= LINE_SECONDS:
                    told = now
                    self._tell(self.line())
                if self._timeout_ms is not None:
                    self._judge(now, self._timeout_ms / 1000)
            except Exception:
                logger.exception("nobody can tell what epoch %d is at", self._epoch)
            self._ended.wait(pause)

    def _waits(self) -> str:
        with contextlib.suppress(Exception):
            return self._waits_for()
        return "Spark"

    def _judge(self, now: float, seconds: float) -> None:
        for seen in self._standing.hangs(now, seconds):
            stack = self._stack(seen)
            if stack is not None:
                self._over(
                    f"epoch {self._epoch} stands still: {seen.task()}, has come no further for {self._timeout_ms} ms "
                    f"({options.EPOCH_TIMEOUT.key}) with {seen.piece()}, {seen.before()}; process {seen.pid} on "
                    f"{seen.host} {stack}"
                )
                return
        if self._standing.is_silent(now, seconds):
            self._over(
                f"epoch {self._epoch} did not end within {self._timeout_ms} ms ({options.EPOCH_TIMEOUT.key}), and "
                f"nobody tells of anything that goes on: it waits for {self._waits()}"
            )

    def _stack(self, seen: TaskProgress) -> str | None:
        """What the task that hangs does at this moment; None if it has come further meanwhile."""
        told = [each for each in self._look(Positions(stacks=True)) if (each.host, each.pid) == (seen.host, seen.pid)]
        if not told:
            return "does not answer"
        for each in told[0].positions:
            if (each.task, each.steps, each.place) == (seen.position.task, seen.position.steps, seen.position.place):
                return f"is at\n{each.stack.rstrip()}"
        return None

    def _over(self, missed: str) -> None:
        with self._lock:
            if not self._ended.is_set():
                self._missed = missed
                self._break_off()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            self._ended.set()
        if self._timer is not None:
            self._timer.cancel()
        if error is not None and self._missed is not None:
            raise EpochTimeoutError(self._missed) from None
