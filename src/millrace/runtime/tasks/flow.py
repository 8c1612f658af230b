"""A task in flow: all tasks of a job run at the same time, and an epoch ends with a mark that passes through the
stream.

The task is a state machine: it has no threads, never waits, and gets the time as an argument. The code that drives it
passes it packets, marks and credit as they arrive, and calls ``step`` as long as there is something to do. A step
processes one piece of one input, or ends a slice. Frames for other tasks are in ``out`` afterwards.

An input gets its turn only if everything that it can reach within the task has room, so nothing waits inside an
operator. An epoch ends in a task when it has ended in all tasks before it: the driver ends it for sources, and the mark
after the last packet of each channel ends it for other inputs.

The first epoch of a bounded job is *aligned*: tasks wait until all its input has arrived, and process it in the order
of stages that run one after the other. So a job that ends within this epoch always has the same changelog.

A task that is too slow for its input does not delay the epoch: 250 ms after the last mark the rest is put off. It waits
at the gates as a part of the task's state, and is processed in the next epoch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from time import thread_time_ns
from typing import NamedTuple

from millrace.runtime.bases.epoch_protocol import (
    EpochOrder,
    Result,
    ResultFiles,
    SourceOrder,
    TaskOrder,
    TaskSoFar,
    TaskTimes,
)
from millrace.runtime.bases.operator import Operator, ReadingLimits, ReadingOperator
from millrace.runtime.elements import INTERVAL_MS
from millrace.runtime.exchange.exchange import Manifest, Packet, in_order
from millrace.runtime.exchange.flow_writer import Credit, EdgeMarks, EpochMark, FlowWriter
from millrace.runtime.operators.job_graph import JobGraph
from millrace.runtime.operators.sinks import CollectOperator, PrintOperator
from millrace.runtime.storage import TaskId
from millrace.runtime.tasks.flow_inbox import MOST_ELEMENTS, Inbox, Pools, broadcast_lead_of
from millrace.runtime.tasks.flow_lanes import DRY_NANOSECONDS, ChangedState, GateLane, Lane, SliceClock, SourceLane
from millrace.runtime.tasks.member import Member
from millrace.runtime.tasks.task import StageTask
from millrace.runtime.tasks.task_figures import OTHER, PRESSED, READING, of_operator, work_slot
from millrace.runtime.tasks.wiring import Gate

SLICE_NANOSECONDS = 5_000_000
"""The longest slice (ns), where no buffer timeout is configured."""
WIDE, WIDE_NANOSECONDS = 64, 100_000_000
"""With more receivers than ``WIDE`` a slice lasts at least ``WIDE_NANOSECONDS``."""
PAUSE_MS = 7
"""The longest time that new input of a source waits for more (ms); less with a shorter buffer timeout."""
LATE_NANOSECONDS = 250_000_000
"""How long a task continues with an epoch that has ended before it (ns); the rest is then put off."""
BRIEF_MS = 250
"""How long a task works in an aligned epoch if its elements are slow (ms): results are visible only at its end, and a
job that runs on needs no order of stages."""
SLOW_ELEMENTS, SLOW_NANOSECONDS, LONG_NANOSECONDS = 64, 500_000, 400_000_000
"""Elements count as slow if ``SLOW_ELEMENTS`` of them take ``SLOW_NANOSECONDS`` each, or one takes
``LONG_NANOSECONDS``."""
_MILLISECOND = 1_000_000

Frame = Packet | EpochMark | Credit
"""a message between tasks: packets and marks go to their target task, credit to the sender"""


def destination(job: JobGraph, frame: Frame) -> TaskId:
    """The task that a frame is for."""
    if not isinstance(frame, Credit):
        return job.edge_stages[frame.edge], frame.target
    sender = job.by_id[job.edges[frame.edge].source]
    return sender.stage, sender.offset + frame.channel


class FlowError(RuntimeError):
    """A frame has arrived that does not belong to the task's present run or epoch."""


class Next(NamedTuple):
    """What a task in flow needs after a step."""

    more: bool
    """whether there is something to do at once"""
    until: int | None = None
    """if not: when there is something to do even if no frame arrives (ns); None: never"""
    ended: bool = False
    """whether the epoch has ended here, and is to be recorded"""
    pressed: bool = False
    """whether the task is waiting for credit"""


class FlowTask:
    """Runs a ``StageTask`` in flow.

    :param task: made with ``FlowWriter``.
    :param most: the most elements that a channel may send ahead.
    :param nanos: clock for the cost of slice ends and of source turns (ns): processor time, so that a busy machine does
        not make slices long.
    :param call_soon: calls a function in the thread that drives the task; may be called from any thread. None: sources
        are polled.
    :param ahead: the number of collected results not yet taken at which operators accept no more elements within an
        epoch; 0: all results are taken at its end.
    :param late: how long the task continues with an epoch that has ended before it (ns).
    """

    def __init__(
        self,
        task: StageTask,
        most: int = MOST_ELEMENTS,
        nanos: Callable[[], int] = thread_time_ns,
        call_soon: Callable[[Callable[[], None]], None] | None = None,
        ahead: int = 0,
        late: int = LATE_NANOSECONDS,
    ) -> None:
        self.task = task
        self._nanos = nanos
        self._late = late
        self.out: list[Frame] = []
        """frames to be sent; the caller of ``step`` takes them out"""
        self.manifest = Manifest(0)
        self._writers = {edge: writer for edge, writer in task.writers.items() if isinstance(writer, FlowWriter)}
        self._inboxes = {
            channel: Inbox(channel, most)
            for member in task.members
            for channel in member.gate.channels
            if not task.job.edges[channel[0]].local
        }
        self._gates = {member.info.id: self._gate_lane(member) for member in task.members}
        self._sources = {
            member.info.id: SourceLane(member, nanos)
            for member in task.members
            if isinstance(member.operator, ReadingOperator)
        }
        if call_soon is not None:
            for lane in self._sources.values():
                lane.operator.on_available = partial(call_soon, partial(self._wake, lane))
                timeout = self._timeout(lane.member)
                lane.operator.pause_ms = PAUSE_MS if timeout is None or timeout < 0 else min(timeout, PAUSE_MS)
        self._lanes: list[Lane] = [*self._gates.values(), *self._sources.values()]
        self._by_edge = {edge: self._gates[task.job.edges[edge].target] for edge, _ in self._inboxes}
        self._connect()
        self.pools = Pools(self._gates.values(), len(self._inboxes), self._writers.values())
        self._at = 0
        """index of the lane that has the next turn"""
        least = max((member.operator.least_slice for member in task.members), default=0)
        self._answers = SliceClock(_longest(task.job.buffer_timeout), least * _MILLISECOND)
        """times the slices of operators that hold back results"""
        self._parcels = self._by_timeout()
        """(clock that ends slices of sent elements, operators that send, their writers), for each buffer timeout"""
        self._gathering = [each for each in task.members if type(each.operator).end_slice is not Operator.end_slice]
        self._ticking = [each for each in task.members if type(each.operator).tick is not Operator.tick]
        self._timed = [each for each in task.members if type(each.operator).next_due is not Operator.next_due]
        self._calling = [each for each in task.members if each.operator.has_calls_in_flight]
        self._changed = ChangedState(task.members)
        self._printing = [each.operator for each in task.members if isinstance(each.operator, PrintOperator)]
        self._collecting = [each.operator for each in task.members if isinstance(each.operator, CollectOperator)]
        self._ahead = ahead
        self._next_tick = 0
        self._order: EpochOrder | None = None
        self._aligned: Iterator[Packet] | None = None
        """the packets of an aligned epoch in order, once all have arrived"""
        self._closing = False
        """whether all input of the epoch is processed, and only some results are not sent yet"""
        self._own = TaskOrder()
        self._results: ResultFiles | None = None
        self._ending = False
        self._over = False
        """whether all inputs had ended before the epoch began"""
        self._open = 0
        """number of channels whose epoch mark has not arrived"""
        self._late_at: int | None = None
        """when unfinished input is put off (ns); None: not set"""
        self._is_put_off = False
        self._early: list[Packet | EpochMark] = []
        """frames of the next epoch, which has not begun here"""

    def _timeout(self, member: Member) -> int | None:
        """The buffer timeout (ms) of an operator: its own, or the job's; None: none is configured."""
        own = member.info.buffer_timeout
        return self.task.job.buffer_timeout if own is None else own

    def _by_timeout(self) -> list[tuple[SliceClock, list[Member], list[FlowWriter]]]:
        edges = self.task.job.edges
        found: dict[int | None, tuple[list[Member], list[FlowWriter]]] = {}
        for member in self.task.members:
            if own := [writer for edge, writer in self._writers.items() if edges[edge].source == member.info.id]:
                members, writers = found.setdefault(self._timeout(member), ([], []))
                members.append(member)
                writers += own
        # Each end of a slice may make a packet for each receiver.
        least = WIDE_NANOSECONDS if any(writer.width > WIDE for writer in self._writers.values()) else 0
        return [(SliceClock(_longest(timeout), least), *both) for timeout, both in found.items()]

    def _gate_lane(self, member: Member) -> GateLane:
        edges, id = self.task.job.edges, member.info.id
        inboxes = [inbox for (edge, _), inbox in self._inboxes.items() if edges[edge].target == id]
        return GateLane(member, inboxes, broadcast_lead_of(self.task.job, id, inboxes))

    def _connect(self) -> None:
        """Connect each lane with the writers and gates that it leads to."""
        local = [edge for edge in self.task.job.edges if edge.local and edge.source in self._gates]
        for lane in self._lanes:
            reached, left = {lane.member.info.id}, [lane.member.info.id]
            while left:
                at = left.pop()
                below = [edge.target for edge in local if edge.source == at and edge.target not in reached]
                reached.update(below)
                left += below
            writers = [w for edge, w in self._writers.items() if self.task.job.edges[edge].source in reached]
            lane.leads_to(writers, [self._gates[id] for id in reached if self._gates[id] is not lane])

    # -- what comes ------------------------------------------------------------------------------------------------

    def begin(self, order: EpochOrder, own: TaskOrder, run: int, results: ResultFiles | None = None) -> None:
        """Begin an epoch.

        :param run: number of the run; all tasks have the same.
        :raises FlowError: a frame has arrived that is not of this run.
        """
        assert self._order is None, "the epoch before has ended"
        self._order, self._own, self._results = order, own, results
        self.manifest, self._ending, self._over = Manifest(run), False, self.task.finished
        self._open = len(self._inboxes)
        self._late_at, self._is_put_off = None, False
        for writer in self._writers.values():
            writer.unlimited = order.aligned
        for gate_lane in self._gates.values():
            gate_lane.gate.fitting = None if order.aligned else gate_lane.fitting
        for member in self._calling:
            member.gate.holds = not order.aligned
        self._limit_results(self._ahead if self._ahead and not order.aligned else None)
        early, self._early = self._early, []
        for frame in early:
            self._put(frame)
        if order.aligned:
            return
        self.task.begin_flow(order, results)
        for gate_lane in self._gates.values():
            gate_lane.carries = bool(gate_lane.gate.waiting)
        self._changed.begin()
        for id, lane in self._sources.items():
            reads = own.sources.get(id) or SourceOrder()
            reading = self.task.reading(lane.member, order.epoch, reads, self._limits(lane))
            limit = None if reads.stop else reads.limit
            lane.begin(reading, is_held=reads.paused and not reads.stop, limit=limit)
        self._gathered(0)

    def _limits(self, lane: SourceLane) -> ReadingLimits:
        most = self.task.job.epoch_records
        return ReadingLimits(most, over=lambda: self._ending, stays=True, room=lane.fitting)

    def deliver(self, frame: Frame) -> None:
        """Take a frame for this task.

        :raises FlowError: the frame is of another run.
        :raises LostPacketError: a packet is missing before it.
        """
        if isinstance(frame, Credit):
            self._writers[frame.edge].credit(frame)
        elif self._order is None:
            self._early.append(frame)
        else:
            self._put(frame)

    def deliver_marks(self, marks: EdgeMarks) -> None:
        """All senders of an edge have ended their epoch; see ``deliver``."""
        if self._order is None or marks.run != self.manifest.run:
            for mark in marks.each():
                self.deliver(mark)
            return
        edge, run, inboxes = marks.edge, marks.run, self._inboxes
        for channel, number in marks.packets:
            inboxes[edge, channel].end(run, number)
            self._open -= 1

    def _put(self, frame: Packet | EpochMark) -> None:
        run = self.manifest.run
        if frame.run > run:
            self._early.append(frame)
            return
        if frame.run < run:
            raise FlowError(f"something of run {frame.run} has come over edge {frame.edge} in run {run}")
        inbox = self._inboxes[frame.edge, frame.channel]
        if isinstance(frame, EpochMark):
            inbox.end(frame.run, frame.packets)
            self._open -= 1
        else:
            self.manifest.received_one(frame)
            self._by_edge[frame.edge].came(inbox, frame)

    def _wake(self, lane: SourceLane) -> None:
        """A source has something to read. While a slice is open, input that arrives before its end is read together; a
        source that has not waited is read anyway."""
        ends = [beat.end_at(True) for beat, _, _ in self._parcels]
        end = min((end for end in ends if end is not None), default=0)
        lane.again_at = min(lane.again_at, max(end, lane.not_before))

    def end(self) -> None:
        """The driver ends the epoch: sources read no more."""
        self._ending = True
        self._limit_results(None)  # the end of an epoch need not wait for whom they are for
        for lane in self._sources.values():
            lane.end()

    def align(self, limits: Mapping[int, int]) -> None:
        """Set new alignment limits within the epoch: id of a source's operator -> the watermark (ms) above which it
        waits."""
        if self._order is None or self._order.aligned or self._ending:
            return
        for id, lane in self._sources.items():
            if id in limits:
                lane.align(limits[id])

    def so_far(self) -> TaskSoFar | None:
        """What the task has done in the running epoch; None: no epoch is running. Called from any thread, so it only
        reads values that can be read atomically."""
        if self._order is None:
            return None
        spent = self.task.watch.so_far()
        reports = tuple(each.so_far(of_operator(spent, each.number)) for each in self.task.members)
        times = TaskTimes(pressed=spent[PRESSED] // 1000, pools=self.pools.so_far())
        return TaskSoFar(self.task.stage, self.task.partition, reports, times)

    @property
    def has_read(self) -> bool:
        """Whether a source has read something in this epoch, or elements were put off until it."""
        if self._order is None:
            return False
        if any(lane.member.fork.records for lane in self._sources.values()):
            return True
        return any(lane.carries for lane in self._gates.values())

    def take_printed(self) -> tuple[str, ...]:
        """Lines printed since the last call. In an aligned epoch all lines are shown at its end."""
        if not self._printing or self._order is None or self._order.aligned:
            return ()
        return tuple(line for operator in self._printing for line in operator.take_lines())

    def take_collected(self) -> tuple[Result, ...]:
        """Results collected since the last call, if they may be taken before the epoch ends."""
        if self._order is None or self._order.aligned or not self._ahead:
            return ()
        return tuple(result for operator in self._collecting for result in operator.take_results())

    def _limit_results(self, most: int | None) -> None:
        for operator in self._collecting:
            operator.most = most

    @property
    def wants_end(self) -> bool:
        """Whether the epoch should end: a source can't continue before, or much state has changed."""
        if self._order is None or self._order.aligned or self._ending:
            return False
        return self._changed.much or any(lane.wants_end for lane in self._sources.values())

    # -- a step ----------------------------------------------------------------------------------------------------

    def step(self, now: int) -> Next:
        """Do one piece of work, if there is any.

        :param now: the time (ns), by a clock that does not go back.
        """
        if self._order is None:
            return Next(False)
        if self._order.aligned:
            return self._step_aligned()
        self.task.watch.switch(OTHER)
        if self._closing:
            return self._close(now)
        if self._is_late(now):
            self._put_off()
        # A task whose inputs had all ended only passes marks on; its operators are closed.
        more = (not self._over and self._by_the_clock(now)) or (self._turn(now) and self._has_turn(now))
        ended = not self._over and self._end_slice(now, not more)
        self._send()
        more = more or (ended and self._has_turn(now))
        self.pools.look(now)
        self._changed.look(now)
        if more:
            return Next(True)
        if self._has_all and not self._in_flight:
            self._closing = True
            self.out += self.manifest.sending(self.task.end())
            self._late_at = None if self._nothing_waits else now + self._late
            return self._close(now)
        tight = [lane for lane in self._lanes if not lane.clear]
        self.task.watch.switch(PRESSED if any(lane.ready(now) for lane in tight) else READING)
        return Next(False, self._wake_at(now), pressed=bool(tight) or self._blocked)

    def _may_turn(self, lane: Lane, now: int) -> bool:
        # A source that has ended only reports it, and needs no room in the receivers for that.
        return lane.ready(now) and (lane.clear or (self._ending and isinstance(lane, SourceLane)))

    def _has_turn(self, now: int) -> bool:
        """Whether an input can pass on a piece."""
        return any(self._may_turn(lane, now) for lane in self._lanes)

    def _turn(self, now: int) -> bool:
        """Let one input pass on a piece; returns whether there was one."""
        lanes = self._lanes
        for _ in range(len(lanes)):
            lane = lanes[self._at]
            self._at = (self._at + 1) % len(lanes)
            if self._may_turn(lane, now):
                before = self.task.watch.switch(work_slot(lane.member.number))
                lane.turn(now)
                self.task.watch.switch(before)
                if isinstance(lane, GateLane):
                    self._give_credit(lane)
                self._gathered(now)
                return True
        return False

    def _gathered(self, now: int) -> None:
        for beat, _, _ in self._parcels:
            beat.begin(now)
        if self._gathering:
            self._answers.begin(now)

    def _give_credit(self, lane: GateLane) -> None:
        for inbox in lane.news:
            edge, channel = inbox.channel
            self.out.append(Credit(edge, channel, self.task.partition, inbox.room.granted, inbox.room.room))
        lane.news.clear()

    def _by_the_clock(self, now: int) -> bool:
        """Fire due timers, call ``tick``, and emit the results of operators' threads; returns whether there was
        anything to do."""
        worked, clock = False, self.task.clock() if self._timed else 0
        for member in self._timed:
            due = member.operator.next_due()
            if due is not None and due <= clock and self._gates[member.info.id].clear:
                before = self.task.watch.switch(work_slot(member.number))
                member.operator.advance_processing_time(clock)
                self.task.watch.switch(before)
                worked = True
        for member in self._calling:
            if self._gates[member.info.id].clear:
                known = member.fork.records
                member.operator.wake()
                worked = worked or member.fork.records > known
        if self._ticking and now >= self._next_tick:
            self._next_tick = now + INTERVAL_MS * _MILLISECOND
            for member in self._ticking:
                if not self._gates[member.info.id].busy:
                    member.operator.tick(self.task.clock())
            worked = True
        if worked:
            self._gathered(now)
        return worked

    def _end_slice(self, now: int, at_rest: bool) -> bool:
        """End the slices that are due; returns whether there was one."""
        watch = self.task.watch
        ended = False
        if self._answers.due(now, at_rest):
            began = self._nanos()
            for member in self._gathering:
                before = watch.switch(work_slot(member.number))
                member.operator.end_slice()
                watch.switch(before)
            self._answers.ended(now, self._nanos() - began)
            ended = True
        answered = ended
        for beat, members, writers in self._parcels:
            # Operators that have gathered as much as their receivers have room for need not wait.
            is_full = at_rest and any(writer.full for writer in writers)
            if is_full or beat.due(now, at_rest) or (answered and beat.is_timed):
                began = self._nanos()
                for member in members:
                    member.fork.flush()
                cost = self._nanos() - began
                beat.ended(now, cost)
                for lane in self._sources.values():
                    lane.sent(cost)
                ended = True
        return ended

    def _send(self) -> None:
        if self.task.has_packets:
            self.out += self.manifest.sending(self.task.drain())

    def _wake_at(self, now: int) -> int | None:
        """When there is something to do even if no frame arrives (ns); None: never."""
        times = [self._answers.end_at(True), *[beat.end_at(True) for beat, _, _ in self._parcels]]
        times += [lane.again_at for lane in self._sources.values() if lane.busy and lane.clear and not lane.waits]
        for member in () if self._over else self._timed:
            due = member.operator.next_due()
            if due is not None and self._gates[member.info.id].clear:
                times.append(now + max(0, due - self.task.clock()) * _MILLISECOND)
        if self._in_flight:
            times.append(now + DRY_NANOSECONDS)
        if self._ticking and not self._over:
            times.append(self._next_tick)
        if self._late_at is not None and self._late_at > now:
            times.append(self._late_at)
        return min([time for time in times if time is not None], default=None)

    # -- the end of an epoch ---------------------------------------------------------------------------------------

    @property
    def _in_flight(self) -> bool:
        return any(member.operator.in_flight() for member in self._calling)

    @property
    def _has_ended(self) -> bool:
        """Whether the epoch has ended before this task, and in its sources."""
        if (self._sources or not self._inboxes) and not self._ending:
            return False
        return not self._open and not any(lane.busy for lane in self._sources.values())

    @property
    def _has_all(self) -> bool:
        """Whether all input of the epoch has arrived, and is processed or put off."""
        return self._has_ended and (self._is_put_off or not any(lane.has_work for lane in self._gates.values()))

    @property
    def _nothing_waits(self) -> bool:
        """Whether all input of the epoch must be processed, however long that takes."""
        return self._order is None or not self._order.keep_state or self._order.work_millis is None

    def _is_late(self, now: int) -> bool:
        """Whether the remaining input must be put off."""
        if self._is_put_off or self._nothing_waits or not self._has_ended:
            return False
        if self._late_at is None:
            behind = any(lane.carries for lane in self._gates.values())
            self._late_at = now if behind else now + self._late
        return now >= self._late_at and any(lane.has_work for lane in self._gates.values())

    def _put_off(self) -> None:
        self._is_put_off = True
        self.task.put_off()
        for lane in self._gates.values():
            lane.put_off()
            self._give_credit(lane)

    def _close(self, now: int) -> Next:
        """End the epoch as soon as all its results are sent."""
        if self._late_at is not None and now >= self._late_at:
            for writer in self._writers.values():
                writer.overdraw()
        self._send()
        if self._blocked:
            self.task.watch.switch(PRESSED)
            return Next(False, self._late_at, pressed=True)
        return self._ended()

    @property
    def _blocked(self) -> bool:
        return any(writer.blocked for writer in self._writers.values())

    def _ended(self) -> Next:
        self._aligned, self._closing = None, False
        run = self.manifest.run
        for writer in self._writers.values():
            self.out += writer.epoch_marks(run)
        for lane in self._gates.values():
            lane.next_epoch()
        self._order = None
        self.task.watch.switch(OTHER)
        return Next(False, ended=True)

    def _drags(self, until: int) -> bool:
        """Whether an aligned epoch must end before all its input is processed.

        :param until: how long the epoch may last for slow operators (ms).
        """
        if self._ending:
            return True
        return self.task.clock() >= until and any(_is_slow(member.gate) for member in self.task.members)

    def _step_aligned(self) -> Next:
        if self._aligned is None:
            if self._open:
                return Next(False)
            assert self._order is not None
            leading = self.task.job.leading_edges
            packets = in_order((packet for inbox in self._inboxes.values() for packet in _taken(inbox)), leading)
            until = self.task.clock() + BRIEF_MS
            running = self.task.run(self._order, self._own, packets, self._results, partial(self._drags, until))
            self._aligned = self.manifest.sending(running)
        packet = next(self._aligned, None)
        if packet is not None:
            self.out.append(packet)
            return Next(True)
        return self._ended()


def _is_slow(gate: Gate) -> bool:
    each = max(gate.each_nanoseconds, gate.operator.calls_ahead(1)[1] * _MILLISECOND)
    return each >= LONG_NANOSECONDS or (each >= SLOW_NANOSECONDS and gate.records >= SLOW_ELEMENTS)


def _longest(timeout: int | None) -> int | None:
    """The longest slice (ns) for a buffer timeout (ms)."""
    if timeout is None:
        return SLICE_NANOSECONDS
    return None if timeout < 0 else timeout * _MILLISECOND


def _taken(inbox: Inbox) -> Iterable[Packet]:
    while inbox:
        yield inbox.take()
