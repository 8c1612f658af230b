"""The tasks of a job on Spark: runs all of them for an epoch, watches them, and ends them.

The deadline of an epoch: without it a function, a sink or a disk that hangs would stop a job without any message.
Owners report again and again how far their tasks have come. A task that is slow is no failure and has time; a task that
makes no progress is a failure, and the error says what it is doing.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple

from millrace.checkpoint.shared_folder import SharedFolder
from millrace.configuration import own_options as options
from millrace.runtime.bases.epoch_protocol import EpochPlan, TaskAck
from millrace.runtime.coordination.checkpoints import Cleaner
from millrace.runtime.operators.job_graph import JobGraph
from millrace.spark.errors import jvm_answers
from millrace.spark.jobs.carriers import Carrier
from millrace.spark.sessions.session import Workplace
from millrace.spark.workers import pipe
from millrace.spark.workers.frames import OwnerReport, Positions, Request, TaskId, TaskPosition
from millrace.spark.workers.inspection import PATIENCE_SECONDS, SCHEMA, Looking, look, parse
from millrace.spark.workers.orders import FinishMarks, Orders
from millrace.spark.workers.provision import interpreter
from millrace.spark.workers.shipping import ShippedJob
from millrace.spark.workers.stage import Forgetting
from millrace.util.system import is_alive
from millrace.util.threads import JobThread

if TYPE_CHECKING:
    from millrace.checkpoint.directory import JobHome


class TaskProgress(NamedTuple):
    """A running task, as the last report of its owner showed it."""

    host: str
    pid: int
    position: TaskPosition
    since: float
    """when the task was first seen at this position (seconds of a monotonic clock)"""

    def task(self) -> str:
        """Name the task, with its operator if one is at work, for a sentence."""
        stage, partition = self.position.task
        where = f"task {partition} of stage {stage}"
        at = self.position
        return f"{at.operator} ({at.subtask + 1}/{at.parallelism}), {where}" if at.operator else where

    def piece(self) -> str:
        """Say in words what the task is working on."""
        at = self.position
        if not at.operator:
            return "what lies between its operators"
        if at.elements:
            return f"a piece of {_plural(at.elements, 'element')}"
        return "something else than elements (reading, a watermark, a timer, the end of the epoch)"

    def before(self) -> str:
        """Say in words how many elements and packets wait to be handed to the task."""
        at = self.position
        waiting = [_plural(number, what) for number, what in ((at.before, "element"), (at.packets, "packet")) if number]
        return f"{' and '.join(waiting) or 'nothing'} before it"

    def line(self) -> str:
        """One line with the task, what it works on and for how long, and what waits for it."""
        return f"{self.task()}, has been at {self.piece()} for {self.position.millis / 1000:.1f} s, {self.before()}"


class Progress:
    """The progress of the tasks of one epoch. Times are seconds of a monotonic clock.

    :param lives: whether a process that does not answer lives, as far as that can be known.
    """

    def __init__(self, now: float, lives: Callable[[str, int], bool]) -> None:
        self._lives = lives
        self._known: dict[tuple[str, int, TaskId], TaskProgress] = {}
        self._waits_for = ""
        self._moved = now

    def see(self, reports: Sequence[OwnerReport], waits_for: str, now: float) -> None:
        """Take in new reports of the owners on the positions of their tasks.

        :param waits_for: what the epoch waits for as far as Spark or the connections to the tasks tell.
        """
        answered = {(each.host, each.pid) for each in reports}
        found = {
            key: seen
            for key, seen in self._known.items()
            if key[:2] not in answered and self._lives(seen.host, seen.pid)
        }
        for each in reports:
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
        """Yield the tasks that have not moved for at least this many seconds, the longest first."""
        for seen in sorted(self._known.values(), key=lambda seen: seen.since):
            if now - seen.since >= seconds:
                yield seen

    def is_silent(self, now: float, seconds: float) -> bool:
        """Whether neither a task nor Spark has shown any progress for at least this many seconds."""
        return now - self._moved >= seconds

    def slowest(self) -> TaskProgress | None:
        """The task that has worked for the longest time on its current piece; None: no task is known."""
        return max(self._known.values(), key=lambda seen: seen.position.millis, default=None)

    def line(self) -> str:
        """One line that says what the epoch is doing: its slowest task, or what it waits for."""
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
"""Seconds between two looks at a late epoch."""
LINE_SECONDS = 10.0
"""Seconds between two messages about a late epoch."""
ANSWER_SECONDS = 2.0
"""Seconds that an owner has to report the positions of its tasks."""
LOOKS = 4
"""The least number of looks within ``millrace.epoch.timeout``."""


class EpochTimeoutError(Exception):
    """An epoch stood still for ``millrace.epoch.timeout``."""


class Deadline:
    """Watches an epoch while it runs; breaks it off when it stands still.

    :param timeout_ms: how long a task may stand still; None: as long as it likes.
    :param break_off: is called on another thread; what runs inside shall raise then.
    :param waits_for: says what it waits for, as far as the driver knows.
    :param look: asks the owners; those that do not answer soon are left out.
    :param lives: whether the process of an owner lives, as far as that can be known.
    :param tell: called with what a late epoch is at, every ten seconds.
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
        last = self._began
        while not self._ended.is_set() and self._missed is None:
            try:
                now = time.monotonic()
                self._standing.see(self._look(Positions()), self._waits(), now)
                if self._ended.is_set():
                    return
                self._seen = self._standing.line()
                if now - last >= LINE_SECONDS:
                    last = now
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
        reports = [
            each for each in self._look(Positions(stacks=True)) if (each.host, each.pid) == (seen.host, seen.pid)
        ]
        if not reports:
            return "does not answer"
        for each in reports[0].positions:
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


FORGET_SECONDS = 10.0
"""How long the end of a job waits until its owners on other machines have heard of it."""
OTHERS_SECONDS = 20.0
"""Seconds that the owners on other machines have to say what they do."""


class Tasks:
    """Runs a job's tasks, epoch by epoch.

    :param carrier: what brings them their orders.
    :param lasting: whether something of the tasks is needed after their epoch: then they live in owners.
    :param shares_files: whether all workers reach the folder of the job.
    :param python: the interpreter of the workers, None for that of the session.
    :param timeout_ms: how long a task may stand still; None: as long as it likes.
    :param tell: called with what a late epoch is at, on another thread.
    """

    def __init__(
        self,
        place: Workplace,
        job: JobGraph,
        shipped: ShippedJob,
        home: JobHome,
        cleaner: Cleaner,
        carrier: Carrier,
        lasting: bool,
        shares_files: bool,
        python: str | None,
        timeout_ms: int | None,
        tell: Callable[[str], None],
    ) -> None:
        self._place = place
        self._context = place.session.sparkContext
        self._job = job
        self._orders = Orders(job.partitions, home.state if shares_files else None, cleaner)
        self._marks = FinishMarks(home.state if shares_files else None)
        self._shared = None if shipped.token is None else SharedFolder(home.state)
        self._carrier = carrier
        self._lasting = lasting
        self._python = python
        self._timeout_ms = timeout_ms
        self._tell = tell
        self._epoch: Deadline | None = None
        self._asking: threading.Thread | None = None

    def run(self, plan: EpochPlan) -> list[TaskAck]:
        """Run one epoch.

        :raises EpochTimeoutError: it stood still for too long.
        :raises NotSharedError: driver and tasks do not see one directory.
        """
        carrier = self._carrier
        self._epoch = Deadline(
            plan.epoch,
            self._timeout_ms,
            carrier.break_off,
            carrier.waits_for,
            self._positions,
            self._lives,
            self._tell,
        )
        try:
            with self._epoch:
                self._marks.begin(plan.epoch)
                acks = carrier.run(self._orders.publish(carrier.prepared(plan)), plan.epoch)
        finally:
            self._epoch = None
        if self._shared is not None:
            self._shared.check(ack.first_write for ack in acks)
        return acks

    def ready(self, epoch: int) -> str | None:
        """Get what the epochs need, see ``Carrier.ready``."""
        return self._carrier.ready(epoch)

    def carry_by(self, carrier: Carrier) -> None:
        """Let the epochs be carried by another carrier, before the first one."""
        self._carrier = carrier

    def at_work(self) -> str | None:
        """What the epoch is at that runs, as it was seen last; None: none runs."""
        epoch = self._epoch
        return None if epoch is None else epoch.line()

    def finish(self) -> None:
        """Let the epoch that runs end soon, from any thread: the next one is waited for."""
        self._marks.finish()
        self._carrier.finish()

    def cancel(self) -> None:
        """End the epoch that runs; no other one will."""
        self._marks.finish()
        self._carrier.cancel()

    def end(self) -> None:
        """The job is over: its owners close the functions, and end."""
        self._marks.close()
        self._orders.close()
        self._carrier.end()
        if not self._lasting or not jvm_answers(self._context):
            return
        if self._place.local:
            pipe.forget(self._job.job_id)
            return
        # Nobody but Spark reaches the other machines, and perhaps not all of them: owners that hear nothing end by
        # themselves, with the application or when they are idle for long.
        messenger = JobThread(target=self._spread_the_word, daemon=True)
        messenger.start()
        messenger.join(FORGET_SECONDS)

    def look(self, request: Request, patience: float = PATIENCE_SECONDS) -> list[OwnerReport]:
        """What the owners tell of their threads, as far as they answer in time. Tasks that run in Spark's workers
        themselves are not seen."""
        job_id = self._job.job_id
        if not self._lasting:
            return []
        if self._place.local:
            return look(job_id, request, patience)
        reports = self._carrier.look(request, patience)
        if reports is not None:
            return reports
        found: dict[tuple[str, int], OwnerReport] = {}
        messenger = JobThread(target=self._ask_other_machines, args=(request, found), daemon=True)
        self._asking = messenger
        messenger.start()
        messenger.join(OTHERS_SECONDS)
        return list(found.values())

    def _positions(self, request: Positions) -> list[OwnerReport]:
        """Where the tasks of the epoch are. On other machines to which the carrier has no connections a look needs a
        free core, so one thread that waits for one is enough."""
        if not self._place.local:
            reports = self._carrier.look(request, ANSWER_SECONDS)
            if reports is not None:
                return reports
            asked = self._asking
            if (asked is not None and asked.is_alive()) or not self._has_free_core():
                return []
        return self.look(request, ANSWER_SECONDS)

    def _has_free_core(self) -> bool:
        tracker = self._context.statusTracker()
        stages = [tracker.getStageInfo(number) for number in tracker.getActiveStageIds()]
        active = sum(int(stage.numActiveTasks) for stage in stages if stage is not None)
        return active < int(self._context.defaultParallelism)

    def _lives(self, host: str, pid: int) -> bool:
        return self._place.local and is_alive(pid)

    def _ask_other_machines(self, request: Request, found: dict[tuple[str, int], OwnerReport]) -> None:
        """By way of Spark, which has to have a free core on each machine."""
        with contextlib.suppress(Exception):
            width = 2 * max(self._context.defaultParallelism, 1)
            rows = self._place.session.range(0, width, 1, width)
            with interpreter(self._context, self._python):
                frame = rows.mapInArrow(Looking(self._job.job_id, request), SCHEMA)
                for row in frame.collect():
                    report = parse(row["told"])
                    found[report.host, report.pid] = report

    def _spread_the_word(self) -> None:
        with contextlib.suppress(Exception):
            width = 2 * max(self._context.defaultParallelism, 1)
            rows = self._place.session.range(0, width, 1, width)
            with interpreter(self._context, self._python):
                rows.mapInArrow(Forgetting(self._job.job_id), "id long").count()
