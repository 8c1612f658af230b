"""The worker's side of a task in flow: restores its state, and makes the acknowledgement of each epoch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from millrace.runtime.bases.epoch_protocol import (
    EpochOrder,
    Result,
    ResultFiles,
    TaskAck,
    TaskOrder,
    TaskSoFar,
    WorkerReport,
)
from millrace.runtime.exchange.flow_writer import EdgeMarks, FlowWriter
from millrace.runtime.failure import Failure
from millrace.runtime.operators.job_graph import JobGraph
from millrace.runtime.storage import SnapshotFiles, StateStorage, TaskId
from millrace.runtime.tasks.flow import FlowTask, Frame, Next
from millrace.runtime.tasks.task_figures import PRESSED
from millrace.runtime.tasks.waiting import Progress
from millrace.runtime.tasks.worker import LiveTask, failure_of, finish_epoch, taken_over, task_at

_NOTHING = Next(False)


class FlowWorker:
    """One task, from the beginning of its connections to their end. An error ends all of them: nothing of the task is
    used again, and new connections start from the last acknowledged epoch.

    :param load_job: makes a copy of the job for this task alone.
    :param make_flow: makes a ``FlowTask`` of a ``StageTask``.
    :param process: name of this process.
    :param worker: gives a report on this process.
    """

    def __init__(
        self,
        task_id: TaskId,
        load_job: Callable[[], JobGraph],
        storage: StateStorage,
        clock: Callable[[], int],
        make_flow: Callable[..., FlowTask] = FlowTask,
        process: str | None = None,
        worker: Callable[[], WorkerReport] | None = None,
    ) -> None:
        self.task_id = task_id
        self._load_job = load_job
        self._storage = storage
        self._clock = clock
        self._make_flow = make_flow
        self._snapshots: SnapshotFiles | None = None
        self._process = process
        self._worker = worker
        self.call_soon: Callable[[Callable[[], None]], None] | None = None
        """calls a function in the thread that drives the task; may be called from any thread; to be set before the
        first epoch"""
        self._live: LiveTask | None = None
        self.flow: FlowTask | None = None
        self.ack: TaskAck | None = None
        """acknowledgement of the epoch that has ended; the caller of ``step`` takes it out"""
        self._order = EpochOrder(0)
        self._own = TaskOrder()
        self._replayed = 0
        self._early: list[Frame] = []
        """frames that arrived before the first order"""
        self._failed = False

    @property
    def out(self) -> list[Frame]:
        """The frames to be sent; the caller takes them out."""
        return [] if self.flow is None else self.flow.out

    @property
    def wants_end(self) -> bool:
        """Whether a source can't continue before the epoch has ended."""
        return self.flow is not None and self.flow.wants_end

    @property
    def has_read(self) -> bool:
        """Whether a source has read something in this epoch."""
        return self.flow is not None and self.flow.has_read

    @property
    def progress(self) -> Progress | None:
        """The progress of the task; None: it has no state yet, or is closed. From any thread."""
        live = self._live
        return None if live is None else live.task.progress

    def take_printed(self) -> tuple[str, ...]:
        """See ``FlowTask.take_printed``."""
        return () if self.flow is None else self.flow.take_printed()

    def take_collected(self) -> tuple[Result, ...]:
        """See ``FlowTask.take_collected``."""
        return () if self.flow is None else self.flow.take_collected()

    def waited(self) -> None:
        """The task had nothing to do for a while."""
        if self.flow is not None:
            self.flow.task.progress.step()

    def begin(
        self,
        order: EpochOrder,
        own: TaskOrder,
        run: int,
        results: ResultFiles | None = None,
        snapshots: SnapshotFiles | None = None,
    ) -> None:
        """Begin an epoch; see ``FlowTask.begin``.

        :param snapshots: where the order's savepoint is.
        """
        self._order, self._own, self._snapshots = order, own, snapshots
        with _Failing(self):
            if order.restore is not None:
                self._live = taken_over(self._load_job, self.task_id, order, self._clock, self._snapshots, FlowWriter)
                self._begin_flow(self._live)
                self._acknowledge(run)
                return
            before = self._live
            self._live, self._replayed = task_at(
                self._load_job, self.task_id, order, own, self._storage, before, self._clock, FlowWriter
            )
            if self._live is not before:
                self._begin_flow(self._live)
            self._live.task.watch.start()
            assert self.flow is not None
            self.flow.begin(order, own, run, results)

    def _begin_flow(self, live: LiveTask) -> None:
        self.flow = self._make_flow(live.task, call_soon=self.call_soon)
        early, self._early = self._early, []
        for frame in early:
            self.flow.deliver(frame)

    def deliver(self, frame: Frame) -> None:
        """Take a frame for this task."""
        if self.flow is None:
            self._early.append(frame)
            return
        with _Failing(self):
            self.flow.deliver(frame)

    def align(self, limits: Mapping[int, int]) -> None:
        """See ``FlowTask.align``."""
        if self.flow is not None:
            with _Failing(self):
                self.flow.align(limits)

    def so_far(self) -> TaskSoFar | None:
        """See ``FlowTask.so_far``; from any thread."""
        flow = self.flow
        return None if flow is None else flow.so_far()

    def deliver_marks(self, marks: EdgeMarks) -> None:
        """All senders of an edge have ended their epoch."""
        if self.flow is None:
            self._early += marks.each()
            return
        with _Failing(self):
            self.flow.deliver_marks(marks)

    def end(self) -> None:
        """The driver ends the epoch."""
        if self.flow is not None:
            self.flow.end()

    def step(self, now: int) -> Next:
        """See ``FlowTask.step``; the epoch's acknowledgement is in ``ack`` when it has ended here, or failed."""
        if self._failed or self.flow is None or self._live is None:
            return _NOTHING
        with _Failing(self):
            done = self.flow.step(now)
            if done.ended:
                self._acknowledge(self.flow.manifest.run)
            return done
        return _NOTHING

    def _acknowledge(self, run: int) -> None:
        live, order, flow = self._live, self._order, self.flow
        assert live is not None and flow is not None
        pressed = live.task.watch.spent[PRESSED] // 1000
        ack = finish_epoch(live, self.task_id, order, self._own, run, self._replayed, self._storage, self._snapshots)
        ack = replace(ack, times=ack.times._replace(pressed=pressed, pools=flow.pools.take()))
        self.ack = self._told(replace(ack, sent=flow.manifest.sent, received=flow.manifest.received))
        self._replayed = 0
        if live.task.finished:
            live.task.close()

    def _told(self, ack: TaskAck) -> TaskAck:
        report = None if self._worker is None else self._worker()
        return replace(ack, process=self._process, at=self._clock(), worker=report)

    def fail(self, failure: Failure) -> None:
        """Fail the epoch."""
        if not self._failed:
            self._failed = True
            self.ack = self._told(TaskAck(self._order.epoch, *self.task_id, failure=failure))
            self.close()

    def close(self) -> None:
        """Close the task; nothing of it is used again."""
        live, self._live, self.flow = self._live, None, None
        if live is not None:
            live.close()


class _Failing:
    """A context that turns an error into an acknowledgement with a failure."""

    def __init__(self, worker: FlowWorker) -> None:
        self._worker = worker

    def __enter__(self) -> None:
        """Nothing to prepare."""

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> bool:
        if not isinstance(error, Exception):
            return False
        self._worker.fail(failure_of(self._worker.task_id, error))
        return True
