"""A small runtime for connectors: epochs with budgets, snapshots between them, and crashes on request."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from millrace.common.sink import Sink, SinkWriter, SinkWriterContext, WriterInitContext
from millrace.common.source import (
    InputStatus,
    ReaderOutput,
    Source,
    SourceEvent,
    SourceReaderContext,
    SplitEnumeratorContext,
)
from millrace.runtime.bases.runtime_context import OperatorRuntimeContext


class Clock:
    """A clock (ms) that only moves when the test moves it."""

    def __init__(self, now: int = 1_700_000_000_000) -> None:
        self.now = now


class Collected(ReaderOutput[Any]):
    """Collects the elements that a reader emits."""

    def __init__(self) -> None:
        self.records: list[Any] = []
        self.timestamps: list[int | None] = []
        self.watermarks: list[int] = []

    def collect(self, record: Any, timestamp: int | None = None) -> None:
        self.collect_batch([record], None if timestamp is None else [timestamp])

    def collect_batch(self, records: list[Any], timestamps: list[int] | None = None) -> None:
        assert records, "an empty batch costs something and says nothing"
        assert timestamps is None or len(timestamps) == len(records)
        self.records.extend(records)
        self.timestamps.extend(timestamps or [None] * len(records))

    def emit_watermark(self, timestamp: int) -> None:
        self.watermarks.append(timestamp)

    def mark_idle(self) -> None:
        self.watermarks.append(-1)


class ReaderContext(SourceReaderContext):
    def __init__(self, subtask: int, parallelism: int, clock: Clock) -> None:
        self._subtask, self._parallelism, self._clock = subtask, parallelism, clock
        self.events: list[SourceEvent] = []
        """events that have not been delivered to the enumerator yet"""

    def send_source_event_to_coordinator(self, event: SourceEvent) -> None:
        self.events.append(event)

    def get_index_of_subtask(self) -> int:
        return self._subtask

    def current_parallelism(self) -> int:
        return self._parallelism

    def current_processing_time(self) -> int:
        return self._clock.now

    def get_runtime_context(self) -> OperatorRuntimeContext:
        return OperatorRuntimeContext("driven", self._subtask, self._parallelism, 128)


class EnumeratorContext(SplitEnumeratorContext[Any]):
    def __init__(self, parallelism: int, clock: Clock) -> None:
        self._parallelism, self._clock = parallelism, clock
        self.assigned: dict[int, list[Any]] = {}
        self.no_more: set[int] = set()
        self.events: list[tuple[int, SourceEvent]] = []
        """events that have not been delivered to their reader yet, with its subtask"""

    def send_event_to_source_reader(self, subtask_id: int, event: SourceEvent) -> None:
        self.events.append((subtask_id, event))

    def current_parallelism(self) -> int:
        return self._parallelism

    def assign_split(self, split: Any, subtask_id: int) -> None:
        self.assigned.setdefault(subtask_id, []).append(split)

    def signal_no_more_splits(self, subtask_id: int) -> None:
        self.no_more.add(subtask_id)

    def current_processing_time(self) -> int:
        return self._clock.now


class SourceRun:
    """One run of a source over several epochs. Only pickled state survives from one epoch to the next."""

    def __init__(self, source: Source[Any, Any], parallelism: int = 1, clock: Clock | None = None) -> None:
        self.source = pickle.loads(pickle.dumps(source))
        self.parallelism = parallelism
        self.clock = clock or Clock()
        self.enumerator_state: Any = None
        self.started = False
        self.splits: list[list[Any]] = [[] for _ in range(parallelism)]
        self.no_more: set[int] = set()
        self.ended: set[int] = set()
        self.outputs = [Collected() for _ in range(parallelism)]
        self.epochs = 0

    def state(self) -> bytes:
        """The content of a checkpoint."""
        return pickle.dumps((self.enumerator_state, self.started, self.splits, self.no_more, self.ended))

    def restore(self, state: bytes) -> None:
        self.enumerator_state, self.started, self.splits, self.no_more, self.ended = pickle.loads(state)

    def plan(self) -> None:
        context = EnumeratorContext(self.parallelism, self.clock)
        enumerator = self.source.create_enumerator(context, self.enumerator_state if self.started else None)
        enumerator.start()
        assigned = -1
        while assigned != (assigned := sum(map(len, context.assigned.values()))):
            for subtask in range(self.parallelism):
                enumerator.handle_split_request(subtask)
        self.enumerator_state = pickle.loads(pickle.dumps(enumerator.snapshot_state(self.epochs)))
        self.started = True
        enumerator.close()
        for subtask, splits in context.assigned.items():
            self.splits[subtask].extend(splits)
        self.no_more |= context.no_more

    def epoch(self, budget: int | None = None) -> None:
        """Plan, then let each reader poll until it is done or has emitted ``budget`` elements."""
        self.epochs += 1
        self.plan()
        for subtask in range(self.parallelism):
            if subtask in self.ended:
                continue
            reader = self.source.create_reader(ReaderContext(subtask, self.parallelism, self.clock))
            reader.start()
            reader.add_splits(pickle.loads(pickle.dumps(self.splits[subtask])))
            if subtask in self.no_more:
                reader.notify_no_more_splits()
            output, before = self.outputs[subtask], len(self.outputs[subtask].records)
            status = InputStatus.MORE_AVAILABLE
            try:
                while status is InputStatus.MORE_AVAILABLE:
                    status = reader.poll_next(output)
                    if budget is not None and len(output.records) - before >= budget:
                        break
                self.splits[subtask] = reader.snapshot_state(self.epochs)
            finally:
                reader.close()
            if status is InputStatus.END_OF_INPUT:
                assert not self.splits[subtask]
                self.ended.add(subtask)

    def to_end(self, budgets: Iterator[int | None] | None = None, max_epochs: int = 10_000) -> list[list[Any]]:
        """Run until every reader has ended; returns the elements by subtask."""
        while len(self.ended) < self.parallelism:
            assert self.epochs < max_epochs, "the source does not end"
            self.epoch(next(budgets, None) if budgets is not None else None)
        return self.records()

    def records(self) -> list[list[Any]]:
        return [output.records for output in self.outputs]


def read_all(source: Source[Any, Any], parallelism: int = 1, budget: int | None = None) -> list[Any]:
    """All elements of a bounded source, subtask by subtask."""
    budgets: Iterator[int | None] = iter(lambda: budget, object())
    return [record for records in SourceRun(source, parallelism).to_end(budgets) for record in records]


class WriterContext(WriterInitContext):
    def __init__(self, subtask: int, parallelism: int, epoch: int, clock: Clock) -> None:
        self._subtask, self._parallelism, self._epoch, self._clock = subtask, parallelism, epoch, clock

    def begin_epoch(self, epoch: int) -> None:
        self._epoch = epoch

    def get_index_of_subtask(self) -> int:
        return self._subtask

    def get_number_of_parallel_subtasks(self) -> int:
        return self._parallelism

    def get_job_id(self) -> str:
        return "job"

    def get_checkpoint_id(self) -> int:
        return self._epoch

    def current_processing_time(self) -> int:
        return self._clock.now

    def get_runtime_context(self) -> OperatorRuntimeContext:
        return OperatorRuntimeContext("driven", self._subtask, self._parallelism, 128)


class ElementContext(SinkWriterContext):
    def timestamp(self) -> int | None:
        return 7

    def current_watermark(self) -> int:
        return 5


class TaskFailure(Exception):
    """A failure that a test asked for."""


class SinkRun:
    """One run of a sink over several epochs. Parallelism is 1 by default. Writers live until an epoch fails, the input
    ends or ``move`` is called."""

    def __init__(self, sink: Sink[Any], parallelism: int = 1, clock: Clock | None = None) -> None:
        self.sink = pickle.loads(pickle.dumps(sink))
        self.parallelism = parallelism
        self.clock = clock or Clock()
        self.writers: dict[int, tuple[SinkWriter[Any], WriterContext]] = {}
        self.states: list[list[Any]] = [[] for _ in range(parallelism)]
        self.committed: list[Any] = []
        self.epochs = 0

    def epoch(self, elements: Iterable[Any], end: bool = False, crash: str | None = None) -> None:
        """Write the elements round robin and commit them.

        ``crash``: "write" fails before prepare_commit; "abort" after it, and the epoch is forgotten; "commit" once the
        epoch is recorded, so that its committables are committed twice.
        """
        self.epochs += 1
        prepared: list[Any] = []
        states: list[list[Any]] = []
        try:
            for subtask in range(self.parallelism):
                committables, state = self.task(
                    subtask, list(elements)[subtask :: self.parallelism], end, crash == "write"
                )
                prepared.extend(committables)
                states.append(state)
        except BaseException as error:
            self.close()
            if not isinstance(error, TaskFailure):
                raise
            return
        if end or crash == "abort":
            self.close()
        prepared = pickle.loads(pickle.dumps(prepared))
        committer = self.sink.create_committer()
        if committer is None:
            assert not prepared
            return
        if crash == "abort":
            committer.abort(prepared)
            return
        self.states = states
        if crash == "commit":
            committer.commit(prepared[: len(prepared) // 2])
        committer.commit(prepared)
        if crash == "commit":
            committer.commit(prepared)
        self.committed.extend(prepared)
        committer.close()

    def task(self, subtask: int, elements: Sequence[Any], end: bool, fail: bool) -> tuple[list[Any], list[Any]]:
        if subtask not in self.writers:
            context = WriterContext(subtask, self.parallelism, self.epochs, self.clock)
            state = pickle.loads(pickle.dumps(self.states[subtask]))
            writer = self.sink.restore_writer(context, state) if state else self.sink.create_writer(context)
            self.writers[subtask] = (writer, context)
        writer, context = self.writers[subtask]
        context.begin_epoch(self.epochs)
        for element in elements:
            writer.write(element, ElementContext())
        if fail:
            raise TaskFailure
        writer.flush(end)
        return writer.prepare_commit(), writer.snapshot_state(self.epochs)

    def move(self) -> list[SinkWriter[Any]]:
        """Move all tasks to other workers; returns the writers that are left behind."""
        left = [writer for writer, _ in self.writers.values()]
        self.writers.clear()
        return left

    def close(self) -> None:
        for writer in self.move():
            writer.close()

    def recover(self) -> None:
        """Recover from a failure, as a job does."""
        self.close()
        committer = self.sink.create_committer()
        if committer is not None:
            committer.recover("job", (), [state for states in self.states for state in states])

    def rescale(self, parallelism: int, distribute: Callable[[list[Any], int], list[list[Any]]]) -> None:
        self.close()
        self.states = distribute([state for states in self.states for state in states], parallelism)
        self.parallelism = parallelism
