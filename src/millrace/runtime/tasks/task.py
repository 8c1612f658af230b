"""One task: the operators of one partition of a stage, wired together, run for one epoch after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from millrace.common.functions import Function
from millrace.runtime.bases.batch_operators import ByKey
from millrace.runtime.bases.epoch_protocol import (
    EpochOrder,
    OperatorReport,
    ResultFiles,
    SavedSubtask,
    SourceOrder,
    StateQuery,
    TaskOrder,
)
from millrace.runtime.bases.operator import OperatorContext, ReadingLimits, ReadingOperator, least
from millrace.runtime.bases.runtime_context import OperatorRuntimeContext
from millrace.runtime.elements import MAX_WATERMARK, MIN_TIMESTAMP, LatencyMark, Midst
from millrace.runtime.exchange.exchange import ACK, ChannelWriter, Packet, Writer
from millrace.runtime.exchange.partitioners import Hash, Partitioner
from millrace.runtime.operators.job_graph import EdgeInfo, JobGraph, OperatorInfo
from millrace.runtime.operators.making import make_operator
from millrace.runtime.operators.sinks import CollectOperator, SinkOperator
from millrace.runtime.operators.source import SourceOperator
from millrace.runtime.state.restoring.key_forms import RestoredKeys
from millrace.runtime.state.restoring.saved import EarlierState, KeyedPieces, SubtaskState
from millrace.runtime.storage import Wanted, dumps
from millrace.runtime.tasks.batch_input import HOLD_BYTES, KeyedInput, keyed_input
from millrace.runtime.tasks.member import BetweenEpochs, Member, TaskDelta, has_changes
from millrace.runtime.tasks.task_figures import PASSING, READING, Stopwatch, watched
from millrace.runtime.tasks.waiting import Allowance, Progress, Waiting, event_times, share, without_waiting
from millrace.runtime.tasks.wiring import Fork, Gate

WriterMaker = Callable[[int, Partitioner, int, int, int, int, Callable[[Packet], None]], Writer]
"""makes a writer; the arguments are those of ``ChannelWriter``"""


class StageTask:
    """All operators of one partition of one stage."""

    def __init__(
        self,
        job: JobGraph,
        stage: int,
        partition: int,
        clock: Callable[[], int],
        attempt: int = 0,
        make_writer: WriterMaker = ChannelWriter,
    ) -> None:
        """:param make_writer: makes the writers of the edges that leave the task."""
        self.job = job
        self.stage = stage
        self.partition = partition
        self.clock = clock
        self._allowance = Allowance(clock)
        self._midst = Midst()
        self.progress = Progress()
        self._fresh = True
        """whether the task has not run an epoch yet"""
        self.working = job.state.state_of(job.job_id, (stage, partition), self._small)
        """the task's keyed state"""
        self._out: list[Packet] = []
        self._make_writer = make_writer
        self.writers: dict[int, Writer] = {}
        """number of an edge -> its writer"""
        self._new = True
        """whether no packet has ever arrived here"""
        self._members: dict[int, Member] = {}
        self._opened: list[Member] = []
        """operators whose ``open`` was called"""
        self._selectors: dict[int, Function] = {}
        """opened key selectors and partitioners, by ``id``: several edges may share one"""
        hosted = job.hosted(stage, partition)
        self.watch = Stopwatch(len(hosted))
        for number, (info, subtask) in enumerate(hosted):
            self._members[info.id] = self._member(info, subtask, attempt, number)
        for edge in job.edges:
            if edge.source in self._members:
                self._connect(edge)
        self.between = BetweenEpochs(self._members.values(), self.working)

    def _member(self, info: OperatorInfo, subtask: int, attempt: int, number: int) -> Member:
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
            self.clock,
        )
        runtime.new_keyed_state = partial(self.working.backend, info.uid)
        context = OperatorContext(
            runtime, info.name, info.origin, info.output_type, info.side_types, self.clock, self._midst
        )
        operator = make_operator(info.spec, info.final)
        fork = Fork(
            lambda error: context.error(error.__cause__ or error, error.element, f" {error}", error.origin),
            self.watch,
            number,
        )
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
        partitioners = {edge.input: edge.partitioner for edge in job.edges if edge.target == info.id}
        gate = Gate(operator, channels, self.watch, number, self._allowance, self.progress, partitioners)
        gate.keys = watched(partitioners.items())
        return Member(info, subtask, operator, fork, gate, number)

    def _connect(self, edge: EdgeInfo) -> None:
        sender, target = self._members[edge.source], self.job.by_id[edge.target]
        if edge.local:
            gate = self._members[edge.target].gate
            sender.fork.add_local(edge.tag, gate, edge.input, (edge.index, sender.subtask))
            return
        writer = self._make_writer(
            edge.index,
            edge.partitioner,
            sender.subtask,
            sender.info.parallelism,
            target.parallelism,
            target.offset,
            self._out.append,
        )
        self.writers[edge.index] = writer
        sender.fork.add_remote(edge.tag, writer)

    @property
    def members(self) -> list[Member]:
        """The operators of the task, in topological order."""
        return list(self._members.values())

    def restore(self, delta: TaskDelta) -> None:
        """Apply the changes of one epoch; deltas must come in the order of their epochs."""
        self._new = False
        self.progress.step()
        for member in self._members.values():
            if member.info.uid not in delta:
                continue
            keyed, shared, small, gate, measures = delta[member.info.uid]
            if keyed is not None:
                member.operator.keyed_state().apply(keyed)
            if shared is not None:
                member.operator.operator_state().apply(shared)
            if small is not None:
                member.restore_small(small)
            if gate is not None:
                member.gate.restore(gate)
            if measures is not None:
                member.measures.apply(measures)

    def goes_on_from(self, epoch: int | None) -> None:
        """The next epoch starts from the state at the end of this epoch."""
        for member in self._members.values():
            member.operator.context.runtime.restored_checkpoint = epoch

    def take_over(
        self, load: Callable[[OperatorInfo, int, Wanted], EarlierState | None], may_drop: bool = False
    ) -> None:
        """Start from the saved state of other tasks, of this or another program, and open the operators.

        :param may_drop: whether operators may drop state that they have no use for.
        :raises OperatorError: the state does not fit.
        """
        self._new = False
        pieces: list[tuple[Member, KeyedPieces]] = []
        for member in self._members.values():
            with member.taking_over():
                earlier = load(member.info, member.subtask, member.info_of)
                if earlier is not None:
                    keyed = member.operator.keyed_state() is not None
                    times = event_times(earlier, member.subtask, member.info.max_parallelism) if keyed else None
                    earlier, waiting = without_waiting(earlier)
                    member.gate.waiting.extend(self._share(member, waiting))
                    # What had ended in the earlier job starts again: its sources may have more to read now.
                    watermark = MIN_TIMESTAMP if earlier.watermark == MAX_WATERMARK else earlier.watermark
                    member.gate.begin_at(watermark, times)
                    member.operator.take_over(replace(earlier, watermark=watermark, may_drop=may_drop))
                    pieces.append((member, earlier.keyed))
        self.open()
        for member, piece in pieces:
            keys = RestoredKeys()
            with member.taking_over():
                member.operator.take_over_keyed(keys.watch(piece))
            member.gate.key_form = keys.form

    def _share(self, member: Member, waiting: Sequence[tuple[Waiting, ...]]) -> Iterator[Waiting]:
        """This subtask's share of the input that waited at the gates of earlier subtasks."""
        info, gate = member.info, member.gate
        return share(waiting, member.subtask, info.parallelism, info.max_parallelism, gate.partitioners, gate.channels)

    def open(self) -> None:
        for member in self._members.values():
            self._opened.append(member)
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

    def run(
        self,
        order: EpochOrder,
        own: TaskOrder,
        packets: Iterable[Packet],
        results: ResultFiles | None = None,
        finish: Callable[[], bool] | None = None,
    ) -> Iterator[Packet]:
        """Run one epoch: process the packets, and yield the packets for other tasks. Input that there is no time for
        waits at the gates.

        :param results: where large collected results are written.
        :param finish: returns whether the epoch must end now.
        """
        self._allow(order, own, finish)
        self.begin(order, results)
        yield from self.drain()
        yield from self._resume()
        # Elements that a loop fed back come before new ones.
        for member in sorted(self.members, key=lambda member: isinstance(member.operator, SourceOperator)):
            if isinstance(member.operator, ReadingOperator):
                reads = own.sources.get(member.info.id) or SourceOrder()
                for _ in self.reading(member, order.epoch, reads, self._limits(reads)):
                    yield from self.drain()
        keyed = self._keyed_inputs() if self._new and not order.keep_state else {}
        self._new = False
        yield from self._receive(packets, keyed)
        for operator, inputs in keyed.items():
            gate = self._members[operator].gate
            with self._members[operator].working():
                self.progress.at(gate)
                for _ in inputs.run():
                    yield from self.drain()
                    self.progress.at(gate)
        self.progress.at(None)
        yield from self.end()
        self._fresh = False

    def begin_flow(self, order: EpochOrder, results: ResultFiles | None) -> None:
        """Begin an epoch in flow, whose end the driver decides."""
        self._allowance.begin(None, None)
        self._new = self._fresh = False
        self.begin(order, results)

    def put_off(self) -> None:
        """Leave the unprocessed input of this epoch for the next one."""
        self._allowance.end()

    def begin(self, order: EpochOrder, results: ResultFiles | None) -> None:
        """Begin an epoch."""
        for member in self.members:
            member.gate.records = member.fork.records = member.gate.bytes = member.fork.bytes = 0
            member.operator.context.runtime.aggregates.begin_epoch(order.aggregates.get(member.info.uid, {}))
            if isinstance(member.operator, SinkOperator):
                member.operator.begin_epoch(order.epoch)
            elif isinstance(member.operator, CollectOperator):
                member.operator.begin_epoch(results)
        self.between.settle()
        self.advance_time()

    def end(self) -> Iterator[Packet]:
        """All input of the epoch was processed: finish it in all operators."""
        self.advance_time()
        yield from self._settle()
        # One operator after the other, from the top: an operator whose tick() decides whether its input is idle has
        # then got everything that earlier operators held back or had in flight, and a watermark from there arrives
        # before it ends its slice. Sinks are last: nothing follows what they prepare.
        members = self.members
        for member in members:
            with member.working():
                self.progress.at(member.gate)
                member.operator.end_slice()
                if not member.gate.waiting or isinstance(member.operator, SinkOperator):
                    member.operator.tick(self.clock())  # else its input is not quiet
                member.operator.end_epoch()
        self.progress.at(None)
        for member in members:
            member.fork.end_epoch()
        yield from self.drain()

    def _allow(self, order: EpochOrder, own: TaskOrder, finish: Callable[[], bool] | None) -> None:
        """Set how long the task may work. Sources stop by themselves, so later operators have their time on top of
        that."""
        millis = order.work_millis if order.keep_state else None
        reading = max((reads.millis or 0 for reads in own.sources.values()), default=0)
        if millis is None:
            self._allowance.begin(None, None, self._fresh)
        else:
            self._allowance.begin(millis + reading, finish, self._fresh, reading)

    def _limits(self, reads: SourceOrder) -> ReadingLimits:
        """How long and how much a source may read."""
        job = self.job
        return ReadingLimits(
            job.epoch_records,
            least(job.epoch_millis, reads.millis),
            self._fresh,
            self._allowance.reading_over,
            reads.records,
        )

    def _resume(self) -> Iterator[Packet]:
        """Process what has waited since the last epoch, later operators first: their input is older."""
        for member in reversed(self.members):
            with member.working():
                for _ in member.gate.resume():
                    yield from self.drain()

    def _settle(self) -> Iterator[Packet]:
        """Waiting input has to be recorded: process what can't be pickled after all."""
        sources = [member.operator for member in self.members if isinstance(member.operator, SourceOperator)]
        try:
            for member in self.members:
                member.gate.packed()
            for source in sources:
                dumps(source.left)
        except Exception:
            self._allowance.extend()
            yield from self._resume()
            for source in sources:
                for _ in source.hand_on_left():
                    yield from self.drain()

    def _send_latency_mark(self, member: Member) -> None:
        """Send a latency mark before a source reads, at most once in ``metrics.latency.interval``."""
        interval, now = self.job.latency_millis, self.clock()
        operator = member.operator
        if not interval or now - member.marked < interval or not isinstance(operator, SourceOperator):
            return
        if not operator.finished:
            member.marked = now
            member.fork.mark(LatencyMark(member.info.id, member.subtask, now))

    def reading(self, member: Member, epoch: int, order: SourceOrder, limits: ReadingLimits) -> Iterator[None]:
        """Read a source; yields after every poll and piece."""
        assert isinstance(member.operator, ReadingOperator)
        self._send_latency_mark(member)
        reading = member.operator.read(order, epoch, limits)
        while True:
            if limits.stays:
                self._send_latency_mark(member)
            if not member.read_on(reading, self.progress):
                return
            yield

    def _keyed_inputs(self) -> dict[int, KeyedInput]:
        """Operator id -> its keyed inputs, for operators that take one key after the other and get all input in this
        epoch."""
        gates = {id: member.gate for id, member in self._members.items() if isinstance(member.operator, ByKey)}
        return {id: keyed_input(gate, HOLD_BYTES // len(gates)) for id, gate in gates.items()}

    def _receive(self, packets: Iterable[Packet], keyed: dict[int, KeyedInput]) -> Iterator[Packet]:
        job, members = self.job, self._members
        # The time that the task waits for packets counts as reading.
        for packet in self.watch.each(packets, READING):
            if packet.edge == ACK or job.edge_stages[packet.edge] != self.stage:
                with self.watch.during(PASSING):
                    yield packet  # on its way to a later stage
                continue
            edge = job.edges[packet.edge]
            channel = (packet.edge, packet.channel)
            target = members[edge.target]
            with target.working():
                if edge.target in keyed and isinstance(edge.partitioner, Hash):
                    target.gate.bytes += len(packet.payload)
                    keyed[edge.target].add(packet.payload, edge.input, channel)
                else:
                    for _ in target.gate.receive(channel, packet.payload):
                        yield from self.drain()
            yield from self.drain()

    def advance_time(self) -> None:
        """Fire the timers that are due by the clock."""
        now = self.clock()
        for member in self._members.values():
            with member.working():
                self.progress.at(member.gate)
                member.operator.advance_processing_time(now)
        self.progress.at(None)

    @property
    def has_packets(self) -> bool:
        """Whether operators have sent packets that were not taken."""
        return bool(self._out)

    def drain(self) -> Iterator[Packet]:
        """The packets that operators have sent so far."""
        if self._out:
            edges, members = self.job.edges, self._members
            for packet in self._out:
                sender = members[edges[packet.edge].source]
                sender.fork.bytes += len(packet.payload)
                with sender.writing():
                    yield packet
                self.progress.step()
            self._out.clear()

    def before_snapshot(self, epoch: int) -> None:
        """Prepare for ``delta``."""
        for member in self._members.values():
            member.operator.before_snapshot(epoch)

    def take_stock(self) -> None:
        """The epoch is over, also for the functions' snapshots: find the changes of metrics and accumulators."""
        if self.job.state_metrics:
            store = self.working.figures()
            for member in self._members.values():
                if member.operator.keyed_state() is not None:
                    member.tell_of_states(store)
                    store = {}  # all operators of the task share it
        for member in self._members.values():
            try:
                member.measures.end_epoch()
                member.operator.context.runtime.aggregates.end_epoch()
            except Exception as error:
                raise member.operator.context.error(error) from error

    def before_full_snapshot(self) -> None:
        """The whole state of this epoch will be written, too; to be called before ``delta``."""
        for member in self._members.values():
            keyed = member.operator.keyed_state()
            if keyed is not None:
                keyed.before_full_snapshot()

    def delta(self, anyway: bool = False) -> TaskDelta | None:
        """The state changes of the epoch; None: there are none, unless a delta is needed ``anyway``."""
        deltas = {member.info.uid: member.delta() for member in self._members.values()}
        changed = {uid: delta for uid, delta in deltas.items() if has_changes(delta)}
        return deltas if anyway else changed or None

    def added_bytes(self, delta: TaskDelta) -> int:
        """The approximate bytes of the last delta that only add to the state, and replace nothing."""
        members = (member for member in self._members.values() if member.info.uid in delta)
        return sum(member.added_bytes(delta[member.info.uid]) for member in members)

    def full_pieces(self) -> Iterator[TaskDelta]:
        """The whole state, in pieces to be restored one after the other."""
        for member in self._members.values():
            for piece in member.full_pieces():
                self.progress.step()
                yield {member.info.uid: piece}

    def _small(self) -> TaskDelta:
        """The whole state without the keyed state."""
        return {member.info.uid: next(member.full_pieces()) for member in self._members.values()}

    def save(self, write: Callable[[OperatorInfo, int, SubtaskState], SavedSubtask]) -> tuple[SavedSubtask, ...]:
        """Write the state of every operator to a savepoint."""
        return tuple(write(member.info, member.subtask, member.whole()) for member in self._members.values())

    def answers(self, queries: Iterable[StateQuery]) -> dict[int, bytes]:
        """Number of a query -> pickled value, for queries whose key belongs to this task."""
        found = {}
        for query in queries:
            for member in self._members.values():
                if member.info.uid == query.uid and (value := member.stored(query)) is not None:
                    found[query.number] = dumps(value)
        return found

    def reports(self) -> tuple[OperatorReport, ...]:
        """The reports of all operators on the epoch; takes printed and collected elements out."""
        return tuple(member.report(self.watch.of_operator(member.number)) for member in self._members.values())

    @property
    def finished(self) -> bool:
        """Whether all operators of this task have had their last element."""
        return all(
            member.operator.finished if isinstance(member.operator, ReadingOperator) else member.gate.finished
            for member in self._members.values()
        )

    def close(self) -> None:
        """Close all operators and key selectors; the first error is raised after all were closed."""
        first: Exception | None = None
        selectors, self._selectors = self._selectors, {}
        # A copy of a task that was restored after its last element was never opened.
        closings = [member.operator.close for member in self._opened]
        for close in [*closings, *(selector.close for selector in selectors.values()), self.working.close]:
            try:
                close()
            except Exception as error:
                first = first or error
        if first is not None:
            raise first
