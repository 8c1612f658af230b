"""The tasks of an owner in flow, whose turns come from the owner's loop or a thread of their own, and the marks at the
ends of epochs.

All marks of one sender travel together, and a task gets one mark for an edge when all senders of the edge have ended
the epoch. Otherwise a thousand tasks would wake each other a thousand times.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import copy_context
from queue import Empty, SimpleQueue
from time import perf_counter_ns

from millrace.runtime.bases.epoch_protocol import EpochOrder, Result, ResultFiles, TaskAck, TaskOrder, TaskSoFar
from millrace.runtime.exchange.flow_writer import Credit, EdgeMarks, EpochMark, SenderMarks
from millrace.runtime.operators.job_graph import JobGraph
from millrace.runtime.storage import SnapshotFiles
from millrace.runtime.tasks.flow import FlowError, Frame
from millrace.runtime.tasks.flow_worker import FlowWorker
from millrace.spark.workers import output
from millrace.spark.workers.flow_loop import AT_ONCE, Delays, FlowLoop, Pace, take_turn
from millrace.spark.workers.inspection import TurnedTask
from millrace.spark.workers.lease import Lease
from millrace.util.threads import JobThread

logger = logging.getLogger(__name__)

_Sender = tuple[int, int, int]
"""(edge, channel, run)"""


def divided(marks: Iterable[EpochMark], owners: int) -> Iterator[tuple[int, SenderMarks]]:
    """Yield (number of an owner, its share of these marks). Owner ``partition % owners`` has the task of a
    partition."""
    found: dict[tuple[int, _Sender], tuple[list[int], list[int]]] = {}
    for target, edge, channel, run, packets in marks:
        targets, numbers = found.setdefault((target % owners, (edge, channel, run)), ([], []))
        targets.append(target)
        numbers.append(packets)
    for (owner, sender), (targets, numbers) in found.items():
        yield owner, SenderMarks(*sender, tuple(targets), tuple(numbers))


class Marks:
    """Gathers the marks for the tasks of one owner, over all edges of the job. Any thread may call ``add``."""

    def __init__(self, job: JobGraph) -> None:
        self._job = job
        self._lock = threading.Lock()
        self._gathered: dict[tuple[int, int], dict[int, list[tuple[int, int]]]] = {}
        """(edge, run) -> receiver -> (channel, packets) of the senders so far"""
        self._senders: dict[tuple[int, int], int] = {}
        """(edge, receiver) -> how many marks it gets in an epoch"""
        self._latest: dict[int, dict[int, int]] = {}
        """edge -> receiver -> the run of which it has all marks"""

    def add(self, marks: SenderMarks) -> list[EdgeMarks]:
        """Add marks of a sender; return one mark for each receiver that has the marks of all its senders now.

        :raises FlowError: they are of an epoch that has ended.
        """
        edge, channel, run, targets, packets = marks
        whole = []
        with self._lock:
            latest = self._latest.setdefault(edge, {})
            gathered = self._gathered.setdefault((edge, run), {})
            for target, number in zip(targets, packets):
                if run <= latest.get(target, 0):
                    raise FlowError(f"a mark of run {run} has come over edge {edge}, which has ended")
                row = gathered.setdefault(target, [])
                row.append((channel, number))
                if len(row) >= self._expected(edge, target):
                    whole.append(EdgeMarks(edge, target, run, tuple(gathered.pop(target))))
                    latest[target] = run
            if not gathered:
                del self._gathered[edge, run]
        return whole

    def _expected(self, edge: int, receiver: int) -> int:
        found = self._senders.get((edge, receiver))
        if found is None:
            info = self._job.edges[edge]
            source, target = self._job.by_id[info.source], self._job.by_id[info.target]
            senders = info.partitioner.sources(receiver - target.offset, source.parallelism, target.parallelism)
            found = self._senders[edge, receiver] = len(senders)
        return found


SHOW_NANOSECONDS = 20_000_000
"""Nanoseconds after which a busy task shows what it has printed and collected."""
LONGEST_WAIT = 30.0
"""Seconds after which a waiting task shows that it does not hang."""


class FlowTaskRunner:
    """One task of an owner: what other threads say to it, and its turns, which the owner's loop gives it or a thread of
    its own.

    :param loop: the loop of the owner.
    :param send: takes what the task sends, which belongs to it only until it returns.
    :param acknowledge: takes the acknowledgement of an epoch.
    :param printed: takes lines that the task has printed.
    :param collected: takes what the task has collected for the program.
    :param first: is called once an epoch, when the task has read its first record.
    :param wants_end: is called once an epoch, when a source of the task can't go on before the epoch has ended.
    :param broken: takes what has gone wrong outside the task's own work.
    :param ahead: parts of what was collected that are given before they are taken.
    :param lease: the task stops before its next piece when this is over; None: there is none.
    """

    def __init__(
        self,
        worker: FlowWorker,
        loop: FlowLoop,
        send: Callable[[list[Frame]], None],
        acknowledge: Callable[[TaskAck], None],
        printed: Callable[[tuple[str, ...]], None],
        collected: Callable[[tuple[Result, ...]], None],
        first: Callable[[], None],
        wants_end: Callable[[], None],
        broken: Callable[[BaseException], None],
        ahead: int = 0,
        lease: Lease | None = None,
    ) -> None:
        self.worker = worker
        self.pace = Pace()
        self.is_alone = self.is_ready = False
        self.due: int | None = None
        self.alarm: int | None = None
        self._loop = loop
        self._lease = lease or Lease(0)
        worker.call_soon = self._put
        self._send = send
        self._acknowledge = acknowledge
        self._printed = printed
        self._collected = collected
        self._ahead = ahead
        self._untaken = 0
        """parts of collected elements that were sent, and for which no credit has come back"""
        self._first = first
        self._wants_end = wants_end
        self._broken = broken
        self._came: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._next: Callable[[], None] = _nothing
        """a call that was taken out of ``_came`` already"""
        self._credits: deque[Credit] = deque()
        """credits from receivers; they wake the task only if it waits for them"""
        self._pressed = False
        """whether the task waits for credit"""
        self._stopped = False
        self._has_read = self._has_asked = self._has_acknowledged = False
        self._show_at = 0
        """when the task shows next what it has printed and collected (ns)"""
        self._context = copy_context()
        """context variables of the task, whichever thread it runs on"""
        self._turned = TurnedTask(worker.task_id, lambda: worker.progress)
        self._thread: threading.Thread | None = None
        """the thread of its own that it runs on, or has run on last"""

    # -- from other threads ----------------------------------------------------------------------------------------

    def begin(
        self,
        order: EpochOrder,
        own: TaskOrder,
        run: int,
        snapshots: SnapshotFiles | None,
        results: ResultFiles | None,
    ) -> None:
        self._put(lambda: self._begin(order, own, run, snapshots, results))

    def end(self) -> None:
        self._put(self.worker.end)

    def align(self, limits: Mapping[int, int]) -> None:
        """See ``FlowTask.align``."""
        self._put(lambda: self.worker.align(limits))

    def so_far(self) -> TaskSoFar | None:
        """See ``FlowTask.so_far``."""
        return self.worker.so_far()

    def deliver(self, frame: Frame) -> None:
        if not isinstance(frame, Credit):
            self._put(lambda: self.worker.deliver(frame))
            return
        # Either the task sees the credit before it waits, or it is seen here that it waits.
        self._credits.append(frame)
        if self._pressed:
            self._put(_nothing)

    def deliver_marks(self, marks: EdgeMarks) -> None:
        """See ``FlowTask.deliver_marks``."""
        self._put(lambda: self.worker.deliver_marks(marks))

    def taken(self, parts: int) -> None:
        """Take credit from any thread: the program has room for this many more parts of collected elements."""
        self._put(lambda: self._taken(parts))

    def stop(self) -> None:
        """Stop the task before its next piece of work."""
        self._stopped = True
        self._put(_nothing)

    def join(self) -> None:
        """Wait for the thread of its own, after ``stop``."""
        if self._thread is not None:
            self._thread.join()

    def close(self) -> None:
        """Close the task, which has no more turns. An error of its functions is only logged."""
        self._turned.close()
        try:
            self._context.run(self.worker.close)
        except Exception:
            stage, partition = self.worker.task_id
            logger.warning("task %d.%d could not be closed", stage, partition, exc_info=True)

    def _put(self, what: Callable[[], None]) -> None:
        self._came.put(what)
        if not self.is_alone:
            self._loop.wake(self)

    # -- where it runs ---------------------------------------------------------------------------------------------

    def leave(self) -> None:
        """Leave the loop for a new thread. Called by the loop, between two turns."""
        self.is_alone = True
        self._thread = JobThread(target=self.go_on, daemon=True)
        self._thread.start()

    def stay(self, thread: threading.Thread) -> None:
        """Keep the thread of the loop, which is in a turn of this task."""
        self.pace.is_slow = True
        self._thread, self.is_alone = thread, True

    def go_on(self) -> None:
        """Run on this thread until the task is stopped, or has worked through an epoch without a slow step: then it
        returns to the loop."""
        stage, partition = self.worker.task_id
        threading.current_thread().name = f"millrace-task {stage}.{partition}"
        self._has_acknowledged = False
        delays = Delays()
        while not self._stopped and not self._lease.over:
            if self._has_acknowledged:
                self._has_acknowledged = False
                if not self.pace.is_slow:
                    self.is_alone = False
                    self._loop.wake(self)  # also for what has come meanwhile
                    return
                self.pace.start()
            if self.due != AT_ONCE:
                self._wait()
            take_turn(self, delays)
        self.close()

    def _wait(self) -> None:
        """Wait for the next call of another thread, or until something is due."""
        seconds = LONGEST_WAIT if self.due is None else max(0.0, (self.due - perf_counter_ns()) / 1e9)
        with contextlib.suppress(Empty):
            self._next = self._came.get(timeout=seconds)

    # -- a turn ----------------------------------------------------------------------------------------------------

    def turn(self) -> int | None:
        """Take what has come, and do one step. Returns when the next turn is due (ns); None: never."""
        if self._stopped or self._lease.over:
            return None
        self._turned.begin()
        try:
            return self._context.run(self._turn)
        except BaseException as error:
            self._stopped = True
            self._broken(error)
            return None
        finally:
            self._turned.end()

    def _turn(self) -> int | None:
        worker = self.worker
        if self.due != AT_ONCE:
            worker.waited()
        call, self._next = self._next, _nothing
        call()
        while not self._came.empty():
            self._came.get()()
        self._pressed = False
        while self._credits:
            worker.deliver(self._credits.popleft())
        done = worker.step(perf_counter_ns())
        if worker.out:
            self._send(worker.out)
            worker.out.clear()
        self._tell()
        at_rest = not done.more and self._came.empty()
        now = perf_counter_ns()
        shown = (at_rest or now >= self._show_at) and self._show(now)
        if shown or not at_rest:
            return AT_ONCE
        self._pressed = done.pressed
        if self._pressed and self._credits:
            return AT_ONCE
        latest = now + int(LONGEST_WAIT * 1e9)
        return latest if done.until is None else min(done.until, latest)

    def _show(self, now: int) -> bool:
        """Send printed lines and, if there is credit, collected elements; returns whether elements were sent."""
        self._show_at = now + SHOW_NANOSECONDS
        if lines := self.worker.take_printed():
            self._printed(lines)
        if self._untaken >= self._ahead or not (results := self.worker.take_collected()):
            return False
        self._untaken += len(results)
        self._collected(results)
        return True

    def _taken(self, parts: int) -> None:
        self._untaken -= parts

    def _begin(
        self,
        order: EpochOrder,
        own: TaskOrder,
        run: int,
        snapshots: SnapshotFiles | None,
        results: ResultFiles | None,
    ) -> None:
        self._has_read = self._has_asked = False
        self.worker.begin(order, own, run, results, snapshots)

    def _tell(self) -> None:
        worker = self.worker
        if worker.ack is not None:
            ack, worker.ack = worker.ack, None
            output.end_run(last=False)
            self._acknowledge(ack)
            self._has_acknowledged = True
        if not self._has_read and worker.has_read:
            self._has_read = True
            self._first()
        if not self._has_asked and worker.wants_end:
            self._has_asked = True
            self._wants_end()


def _nothing() -> None:
    """A call that does nothing; it only wakes the task."""
