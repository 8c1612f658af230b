"""An epoch that does not end: a function, a sink or a disk that hangs would stop a job without a word. One that is slow
takes its time, and says what it is at."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable
from types import TracebackType

from millrace.datastream.settings import options
from millrace.spark.jobs.standing import Seen, Standing
from millrace.spark.owners.frames import Positions, Told

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
        look: Callable[[Positions], list[Told]],
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
        self._standing = Standing(self._began, lives)
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

    def _stack(self, seen: Seen) -> str | None:
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
