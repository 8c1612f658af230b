"""Reads splits in a task: runs the reader of a FLIP-27 source, with the timestamps and watermarks of its strategy, and
buffers the reader's output, in order, until it is emitted.

A ``LiveReader`` is a subtask's open reader with its context; a ``Budget`` is the rest of an epoch's limits for the
subtask. A poll gives any number of elements, and a reader's positions in its splits are known only after a whole poll.
Elements that the epoch has no time for become part of the source's state, next to the splits.
"""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from enum import Enum
from time import perf_counter_ns
from typing import Any, NamedTuple

from millrace.common.functions import RuntimeContext
from millrace.common.source import (
    PATIENCE_SECONDS,
    InputStatus,
    ReaderOutput,
    Source,
    SourceEvent,
    SourceReaderContext,
    has_id,
    split_id,
)
from millrace.common.watermark_strategy import WatermarkStrategy
from millrace.relational.rows import Rows, count
from millrace.runtime.bases import epoch_protocol
from millrace.runtime.bases.epoch_protocol import SourceOrder, SourceReport
from millrace.runtime.bases.operator import OperatorContext, Output, ReadingLimits, ReadingOperator, least
from millrace.runtime.clocks import is_over
from millrace.runtime.elements import MIN_TIMESTAMP, PIECE_NANOSECONDS, Chunk, Cutter, PieceSize, Status, piece_size
from millrace.runtime.operators.timestamps import ExtractionError, SplitTimes, jumps_of
from millrace.runtime.state.operator_state import OperatorStateBackend
from millrace.util.skipped import SKIPPED_METRIC, counting_skipped
from millrace.util.system import FEW_RECORDS

# The reader's output

CHUNK = 4_096
"""The number of elements from single ``collect`` calls that form a chunk."""


class Kind(Enum):
    """The kinds of reader output."""

    ELEMENTS = "elements"
    MARK = "mark"
    OPEN = "open"
    """reading of a split begins"""
    RELEASE = "release"
    """a split has been read to its end"""
    REQUESTS = "requests"
    """(events for the enumerator, number of splits requested); sent when everything before it was emitted"""
    PART = "part"
    """elements from ``collect`` calls, of which more may follow; together they are one batch with one watermark"""
    END = "end"
    """the end of a batch of ``PART``"""
    LEFT = "left"
    """elements that earlier subtasks had not emitted, after a change of the parallelism"""


_WITH_ELEMENTS = (Kind.ELEMENTS, Kind.PART, Kind.LEFT)


class ReaderItem(NamedTuple):
    """One item of a reader's output, before timestamps and watermarks are made."""

    kind: Kind
    split: str | None
    """id of the split; None: the item belongs to no split"""
    content: Any = None
    """(values, timestamps), a watermark (ms), a status, or the content of REQUESTS"""

    @property
    def elements(self) -> int:
        """The number of elements in this item."""
        return count(self.content[0]) if self.kind in _WITH_ELEMENTS else 0

    @property
    def records(self) -> int:
        """The number of records that count for the epoch's limit: the elements, but at least one for each batch of
        rows."""
        return max(self.elements, len(self.content[0])) if self.kind in _WITH_ELEMENTS else 0


class UnsentOutput:
    """The output of a reader that the source has not emitted."""

    def __init__(self) -> None:
        self._items: deque[ReaderItem] = deque()
        self._cutter: Cutter | None = None
        """cuts the first item"""
        self.polled = 0
        """records since ``begin_poll``: elements, where a batch of rows counts as its rows, but at least as one"""

    def __bool__(self) -> bool:
        return bool(self._items)

    @property
    def first(self) -> ReaderItem:
        """The next item; some of its elements may have been taken."""
        return self._items[0]

    @property
    def elements(self) -> int:
        """The number of elements that were not taken."""
        cutter = self._cutter
        taken = 0 if cutter is None else self.first.elements - cutter.elements
        return sum(given.elements for given in self._items) - taken

    @property
    def items(self) -> tuple[ReaderItem, ...]:
        """All items, in order, without the elements that were taken."""
        if self._cutter is None:
            return tuple(self._items)
        first, *others = self._items
        left = self._cutter.left
        return first._replace(content=(left.values, left.timestamps)), *others

    def add(self, given: ReaderItem) -> None:
        self._items.append(given)

    def replace(self, items: Iterable[ReaderItem]) -> None:
        """Set the items."""
        self._items, self._cutter = deque(items), None

    def next(self) -> ReaderItem:
        """Take the next item, of which no element was taken yet."""
        return self._items.popleft()

    def take_several(self, most: int) -> list[ReaderItem]:
        """Take the next batches, if at least two of them have at most ``most`` elements together; else none."""
        found, elements = 0, 0
        for given in self._items if self._cutter is None else ():
            elements += given.elements
            if given.kind is not Kind.ELEMENTS or elements > most:
                break
            found += 1
        return [self.next() for _ in range(found)] if found > 1 else []

    def take(self, most: int) -> tuple[ReaderItem, bool]:
        """Take at most this many elements of the next item; also returns whether more of the same batch follow."""
        given, cutter = self.first, self._cutter
        if cutter is None:
            if given.elements <= most:
                return self.next(), given.kind is Kind.PART
            cutter = self._cutter = Cutter(Chunk(*given.content))
        piece = cutter.take(most)
        more = cutter.elements > 0
        if not more:
            self._cutter = None
            self.next()
        return given._replace(content=(piece.values, piece.timestamps)), more or given.kind is Kind.PART


class _Gathering(ReaderOutput[Any]):
    def __init__(self, kept: UnsentOutput, split: str | None) -> None:
        self._kept = kept
        self._split = split
        self._values: list[Any] = []
        self._timestamps: list[int | None] = []
        self._parts = 0
        """number of elements of the current batch that were flushed"""

    def collect(self, record: Any, timestamp: int | None = None) -> None:
        self._values.append(record)
        self._timestamps.append(timestamp)
        self._kept.polled += max(len(record), 1) if record.__class__ is Rows else 1
        if self._parts + len(self._values) >= CHUNK:
            self.end()

    def collect_batch(self, records: list[Any], timestamps: list[int] | None = None) -> None:
        self.end()
        self._kept.polled += max(count(records), len(records))
        if records:
            known = None if timestamps is None else list(timestamps)
            self._kept.add(ReaderItem(Kind.ELEMENTS, self._split, (records, known)))

    def emit_watermark(self, timestamp: int) -> None:
        self.end()
        self._kept.add(ReaderItem(Kind.MARK, self._split, timestamp))

    def mark_idle(self) -> None:
        self.end()
        self._kept.add(ReaderItem(Kind.MARK, self._split, Status.IDLE))

    def flush(self) -> None:
        if not self._values:
            return
        values, timestamps = self._values, self._timestamps
        self._values, self._timestamps = [], []
        self._parts += len(values)
        known = None if timestamps.count(None) == len(timestamps) else timestamps
        self._kept.add(ReaderItem(Kind.PART, self._split, (values, known)))

    def end(self) -> None:
        """End the batch of elements from single ``collect`` calls."""
        self.flush()
        if self._parts:
            self._parts = 0
            self._kept.add(ReaderItem(Kind.END, self._split))


class SourceOutput(_Gathering):
    """The output for elements of no split; makes the outputs of splits."""

    def __init__(self, kept: UnsentOutput) -> None:
        super().__init__(kept, None)
        self._splits: dict[str, _Gathering] = {}
        self._patience = PATIENCE_SECONDS

    def begin_poll(self, patience: float) -> None:
        """A poll begins.

        :param patience: how long the poll may wait (s).
        """
        self._patience = patience
        self._kept.polled = 0

    def patience(self) -> float:
        return self._patience

    def emit_watermark(self, timestamp: int) -> None:
        self.end_all()
        super().emit_watermark(timestamp)

    def mark_idle(self) -> None:
        self.end_all()
        super().mark_idle()

    def create_output_for_split(self, split_id: str) -> ReaderOutput[Any]:
        if split_id not in self._splits:
            self._splits[split_id] = _Gathering(self._kept, split_id)
            self._kept.add(ReaderItem(Kind.OPEN, split_id))
        return self._splits[split_id]

    def release_output_for_split(self, split_id: str) -> None:
        released = self._splits.pop(split_id, None)
        if released is not None:
            released.end()
        self._kept.add(ReaderItem(Kind.RELEASE, split_id))

    def flush_all(self) -> None:
        """Let elements from single ``collect`` calls be emitted."""
        for output in (self, *self._splits.values()):
            output.flush()

    def end_all(self) -> None:
        """End the batches of elements from single ``collect`` calls, because the epoch ends."""
        for output in (self, *self._splits.values()):
            output.end()


def hand_on(given: ReaderItem, times: SplitTimes, now: int) -> None:
    """Emit an item, with the timestamps and watermarks of its split."""
    if given.kind in (Kind.ELEMENTS, Kind.PART):
        values, timestamps = given.content
        if given.split is None:
            times.elements(values, timestamps, now)
        else:
            times.of_split(given.split).elements(values, timestamps, now)
    elif given.kind is Kind.LEFT:
        values, timestamps = given.content
        times.without_watermarks(values, timestamps, now)
    elif given.kind is Kind.END:
        times.periodic(given.split, now)
    elif given.kind is Kind.OPEN:
        times.of_split(given.split or "")
    elif given.kind is Kind.RELEASE:
        times.release(given.split or "")
    elif given.split is not None:
        times.of_split(given.split).mark(given.content)
    elif given.content is Status.IDLE:
        times.mark_idle()
    else:
        times.mark(given.content)


def belongs_nowhere(given: ReaderItem, unfinished: Sequence[Any]) -> bool:
    """Whether an item has elements of which nobody knows the split. With another parallelism another subtask could
    emit them, at the same time as later elements of that split.

    :param unfinished: the splits that the reader has.
    """
    if not given.elements or not unfinished:
        return False
    if given.split is None:
        return len(unfinished) > 1 or not has_id(unfinished[0])
    return not all(map(has_id, unfinished))


def by_splits(items: tuple[ReaderItem, ...], unfinished: list[str]) -> Iterator[tuple[str | None, ReaderItem]]:
    """A reader's remaining output, each item with the id of the split that it goes with, for restoring with another
    parallelism. Items of no split go with the first unfinished one, which a reader of one split after the other is
    reading; None: with no split.

    Only elements and messages to the enumerator are included. Event time starts from what the new subtask reads,
    because its other splits may be less far.

    :param unfinished: ids of the splits that go to a subtask. Items of other splits go with none, or they would go with
        each of them.
    """
    first = unfinished[0] if unfinished else None
    for given in items:
        if given.kind in _WITH_ELEMENTS:
            given = given._replace(kind=Kind.LEFT)
        elif given.kind is not Kind.REQUESTS:
            continue
        if given.split is None:
            yield first, given
        else:
            yield (given.split if given.split in unfinished else None), given


# Limits of an epoch


class Budget:
    """The rest of an epoch's limits for one subtask of a source."""

    def __init__(self, limits: ReadingLimits, clock: Callable[[], int], whole: bool) -> None:
        """:param whole: whether the epoch has no limits."""
        self._limits = ReadingLimits() if whole else limits
        self._most = least(self._limits.records, self._limits.paced)
        self._clock = clock
        self._records = 0
        self._begun = False
        """whether a piece was emitted: one always is, however little time there is"""
        millis = self._limits.millis
        self._until = None if millis is None or self._limits.at_first_piece else clock() + millis

    def without_end(self) -> Budget:
        """Of the same epoch, without its limits: only the receivers need room."""
        return Budget(ReadingLimits(room=self._limits.room), self._clock, False)

    @property
    def stays(self) -> bool:
        """Whether a source that has nothing is polled again in this epoch."""
        return self._limits.stays

    @property
    def unlimited(self) -> bool:
        """Whether everything is read at once."""
        return self._most is None and self._limits.millis is None

    def took(self, records: int) -> None:
        """Count emitted records."""
        if not records:
            return
        self._begun = True
        self._records += records
        if self._until is None and self._limits.millis is not None:
            self._until = self._clock() + self._limits.millis

    def fitting(self, most: int, rows: bool = False) -> int:
        """The number of records that may be emitted: at most ``most``, the records left in the epoch, and the room in
        the receivers; at least 1.

        :param rows: whether the records are in batches of rows.
        """
        if self._limits.room is not None:
            most = max(self._limits.room(most), 1)
        records = self._limits.paced if rows else self._most
        return most if records is None else max(min(most, records - self._records), 1)

    def spent(self) -> bool:
        """Whether the epoch's limits are reached."""
        if self._most is not None and self._records >= self._most:
            return True
        late = self._begun and self._until is not None and is_over(self._clock(), self._until, self._limits.millis or 0)
        return late or self._limits.over()


# The reader


class ReaderContext(SourceReaderContext):
    """The context of a reader. Threads of the reader may call it, too."""

    def __init__(
        self, context: OperatorContext, state: OperatorStateBackend, max_records: Callable[[], int | None]
    ) -> None:
        self._context = context
        self._state = state
        self._max_records = max_records
        self._events: deque[SourceEvent] = deque()
        self._requests: deque[None] = deque()

    def get_index_of_subtask(self) -> int:
        return self._context.runtime.get_index_of_this_subtask()

    def current_parallelism(self) -> int:
        return self._context.runtime.get_number_of_parallel_subtasks()

    def current_processing_time(self) -> int:
        return self._context.clock()

    def max_records(self) -> int | None:
        return self._max_records()

    def get_runtime_context(self) -> RuntimeContext:
        return self._context.runtime

    def get_operator_state_store(self) -> OperatorStateBackend:
        return self._state

    def send_split_request(self) -> None:
        self._requests.append(None)

    def send_source_event_to_coordinator(self, event: SourceEvent) -> None:
        self._events.append(event)

    @property
    def has_said(self) -> bool:
        """Whether there are events or split requests since the last call of ``said``."""
        return bool(self._events or self._requests)

    def said(self) -> tuple[tuple[SourceEvent, ...], int]:
        """The events since the last call, and the number of split requests."""
        return tuple(_taken(self._events)), sum(1 for _ in _taken(self._requests))


class LiveReader:
    """A reader that was started and has its splits."""

    def __init__(
        self, source: Source[Any, Any], context: ReaderContext, output: SourceOutput, splits: Iterable[Any]
    ) -> None:
        """:param splits: unfinished splits of the reader before it."""
        self.output = output
        self.reader = source.create_reader(context)
        self._context = context
        self._checkpoint: int | None = None
        self._ahead: frozenset[str] = frozenset()
        try:
            self.reader.start()
            if left := list(splits):
                self.reader.add_splits(left)
        except BaseException:
            self.reader.close()
            raise

    def begin_epoch(self, order: SourceOrder, ahead: frozenset[str]) -> None:
        """Give the reader the events and new splits of an order.

        :param ahead: ids of the splits not to be read.
        """
        reader = self.reader
        if order.checkpoint is not None and order.checkpoint != self._checkpoint:
            self._checkpoint = order.checkpoint
            reader.notify_checkpoint_complete(order.checkpoint)
        for event in order.events:
            reader.handle_source_events(event)
        self.leave_alone(ahead)
        if new := [*order.splits, *epoch_protocol.unpack(order.packed)]:
            reader.add_splits(new)
        if order.no_more_splits:
            reader.notify_no_more_splits()

    def leave_alone(self, ahead: frozenset[str]) -> None:
        """Pause the splits with these ids, and resume all others."""
        if ahead != self._ahead:
            self.reader.pause_or_resume_splits(sorted(ahead - self._ahead), sorted(self._ahead - ahead))
            self._ahead = ahead

    @property
    def has_said(self) -> bool:
        """Whether there are events or split requests for the enumerator."""
        return self._context.has_said

    def said(self) -> tuple[tuple[SourceEvent, ...], int]:
        """The reader's events for the enumerator, and the number of splits that it has requested."""
        return self._context.said()


def _taken(queue: deque[Any]) -> Iterable[Any]:
    """Take all items that are in the queue now; other threads may add to it meanwhile."""
    for _ in range(len(queue)):
        yield queue.popleft()


# The operator

WAIT_SECONDS = 0.005
"""How long a source that must be read to its end sleeps when it has nothing (s)."""
MUCH = 1_000
"""The number of records of a poll from which on a reader counts as behind."""
_NEWER: tuple[Any, ...] = (None, None, (), (), {})
"""default values of the parts that snapshots of earlier versions lack"""


class SourceOperator(ReadingOperator):
    """The first operator of every stream. It has no inputs: the task calls ``read`` once per epoch.

    Its reader lives as long as the operator. The unfinished splits are part of the operator's own state, so a new
    reader can continue from there; the driver only sends new ones.
    """

    def __init__(self, source: Source[Any, Any], strategy: WatermarkStrategy) -> None:
        self._source = source
        self._strategy = strategy
        self._report = SourceReport((), False, MIN_TIMESTAMP)
        self._finished = False
        self._paused = False
        self._operator_state = OperatorStateBackend()
        self._live: LiveReader | None = None
        self._size = PieceSize()
        self._rows_size = piece_size(calls_for_each=False)
        self._budget = Budget(ReadingLimits(), bool, True)
        self._kept = UnsentOutput()
        """output of the reader that was not emitted yet"""
        self._left_behind: dict[str, list[ReaderItem]] = {}
        """split id -> output of earlier subtasks for this split that was not emitted; it goes to the subtask that gets
        the split"""
        self._unsent: list[tuple[tuple[Any, ...], int]] = []
        self._at_end = False
        """whether the reader is not polled any more"""
        self._is_dry = False
        self._had_splits = False
        """whether the reader had splits when the epoch began"""

    def setup(self, context: OperatorContext, output: Output) -> None:
        super().setup(context, output)
        jumps = jumps_of(self._strategy, context)
        self._times = SplitTimes(self._strategy, self.emit, output, context.midst, jumps)
        self._skipped = context.runtime.get_metrics_group().counter(SKIPPED_METRIC)

    def process(self, chunk: Chunk, input: int) -> None:
        raise AssertionError("a source has no input")

    @property
    def holds_back(self) -> bool:
        return self._had_splits and not (self._finished or self._times.idle)

    def align(self, limit: int) -> bool:
        try:
            if self._live is not None:
                self._live.leave_alone(self._times.ahead(limit))
        except Exception as error:
            self._drop_quietly()
            raise self.context.error(error, during=" to read") from error
        self._paused = self._times.watermark > limit
        return self._paused

    def read(self, order: SourceOrder, epoch: int, limits: ReadingLimits) -> Iterator[None]:
        """Read this epoch's share. Each ``yield``, after every poll and piece, lets the task pass on the results so
        far."""
        if self._finished:
            return
        try:
            yield from self._read(order, epoch, Budget(limits, self.context.clock, order.whole))
        except ExtractionError as error:
            self._drop_quietly()
            raise self.context.error(error.cause or error, error.element, f" {error}") from error
        except Exception as error:
            self._drop_quietly()
            raise self.context.error(error, during=" to read") from error

    def _read(self, order: SourceOrder, epoch: int, budget: Budget) -> Iterator[None]:
        self._paused = order.paused and not order.stop
        if order.stop and self._live is None and not self._kept:
            self._end()  # a reader that would only be told to stop is not worth making
            yield
            return
        live = self._live or self._begin(budget)
        self._budget = budget
        live.begin_epoch(order, self._times.ahead(order.limit))
        self._had_splits = live.reader.has_splits()
        self._take_up(order)
        if not self._paused:
            yield from self._hand_on(budget)
        dry = False
        if not order.paused and not order.stop and not self._at_end:
            for dry in self._polls(live, order, budget):
                for _ in self._hand_on(budget):
                    if self._kept or self._at_end or not (dry and budget.stays):  # else the next yield follows at once
                        yield
                if dry and budget.stays and not self._at_end:
                    self._is_dry = True
                    yield
                    self._is_dry = False
        if not self._at_end:
            live.reader.end_epoch(live.output, epoch)
            self._at_end = order.stop
        live.output.end_all()
        splits = () if self._at_end else tuple(live.reader.snapshot_state(epoch))
        if not self._paused:
            yield from self._hand_on(budget)
            if any(belongs_nowhere(given, splits) for given in self._kept.items):
                yield from self._hand_on(budget.without_end())
        if self._kept:
            self._kept.add(ReaderItem(Kind.REQUESTS, None, live.said()))
        else:
            self._unsent.append(live.said())
        if self._at_end and not self._kept:
            self._end(*self._take_unsent())
        else:
            more = bool(self._kept) or not (dry or self._paused)
            times = self._times
            self._report = SourceReport(splits, False, times.watermark, times.idle, *self._take_unsent(), more=more)
        yield

    def _take_unsent(self) -> tuple[tuple[Any, ...], int]:
        """The events for the enumerator, and the number of split requests, whose preceding elements were all
        emitted.
        """
        messages, self._unsent = self._unsent, []
        return tuple(event for events, _ in messages for event in events), sum(requests for _, requests in messages)

    def _polls(self, live: LiveReader, order: SourceOrder, budget: Budget) -> Iterator[bool]:
        """Poll the reader until it has no more for this epoch, or the limits are reached; yields whether it had
        nothing."""
        patience = 0.0 if budget.stays else PATIENCE_SECONDS
        while not budget.spent() and not self._kept:
            status, given = self._gather(live, budget, patience)
            # A reader that gives many records at once is behind, and may wait a moment for its next part. Other readers
            # have read what was there: records that trickle in later belong to the next epoch, or this one would not
            # end.
            patient = order.whole or (given >= MUCH and not budget.stays)
            patience = PATIENCE_SECONDS if patient else 0.0
            self._at_end = status is InputStatus.END_OF_INPUT
            if status is InputStatus.NOTHING_AVAILABLE and order.whole:
                yield False
                time.sleep(WAIT_SECONDS)
                continue
            yield status is not InputStatus.MORE_AVAILABLE
            if self._at_end or (status is InputStatus.NOTHING_AVAILABLE and not budget.stays):
                return

    def _gather(self, live: LiveReader, budget: Budget, patience: float) -> tuple[InputStatus, int]:
        """Poll the reader, which may give single elements, until there is a piece; returns its status and the number of
        records."""
        output, until, given = live.output, perf_counter_ns() + PIECE_NANOSECONDS, 0
        while True:
            output.begin_poll(patience)
            with counting_skipped() as skipped:
                status = live.reader.poll_next(output)
            self._skipped.inc(skipped.number)
            given += self._kept.polled
            single = status is InputStatus.MORE_AVAILABLE and given and not self._kept
            # A few records of one split, and maybe a few of the next: later operators need nearly the same time for one
            # as for both.
            few = status is InputStatus.MORE_AVAILABLE and budget.stays and given < FEW_RECORDS
            enough = given >= budget.fitting(FEW_RECORDS if few else self._size.size)
            if not (single or few) or enough or perf_counter_ns() >= until:
                output.flush_all()
                return status, given

    def _hand_on(self, budget: Budget) -> Iterator[None]:
        """Emit the reader's output piece by piece, as far as the limits allow."""
        kept = self._kept
        while kept:
            given = kept.first
            if given.kind is Kind.REQUESTS:
                self._unsent.append(kept.next().content)
            elif not given.elements:
                hand_on(kept.next(), self._times, self.context.steady())
                budget.took(given.records)
            elif budget.spent():
                return
            else:
                self._hand_on_piece(budget)
                yield

    @property
    def left(self) -> tuple[ReaderItem, ...]:
        """Output that was read and not emitted."""
        return self._kept.items

    def hand_on_left(self) -> Iterator[None]:
        """Emit all remaining output in this epoch, since the state can't contain it; yields after every piece."""
        if not self._kept:
            return
        yield from self._hand_on(Budget(ReadingLimits(), self.context.clock, True))
        if self._at_end:
            self._end(*self._take_unsent())
            return
        events, requests = self._take_unsent()
        times, report = self._times, self._report
        self._report = replace(
            report,
            watermark=times.watermark,
            idle=times.idle,
            events=report.events + events,
            requests=report.requests + requests,
        )

    def _hand_on_piece(self, budget: Budget) -> None:
        kept, midst, now = self._kept, self.context.midst, self.context.steady()
        size = self._rows_size if kept.first.content[0][0].__class__ is Rows else self._size
        most = budget.fitting(size.size, size is self._rows_size)
        if budget.stays and (several := kept.take_several(min(most, FEW_RECORDS))):
            with self._times.together():
                for each in several:
                    hand_on(each, self._times, now)
            budget.took(sum(each.records for each in several))
            return
        piece, more = kept.take(most)
        if more:
            midst.enter()
        began = perf_counter_ns()
        hand_on(piece, self._times, now)
        size.took(piece.elements, perf_counter_ns() - began)
        if more:
            midst.leave()
        budget.took(piece.records)

    def _begin(self, budget: Budget) -> LiveReader:
        self.context.runtime.measures.accumulators.expect_again()
        self._budget = budget
        context = ReaderContext(self.context, self._operator_state, self._fitting)
        self._live = LiveReader(self._source, context, SourceOutput(self._kept), self._report.splits)
        if self.on_available is not None:
            self.is_woken = self._live.reader.on_available(self.on_available, self.pause_ms)
        return self._live

    def _fitting(self) -> int | None:
        """The most records that a poll should give; None: any number. Below a full piece only if pieces were too
        slow.
        """
        budget, slow = self._budget, self._size.has_fallen
        return None if budget.unlimited else budget.fitting(self._size.size if slow else self._size.most)

    def _take_up(self, order: SourceOrder) -> None:
        """Emit, for new splits, the output that earlier subtasks had not emitted."""
        if not self._left_behind:
            return
        for split in (*order.splits, *epoch_protocol.unpack(order.packed)):
            for given in self._left_behind.pop(split_id(split), ()):
                self._kept.add(given)
        if order.no_more_splits:
            self._left_behind.clear()

    def _end(self, events: tuple[Any, ...] = (), requests: int = 0) -> None:
        self._finished = True
        self.close()
        self._times.end()
        self.output.mark(Status.FINISHED)
        self._report = SourceReport((), True, self._times.watermark, events=events, requests=requests)

    @property
    def finished(self) -> bool:
        """Whether the last split has been read to its end."""
        return self._finished

    @property
    def is_dry(self) -> bool:
        return self._is_dry

    @property
    def needs_driver(self) -> bool:
        live = self._live
        if live is None:
            return False
        return live.has_said or (self._had_splits and self._is_dry and not live.reader.has_splits())

    def kept(self) -> int:
        with contextlib.suppress(RuntimeError, IndexError):  # they have changed meanwhile
            return self._kept.elements
        return 0

    def report(self) -> SourceReport:
        """The report for the driver; the state of this epoch is already written."""
        if self._live is not None:
            self._live.reader.snapshot_taken()
        return self._report

    def tick(self, now: int) -> None:
        # A source that is paused for its alignment group is not idle.
        if not self._finished and not self._paused and not self._kept:
            self._times.clock(self.context.steady())
            self._report = replace(self._report, watermark=self._times.watermark, idle=self._times.idle)

    def operator_state(self) -> OperatorStateBackend:
        return self._operator_state

    def snapshot(self) -> Any:
        if not self._kept and not self._left_behind:
            return (self._times.snapshot(), self._finished, self._report.splits)
        kept, left_behind = self._kept.items, dict(self._left_behind)
        return (self._times.snapshot(), self._finished, self._report.splits, kept, left_behind)

    def restore(self, snapshot: Any) -> None:
        self._drop_quietly()
        # Without splits: a checkpoint of Millrace 0.1, whose driver sends all splits.
        times, self._finished, splits, kept, left_behind = _all_parts(snapshot)
        self._times.restore(times)
        self._report = SourceReport(splits, self._finished, self._times.watermark)
        self._at_end = False
        self._unsent = []
        self._kept.replace(kept)
        self._left_behind = dict(left_behind)

    def take_over_small(self, smalls: Sequence[Any]) -> None:
        # A subtask that had ended reports its end again, since later operators wait for it. The driver assigns all
        # splits again.
        runtime = self.context.runtime
        subtask, parallelism = runtime.get_index_of_this_subtask(), runtime.get_number_of_parallel_subtasks()
        self._times.take_over([small[0] for small in smalls], subtask, parallelism)
        if len(smalls) == parallelism:
            _, _, _, kept, self._left_behind = _all_parts(smalls[subtask])
            self._kept.replace(kept)
            return
        self._left_behind = {}
        mine: list[ReaderItem] = []
        for small in smalls:
            _, _, _, _, left_behind = _all_parts(small)
            for name, items in left_behind.items():
                self._left_behind.setdefault(name, items)
        for earlier, small in enumerate(smalls):
            # The output that a subtask had for its own splits is newer than what other subtasks hold for them.
            _, _, splits, kept, _ = _all_parts(small)
            unfinished = [split_id(split) for split in splits if has_id(split)]
            for name in unfinished:
                self._left_behind.pop(name, None)
            for split, given in by_splits(kept, unfinished):
                if split is not None:
                    self._left_behind.setdefault(split, []).append(given)
                elif earlier % parallelism == subtask:
                    mine.append(given)
        self._kept.replace(mine)

    def close(self) -> None:
        live, self._live = self._live, None
        if live is not None:
            live.reader.close()

    def _drop_quietly(self) -> None:
        """Close the reader, which is out of date or has failed, and ignore errors."""
        with contextlib.suppress(Exception):
            self.close()


def _all_parts(snapshot: tuple[Any, ...]) -> tuple[Any, ...]:
    return (*snapshot, *_NEWER[len(snapshot) :])
