"""Loops of ``iterate``: the head, the end, and the driver's side.

Elements at the end of a loop travel to the driver in the acknowledgement, and from there to the loop's head, which
emits them before its input of the next epoch. They are encoded like packets of an exchange and have no effect on
watermarks: event time in the loop is that of the input. Only the end of the input waits at the head, until the driver
knows that nothing is fed back any more.

Loops that feed each other (one inside the other, say) are a group. When everything above a group has ended and an epoch
fed nothing back, the last watermark may pass its heads; when nothing is fed back after that either, the group ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Any, Protocol

from millrace.runtime.bases.epoch_protocol import OperatorReport, SourceOrder, SourceReport
from millrace.runtime.bases.operator import Operator, OperatorContext, Output, ReadingLimits, ReadingOperator
from millrace.runtime.elements import MAX_WATERMARK, Chunk, LatencyMark, Status
from millrace.runtime.exchange.codec import decode, encode
from millrace.runtime.exchange.exchange import FLUSH_AT
from millrace.runtime.operators.job_graph import JobGraph, OperatorInfo
from millrace.runtime.operators.specs import CloseWith, Iterate
from millrace.runtime.storage import first_unpicklable

# The head

END_OF_TIME = encode(Chunk([]), [(0, MAX_WATERMARK)])
"""The packet by which the driver lets the last watermark pass the head."""

Mark = int | Status
_ENDS = frozenset({MAX_WATERMARK, Status.FINISHED})


class _EndsWithLoop:
    """An output that holds back the last watermark and the end of the input until the loop may end."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self.arrived: set[Mark] = set()
        self.allowed: set[Mark] = set()
        self.emit = output.emit
        self.emit_side = output.emit_side

    def mark(self, mark: Mark) -> None:
        if mark in _ENDS:
            self.arrived.add(mark)
            self._let_pass(mark)
        else:
            self._output.mark(mark)

    def allow(self, mark: Mark) -> None:
        self.allowed.add(mark)
        self._let_pass(mark)

    def _let_pass(self, mark: Mark) -> None:
        if mark in self.arrived and mark in self.allowed:
            self._output.mark(mark)


class IterateOperator(ReadingOperator):
    """``DataStream.iterate``. Only the driver uses ``max_rounds``."""

    def __init__(self, max_rounds: int | None) -> None:
        self.max_rounds = max_rounds

    def setup(self, context: OperatorContext, output: Output) -> None:
        self._ends = _EndsWithLoop(output)
        super().setup(context, self._ends)

    def process(self, chunk: Chunk, input: int) -> None:
        self.output.emit(chunk)

    def read(self, order: SourceOrder, epoch: int, limits: ReadingLimits) -> Iterator[None]:
        """Emit everything that was fed back, whatever the epoch's limits: a round of the loop is one epoch.

        A stopped job loses none of it: its loops end when they are empty.
        """
        for packet in order.splits:
            for item in decode(packet):
                if isinstance(item, Chunk):
                    self.emit(item.values, item.timestamps)
                    yield
                elif not isinstance(item, LatencyMark):
                    self._ends.allow(item)
        if order.no_more_splits:
            self._ends.allow(Status.FINISHED)
        yield

    @property
    def finished(self) -> bool:
        return Status.FINISHED in self._ends.arrived & self._ends.allowed

    def report(self) -> SourceReport:
        return SourceReport((), self.finished, self.watermark)

    def snapshot(self) -> Any:
        return (set(self._ends.arrived), set(self._ends.allowed))

    def restore(self, snapshot: Any) -> None:
        arrived, allowed = snapshot
        self._ends.arrived, self._ends.allowed = set(arrived), set(allowed)


# The end


class CloseWithOperator(Operator):
    """``IterativeStream.close_with``. ``head`` is the id of the loop's head; only the driver uses it."""

    def __init__(self, head: int) -> None:
        self.head = head
        self._chunks: list[Chunk] = []
        self._waiting = 0
        self._packets: list[bytes] = []

    def process(self, chunk: Chunk, input: int) -> None:
        self._chunks.append(chunk)
        self._waiting += len(chunk.values)
        if self._waiting >= FLUSH_AT:
            self._pack()

    def end_epoch(self) -> None:
        if self._chunks:
            self._pack()

    def _pack(self) -> None:
        chunks, self._chunks, self._waiting = self._chunks, [], 0
        values = [value for chunk in chunks for value in chunk.values]
        timestamps = None
        if any(chunk.timestamps is not None for chunk in chunks):
            timestamps = list(chain.from_iterable(c.timestamps or repeat(None, len(c.values)) for c in chunks))
        try:
            self._packets.append(encode(Chunk(values, timestamps), []))
        except Exception as error:
            raise self.context.error(error, first_unpicklable(values), " to feed its elements back") from error

    def take_packets(self) -> tuple[bytes, ...]:
        """The elements for the loop's head, in the format of an exchange."""
        packets, self._packets = tuple(self._packets), []
        return packets


# Loops on the driver


class Reading(Protocol):
    """The driver's object for an operator that reads splits."""

    info: OperatorInfo

    def assign_split(self, split: Any, subtask_id: int) -> None: ...

    def signal_no_more_splits(self, subtask_id: int) -> None: ...

    def done(self) -> bool: ...


@dataclass
class _Loop:
    head: Reading
    tail: int
    max_rounds: int | None
    rounds: int = 0
    """number of epochs that fed elements back since the input ended"""

    @property
    def exhausted(self) -> bool:
        return self.rounds == self.max_rounds

    def feed(self, reports: Iterable[OperatorReport], count: bool) -> bool:
        """Assign the packets that an epoch fed back to the head's subtasks, each to the same index; returns whether
        there were any."""
        if self.exhausted:
            return False
        parts = [(report.subtask, packet) for report in reports for packet in report.fed_back]
        for subtask, packet in parts:
            self.head.assign_split(packet, subtask)
        self.rounds += bool(count and parts)
        return bool(parts)


@dataclass
class _Group:
    loops: list[_Loop]
    inputs: list[Reading]
    """the sources and loop heads above the group"""
    time_ended: bool = False
    """whether the last watermark has passed the group's heads"""

    def complete(self, reports: Mapping[int, Sequence[OperatorReport]]) -> None:
        if all(loop.head.done() for loop in self.loops):
            return
        input_ended = all(source.done() for source in self.inputs)
        fed = [loop.feed(reports.get(loop.tail, ()), input_ended) for loop in self.loops]
        exhausted = all(loop.exhausted for loop in self.loops)
        if input_ended and (exhausted or not any(fed)):
            self._end(whole=exhausted or self.time_ended)

    def _end(self, whole: bool) -> None:
        for loop in self.loops:
            for subtask in range(loop.head.info.parallelism):
                if not self.time_ended:
                    loop.head.assign_split(END_OF_TIME, subtask)
                if whole:
                    loop.head.signal_no_more_splits(subtask)
        self.time_ended = True


class Loops:
    """All loops of a job."""

    def __init__(self, job: JobGraph, sources: Mapping[int, Reading]) -> None:
        """``sources``: operator id -> state of every operator that reads splits, including loop heads."""
        self._groups = _groups(job, sources)

    def complete(self, reports: Iterable[OperatorReport]) -> None:
        """Take the reports of a complete epoch and assign what the heads read next. To be called after the sources'
        positions were updated."""
        by_operator: dict[int, list[OperatorReport]] = {}
        for report in reports:
            by_operator.setdefault(report.operator, []).append(report)
        for group in self._groups:
            group.complete(by_operator)

    def snapshot(self) -> tuple[Any, ...]:
        """Progress of every group: whether the last watermark has passed, and the rounds of its loops."""
        return tuple((group.time_ended, tuple(loop.rounds for loop in group.loops)) for group in self._groups)

    def restore(self, snapshot: tuple[Any, ...]) -> None:
        """Restore a snapshot of these same loops. A snapshot of other loops is ignored; elements in the loops are
        restored elsewhere."""
        rounds = [loops for _, loops in snapshot]
        if [len(group.loops) for group in self._groups] != [len(loops) for loops in rounds]:
            return
        for group, (time_ended, counts) in zip(self._groups, snapshot):
            group.time_ended = time_ended
            for loop, count in zip(group.loops, counts):
                loop.rounds = count

    def begin_from(self, snapshot: tuple[Any, ...]) -> None:
        """Restore a snapshot for a new job whose sources will end again, so the last watermark is still to come."""
        self.restore(snapshot)
        for group in self._groups:
            group.time_ended = False


def has_loops(job: JobGraph) -> bool:
    return any(isinstance(info.spec, Iterate) for info in job.operators)


def _groups(job: JobGraph, sources: Mapping[int, Reading]) -> list[_Group]:
    """The groups in topological order: the inputs of a group are sources, or in groups before it."""
    above = job.above
    rounds = {info.id: info.spec.max_rounds for info in job.operators if isinstance(info.spec, Iterate)}
    loops = [
        _Loop(sources[info.spec.head], info.id, rounds[info.spec.head])
        for info in job.operators
        if isinstance(info.spec, CloseWith)
    ]
    groups: list[_Group] = []
    for members in _feeding_each_other(loops, above):
        heads = {loop.head.info.id for loop in members}
        wanted = set().union(*(above[loop.tail] for loop in members)) - heads
        groups.append(_Group(members, [source for id, source in sources.items() if id in wanted]))
    return groups


def _feeding_each_other(loops: list[_Loop], above: dict[int, set[int]]) -> list[list[_Loop]]:
    count = range(len(loops))
    feeds = [{i for i in count if loops[i].head.info.id in above[loop.tail]} for loop in loops]
    for between in count:  # also through a third one: what comes to its end goes on from its head
        for fed in feeds:
            if between in fed:
                fed |= feeds[between]
    together = [frozenset(i for i in feeds[loop] if loop in feeds[i]) for loop in count]
    return [[loops[i] for i in sorted(group)] for group in dict.fromkeys(together)]
