"""One task: the operators of one partition of a stage, wired together, for one epoch after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from millrace.datastream.functions import Function
from millrace.runtime.codec import decode
from millrace.runtime.context import OperatorRuntimeContext
from millrace.runtime.elements import MAX_WATERMARK, MIN_TIMESTAMP, Chunk, Status
from millrace.runtime.epoch import EpochOrder, OperatorReport, SavedSubtask, SourceOrder, StateQuery
from millrace.runtime.exchange import ACK, ChannelWriter, Packet
from millrace.runtime.failure import OperatorError
from millrace.runtime.job import EdgeInfo, JobGraph, OperatorInfo
from millrace.runtime.keygroups import key_group, subtask_of_group
from millrace.runtime.measures import Measures
from millrace.runtime.operators.base import Operator, OperatorContext, ReadingOperator
from millrace.runtime.operators.close_with import CloseWithOperator
from millrace.runtime.operators.collect import CollectOperator, PrintOperator
from millrace.runtime.operators.sink import SinkOperator
from millrace.runtime.operators.source import SourceOperator
from millrace.runtime.partitioners import PartitioningError
from millrace.runtime.pickling import dumps
from millrace.runtime.state.info import StateInfo
from millrace.runtime.state.saved import EarlierState, KeyedPieces, SubtaskState
from millrace.runtime.storage import Wanted
from millrace.runtime.watermarks import WatermarkValve

OperatorDeltas = tuple[Any, Any, Any, Any, Any]
"""(keyed delta, operator state's delta, small state, gate state, measures); None for what is missing"""

TaskDelta = dict[str, OperatorDeltas]
"""by the operator's uid"""

Channel = tuple[int, int]
"""(edge, sending subtask)"""


class Gate:
    """The input side of one operator: counts, combines watermarks, notices the end of input."""

    def __init__(self, operator: Operator, channels: dict[Channel, int]) -> None:
        """``channels``: channel -> the input that it belongs to."""
        self.operator = operator
        self.records = 0
        self._inputs = channels
        self._valve = WatermarkValve(list(channels))
        self._open = set(channels)

    def chunk(self, chunk: Chunk, input: int) -> None:
        self.records += len(chunk.values)
        self.operator.process(chunk, input)
        keyed = self.operator.keyed_state()
        if keyed is not None:
            keyed.after_records(len(chunk.values))

    def mark(self, channel: Channel, mark: int | Status) -> None:
        if mark is Status.FINISHED:
            self._finish(channel)
            return
        valve = self._valve
        was_idle = valve.idle
        if isinstance(mark, Status):
            advanced = valve.status(channel, mark)
        else:
            advanced = valve.watermark(channel, mark)
        if advanced is not None:
            self.operator.process_watermark(advanced)
        if valve.idle != was_idle:
            self.operator.process_status(Status.IDLE if valve.idle else Status.ACTIVE)

    def _finish(self, channel: Channel) -> None:
        self._open.discard(channel)
        input = self._inputs[channel]
        if all(self._inputs[other] != input for other in self._open):
            self.operator.input_finished(input)
        if not self._open:
            self.operator.end_input()
            self.operator.output.mark(Status.FINISHED)

    @property
    def watermark(self) -> int:
        return self._valve.current

    @property
    def finished(self) -> bool:
        """Whether nothing will ever arrive again."""
        return not self._open

    def snapshot(self) -> Any:
        return (self._valve.snapshot(), self._open)

    def begin_at(self, watermark: int) -> None:
        """All inputs are open, and event time has come as far as this."""
        self._valve.begin_at(watermark)
        self.operator.watermark = watermark

    def restore(self, snapshot: Any) -> None:
        valve, self._open = snapshot
        self._valve.restore(valve)
        self.operator.watermark = self._valve.current


class Fork:
    """The output side of one operator: to gates in the same task and to channels into later ones."""

    def __init__(self, fail: Callable[[PartitioningError], OperatorError]) -> None:
        self.records = 0
        self.watermark = MIN_TIMESTAMP
        self._fail = fail
        self._local: dict[str | None, list[tuple[Gate, int]]] = {}
        self._remote: dict[str | None, list[ChannelWriter]] = {}
        self._marked: list[tuple[Gate, Channel]] = []

    def add_local(self, tag: str | None, gate: Gate, input: int, channel: Channel) -> None:
        self._local.setdefault(tag, []).append((gate, input))
        self._marked.append((gate, channel))

    def add_remote(self, tag: str | None, writer: ChannelWriter) -> None:
        self._remote.setdefault(tag, []).append(writer)

    def emit(self, chunk: Chunk) -> None:
        self._send(None, chunk)

    def emit_side(self, tag: str, chunk: Chunk) -> None:
        self._send(tag, chunk)

    def _send(self, tag: str | None, chunk: Chunk) -> None:
        self.records += len(chunk.values)
        for gate, input in self._local.get(tag, ()):
            gate.chunk(chunk, input)
        for writer in self._remote.get(tag, ()):
            try:
                writer.write(chunk)
            except PartitioningError as error:
                raise self._fail(error) from error

    def mark(self, mark: int | Status) -> None:
        if not isinstance(mark, Status):
            self.watermark = mark
        for gate, channel in self._marked:
            gate.mark(channel, mark)
        for writers in self._remote.values():
            for writer in writers:
                writer.mark(mark)

    def end_epoch(self) -> None:
        for writers in self._remote.values():
            for writer in writers:
                writer.end_epoch()


class _Member:
    """One operator of the task with all that belongs to it."""

    def __init__(self, info: OperatorInfo, subtask: int, operator: Operator, fork: Fork, gate: Gate) -> None:
        self.info = info
        self.subtask = subtask
        self.operator = operator
        self.fork = fork
        self.gate = gate
        self._states_reported = 0

    def delta(self) -> OperatorDeltas:
        """What the epoch changed."""
        keyed, shared = self.operator.keyed_state(), self.operator.operator_state()
        return (
            None if keyed is None else keyed.delta(),
            None if shared is None else shared.delta(),
            self.operator.snapshot(),
            self.gate.snapshot(),
            self.measures.delta(),
        )

    def full_pieces(self) -> Iterator[OperatorDeltas]:
        """Everything: first what is small, then the keyed state."""
        keyed, shared = self.operator.keyed_state(), self.operator.operator_state()
        whole = None if shared is None else shared.full()
        yield (None, whole, self.operator.snapshot(), self.gate.snapshot(), self.measures.full())
        if keyed is not None:
            for piece in keyed.full_pieces():
                yield (piece, None, None, None, None)

    def whole(self) -> SubtaskState:
        """Everything, for a savepoint."""
        keyed, shared = self.operator.keyed_state(), self.operator.operator_state()
        return SubtaskState(
            None if keyed is None else keyed.full_pieces(),
            None if shared is None else shared.full(),
            self.operator.snapshot(),
            self.gate.watermark,
        )

    def stored(self, query: StateQuery) -> Any:
        """What the state holds for the key; None for nothing, and for a key of another subtask."""
        keyed, info = self.operator.keyed_state(), self.info
        table = None if keyed is None else keyed.table(query.state)
        group = key_group(query.key, info.max_parallelism)
        if table is None or subtask_of_group(group, info.max_parallelism, info.parallelism) != self.subtask:
            return None
        return table.content(query.key)

    def info_of(self, state: str) -> StateInfo | None:
        """What the function has said about a keyed state."""
        keyed = self.operator.keyed_state()
        info: StateInfo | None = None if keyed is None else keyed.infos.get(state)
        return info

    def new_states(self) -> tuple[StateInfo, ...] | None:
        """All states, if these are more than at the last call."""
        backends = (self.operator.keyed_state(), self.operator.operator_state())
        infos = [info for backend in backends if backend is not None for info in backend.described()]
        if len(infos) == self._states_reported:
            return None
        self._states_reported = len(infos)
        return tuple(infos)

    @property
    def measures(self) -> Measures:
        return self.operator.context.runtime.measures


class StageTask:
    """All operators of one partition of one stage."""

    def __init__(self, job: JobGraph, stage: int, partition: int, clock: Callable[[], int], attempt: int = 0) -> None:
        self.job = job
        self.stage = stage
        self.partition = partition
        self._clock = clock
        self._out: list[Packet] = []
        self._members: dict[int, _Member] = {}
        self._selectors: dict[int, Function] = {}
        """key selectors and partitioners that were opened, by their identity: several edges may share one"""
        for info, subtask in job.hosted(stage, partition):
            self._members[info.id] = self._member(info, subtask, attempt)
        for edge in job.edges:
            if edge.source in self._members:
                self._connect(edge)

    def _member(self, info: OperatorInfo, subtask: int, attempt: int) -> _Member:
        job = self.job
        runtime = OperatorRuntimeContext(
            info.chain,
            subtask,
            info.parallelism,
            info.max_parallelism,
            attempt,
            dict(job.parameters),
            job.info,
            job.cached_files,
            self._clock,
        )
        context = OperatorContext(runtime, info.name, info.origin, info.output_type, info.side_types, self._clock)
        operator = info.factory(*info.args)
        fork = Fork(lambda error: context.error(error.__cause__ or error, error.element, f" {error}", error.origin))
        try:
            operator.setup(context, fork)
        except Exception as error:
            raise context.error(error, during=" to start") from error
        channels = {
            (edge.index, sender): edge.input
            for edge in job.edges
            if edge.target == info.id
            for sender in edge.partitioner.sources(subtask, job.by_id[edge.source].parallelism, info.parallelism)
        }
        return _Member(info, subtask, operator, fork, Gate(operator, channels))

    def _connect(self, edge: EdgeInfo) -> None:
        sender, target = self._members[edge.source], self.job.by_id[edge.target]
        if edge.local:
            gate = self._members[edge.target].gate
            sender.fork.add_local(edge.tag, gate, edge.input, (edge.index, sender.subtask))
            return
        writer = ChannelWriter(
            edge.index,
            edge.partitioner,
            sender.subtask,
            sender.info.parallelism,
            target.parallelism,
            target.offset,
            self._out.append,
        )
        sender.fork.add_remote(edge.tag, writer)

    def restore(self, delta: TaskDelta) -> None:
        """Do the changes of one epoch; deltas come in the order of their epochs."""
        for member in self._members.values():
            if member.info.uid not in delta:
                continue
            keyed, shared, small, gate, measures = delta[member.info.uid]
            if keyed is not None:
                member.operator.keyed_state().apply(keyed)
            if shared is not None:
                member.operator.operator_state().apply(shared)
            if small is not None:
                member.operator.restore(small)
            if gate is not None:
                member.gate.restore(gate)
            if measures is not None:
                member.measures.apply(measures)

    def take_over(self, load: Callable[[OperatorInfo, int, Wanted], EarlierState | None]) -> None:
        """Begin with the state that other tasks have left, of this or another program, and open.

        :raises OperatorError: the state does not fit.
        """
        pieces: list[tuple[_Member, KeyedPieces]] = []
        for member in self._members.values():
            with _naming(member):
                earlier = load(member.info, member.subtask, member.info_of)
                if earlier is not None:
                    # What had ended in the earlier job begins again: its sources may have more to read now.
                    watermark = MIN_TIMESTAMP if earlier.watermark == MAX_WATERMARK else earlier.watermark
                    member.gate.begin_at(watermark)
                    member.operator.take_over(replace(earlier, watermark=watermark))
                    pieces.append((member, earlier.keyed))
        self.open()
        for member, keyed in pieces:
            with _naming(member):
                member.operator.take_over_keyed(keyed)

    def open(self) -> None:
        for member in self._members.values():
            member.operator.open()
        for edge in self.job.edges:
            if edge.source in self._members:
                self._open_selectors(edge)

    def _open_selectors(self, edge: EdgeInfo) -> None:
        context = self._members[edge.source].operator.context
        for selector in edge.partitioner.functions():
            if id(selector) in self._selectors:
                continue
            try:
                selector.open(context.runtime.without_state())
            except Exception as error:
                raise context.error(error, during=f" in open() of its {type(selector).__name__}") from error
            self._selectors[id(selector)] = selector

    def caught_up(self) -> None:
        """The open task was brought up to date by ``restore``."""
        for member in self._members.values():
            member.operator.caught_up()

    def run(self, order: EpochOrder, packets: Iterable[Packet]) -> Iterator[Packet]:
        """One epoch: everything that arrives is handled, everything that follows from it is handed on."""
        members = list(self._members.values())
        for member in members:
            member.gate.records = member.fork.records = 0
            if isinstance(member.operator, SinkOperator):
                member.operator.begin_epoch(order.epoch)
        self._advance_time()
        yield from self._drain()
        # What a loop fed back comes before anything new.
        for member in sorted(members, key=lambda member: isinstance(member.operator, SourceOperator)):
            if isinstance(member.operator, ReadingOperator):
                share = order.sources.get(member.info.id, {}).get(member.subtask, SourceOrder())
                reading = member.operator.read(share, order.epoch, self.job.epoch_records, self.job.epoch_millis)
                for _ in reading:
                    yield from self._drain()
        yield from self._receive(packets)
        self._advance_time()
        for member in members:
            member.operator.after_input(self._clock())
        for member in members:
            member.operator.end_epoch()
        for member in members:
            member.fork.end_epoch()
        yield from self._drain()

    def _receive(self, packets: Iterable[Packet]) -> Iterator[Packet]:
        job, members = self.job, self._members
        for packet in packets:
            if packet.edge == ACK or job.edge_stages[packet.edge] != self.stage:
                yield packet  # on its way to a later stage
                continue
            edge = job.edges[packet.edge]
            gate = members[edge.target].gate
            channel = (packet.edge, packet.channel)
            for item in decode(packet.payload):
                if item.__class__ is Chunk:
                    gate.chunk(item, edge.input)
                else:
                    gate.mark(channel, item)  # type: ignore[arg-type]
            yield from self._drain()

    def _advance_time(self) -> None:
        now = self._clock()
        for member in self._members.values():
            member.operator.advance_processing_time(now)

    def _drain(self) -> Iterator[Packet]:
        if self._out:
            yield from self._out
            self._out.clear()

    def before_snapshot(self, epoch: int) -> None:
        """``delta`` will follow."""
        for member in self._members.values():
            member.operator.before_snapshot(epoch)

    def take_stock(self) -> None:
        """The epoch is over, for the functions' snapshots too: find what it changed in metrics and accumulators."""
        for member in self._members.values():
            try:
                member.measures.end_epoch()
            except Exception as error:
                raise member.operator.context.error(error) from error

    def before_full_snapshot(self) -> None:
        """This epoch's state will be written as a whole, too: to be called before ``delta``."""
        for member in self._members.values():
            keyed = member.operator.keyed_state()
            if keyed is not None:
                keyed.before_full_snapshot()

    def delta(self) -> TaskDelta:
        """The state that the epoch changed."""
        return {member.info.uid: member.delta() for member in self._members.values()}

    def full_pieces(self) -> Iterator[TaskDelta]:
        """The whole state, in pieces to be restored one after the other."""
        for member in self._members.values():
            for piece in member.full_pieces():
                yield {member.info.uid: piece}

    def save(self, write: Callable[[OperatorInfo, int, SubtaskState], SavedSubtask]) -> tuple[SavedSubtask, ...]:
        """Write the state of every operator to a savepoint."""
        return tuple(write(member.info, member.subtask, member.whole()) for member in self._members.values())

    def answers(self, queries: Iterable[StateQuery]) -> dict[int, bytes]:
        """What is stored for the keys that queries ask for and that belong to this task."""
        found = {}
        for query in queries:
            for member in self._members.values():
                if member.info.uid == query.uid and (value := member.stored(query)) is not None:
                    found[query.number] = dumps(value)
        return found

    def reports(self) -> tuple[OperatorReport, ...]:
        """What the epoch did, for the driver; takes printed and collected elements out."""
        return tuple(_report(member) for member in self._members.values())

    @property
    def finished(self) -> bool:
        """Whether all operators of this task have had their last element."""
        return all(
            member.operator.finished if isinstance(member.operator, ReadingOperator) else member.gate.finished
            for member in self._members.values()
        )

    def close(self) -> None:
        """Close all operators and key selectors; the first error is raised after all had their turn."""
        first: Exception | None = None
        selectors, self._selectors = self._selectors, {}
        closings = [member.operator.close for member in self._members.values()]
        for close in [*closings, *(selector.close for selector in selectors.values())]:
            try:
                close()
            except Exception as error:
                first = first or error
        if first is not None:
            raise first


@contextmanager
def _naming(member: _Member) -> Iterator[None]:
    """Errors tell whose state it is."""
    try:
        yield
    except Exception as error:
        raise member.operator.context.error(error, during=" to take over its earlier state") from error


def _report(member: _Member) -> OperatorReport:
    operator = member.operator
    return OperatorReport(
        operator=member.info.id,
        subtask=member.subtask,
        records_in=member.gate.records,
        records_out=member.fork.records,
        watermark=member.gate.watermark,
        source=operator.report() if isinstance(operator, ReadingOperator) else None,
        committables=operator.committables() if isinstance(operator, SinkOperator) else (),
        printed=operator.take_lines() if isinstance(operator, PrintOperator) else (),
        collected=operator.take_parts() if isinstance(operator, CollectOperator) else (),
        fed_back=operator.take_packets() if isinstance(operator, CloseWithOperator) else (),
        watermark_out=member.fork.watermark,
        measures=member.measures.report(),
        writer_states=operator.writer_states() if isinstance(operator, SinkOperator) else (),
        states=member.new_states(),
    )
