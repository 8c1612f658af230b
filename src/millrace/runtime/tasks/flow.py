"""A task in flow: all tasks of a job work at the same time, and an epoch is a mark that goes through the stream.

It is a state machine: it has no threads, waits for nobody and knows no time but what it is told. Whoever turns it hands
it packets, marks and credit as they come, and calls ``step`` as long as there is something to do. A step does one piece
of one input, or ends a slice. What shall go to other tasks lies in ``out`` afterwards.

An input has its turn only if all that it can reach within the task has room, so nothing waits inside an operator. An
epoch ends in a task when it has ended in all tasks before it: sources are told so by the driver, the others by the mark
behind the last packet of each channel.

The first epoch of a bounded job is *aligned*: tasks wait until everything of it has arrived, and take it in the order
in which stages that run one after the other would. So a job that ends within it has the changelog that it always has.

A task that is too slow for what has come does not hold up the epoch: 250 ms after the last mark the rest is put off. It
waits at the gates as a part of the task's state, and is taken up in the next epoch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
"""How long a slice is at most, where nothing else is said."""
WIDE, WIDE_NANOSECONDS = 64, 100_000_000
"""With more receivers than this a slice takes so long at least."""
PAUSE_NANOSECONDS = 4_000_000
"""How long what is new in a source waits for more at most."""
LATE_NANOSECONDS = 250_000_000
"""How long a task goes on with an epoch that has ended before it; what it has not done by then is put off."""
BRIEF_MS = 250
"""How long a task works in an aligned epoch if its elements are slow: results are seen at its end, and a job that goes
on for longer has no use for an order in which stages take turns."""
SLOW_ELEMENTS, SLOW_NANOSECONDS, LONG_NANOSECONDS = 64, 500_000, 400_000_000
"""So many elements that take so long each, or one that takes so long, are slow ones."""
_MILLISECOND = 1_000_000

Frame = Packet | EpochMark | Credit
"""What tasks send to each other. Packets and marks go to the task that is their target, credit to the sender."""


def destination(job: JobGraph, frame: Frame) -> TaskId:
    """The task that a frame is for."""
    if not isinstance(frame, Credit):
        return job.edge_stages[frame.edge], frame.target
    sender = job.by_id[job.edges[frame.edge].source]
    return sender.stage, sender.offset + frame.channel


class FlowError(RuntimeError):
    """Something has come that does not belong to what the task is at."""


class Next(NamedTuple):
    """What a task in flow wants after a step."""

    more: bool
    """whether there is something to do at once"""
    until: int | None = None
    """else: when it has something to do though nothing comes (ns); None: never"""
    ended: bool = False
    """whether the epoch has ended here, and is to be recorded"""
    pressed: bool = False
    """whether credit gives it something to do"""


class FlowTask:
    """A ``StageTask`` in flow.

    :param task: made with ``FlowWriter``.
    :param most: elements that a channel may bring at any time.
    :param ahead: so many collected results wait to be taken, while an epoch goes on, before no more are wanted; 0: all
        are taken at its end.
    :param call_soon: lets the thread that turns the task call something, from any thread; None: sources are asked.
    :param late: how long it goes on with an epoch that has ended before it (ns).
    :param nanos: tells what ends of slices and turns of sources cost (ns): processor time, so that a busy machine does
        not make slices long.
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
        """what is to be sent; whoever turns the task takes it out"""
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
                longest = _longest(self._timeout(lane.member))
                pause = PAUSE_NANOSECONDS if longest is None else min(longest, PAUSE_NANOSECONDS)
                lane.operator.pause_ms = pause / _MILLISECOND
        self._lanes: list[Lane] = [*self._gates.values(), *self._sources.values()]
        self._by_edge = {edge: self._gates[task.job.edges[edge].target] for edge, _ in self._inboxes}
        self._connect()
        self.pools = Pools(self._gates.values(), len(self._inboxes), self._writers.values())
        self._at = 0
        """the lane that has its turn next"""
        least = max((member.operator.least_slice for member in task.members), default=0)
        self._answers = SliceClock(_longest(task.job.buffer_timeout), least * _MILLISECOND)
        """the ends of slices of operators that gather"""
        self._parcels = self._by_timeout()
        """the ends of slices of what operators have sent, by how long they may be"""
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
        """the whole epoch, of one that is aligned"""
        self._closing = False
        """whether all is done, and only some of what was made of it is not sent"""
        self._own = TaskOrder()
        self._results: ResultFiles | None = None
        self._ending = False
        self._over = False
        """whether there was nothing more to come when the epoch began"""
        self._open = 0
        """channels over which the mark has not come"""
        self._late_at: int | None = None
        """when what is not done by then is put off (ns)"""
        self._is_put_off = False
        self._early: list[Packet | EpochMark] = []
        """of the next epoch, which has not begun here"""

    def _timeout(self, member: Member) -> int | None:
        """The buffer timeout (ms) of an operator: its own, or that of its job; None: nothing was chosen."""
        own = member.info.buffer_timeout
        return self.task.job.buffer_timeout if own is None else own

    def _by_timeout(self) -> list[tuple[SliceClock, list[Member]]]:
        found: dict[int | None, list[Member]] = {}
        for member in self.task.members:
            found.setdefault(self._timeout(member), []).append(member)
        # A slice may make a packet for each receiver.
        least = WIDE_NANOSECONDS if any(writer.width > WIDE for writer in self._writers.values()) else 0
        return [(SliceClock(_longest(timeout), least), members) for timeout, members in found.items()]

    def _gate_lane(self, member: Member) -> GateLane:
        edges, id = self.task.job.edges, member.info.id
        inboxes = [inbox for (edge, _), inbox in self._inboxes.items() if edges[edge].target == id]
        return GateLane(member, inboxes, broadcast_lead_of(self.task.job, id, inboxes))

    def _connect(self) -> None:
        """Let each lane know what it leads to."""
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
        """An epoch begins.

        :param run: its number; all tasks have the same.
        :raises FlowError: what has come already is not of this run.
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
        """Something has come for this task.

        :raises FlowError: it is of another run.
        :raises LostPacketError: something is missing before it.
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
        """There is something to read. While a slice is open, what comes until its end is read together; a source that
        has not waited has it already."""
        ends = [beat.end_at(True) for beat, _ in self._parcels]
        end = min((end for end in ends if end is not None), default=0)
        lane.again_at = min(lane.again_at, max(end, lane.not_before))

    def end(self) -> None:
        """The driver ends the epoch: sources read no more."""
        self._ending = True
        self._limit_results(None)  # the end of an epoch need not wait for whom they are for
        for lane in self._sources.values():
            lane.end()

    def align(self, limits: Mapping[int, int]) -> None:
        """Sources have new limits within the epoch: id of the operator -> the watermark (ms) above which it waits."""
        if self._order is None or self._order.aligned or self._ending:
            return
        for id, lane in self._sources.items():
            if id in limits:
                lane.align(limits[id])

    def so_far(self) -> TaskSoFar | None:
        """What it has done of its epoch; None: it has none. From any thread, so only what is read at once."""
        if self._order is None:
            return None
        spent = self.task.watch.so_far()
        reports = tuple(each.so_far(of_operator(spent, each.number)) for each in self.task.members)
        times = TaskTimes(pressed=spent[PRESSED] // 1000, pools=self.pools.so_far())
        return TaskSoFar(self.task.stage, self.task.partition, reports, times)

    @property
    def has_read(self) -> bool:
        """Whether a source has read something in this epoch, or something was put off until it."""
        if self._order is None:
            return False
        behind = any(lane.carries for lane in self._gates.values())
        return behind or any(lane.member.fork.records for lane in self._sources.values())

    def take_printed(self) -> tuple[str, ...]:
        """What has been printed since the last time, unless the epoch is aligned: that shows all of it at its end."""
        if self._order is None or self._order.aligned:
            return ()
        return tuple(line for operator in self._printing for line in operator.take_lines())

    def take_collected(self) -> tuple[Result, ...]:
        """What has been collected since the last time, if that shall be taken before the epoch ends."""
        if self._order is None or self._order.aligned or not self._ahead:
            return ()
        return tuple(result for operator in self._collecting for result in operator.take_results())

    def _limit_results(self, most: int | None) -> None:
        for operator in self._collecting:
            operator.most = most

    @property
    def wants_end(self) -> bool:
        """Whether the epoch should end: a source can't go on before, or much has changed."""
        if self._order is None or self._order.aligned or self._ending:
            return False
        return self._changed.much or any(lane.wants_end for lane in self._sources.values())

    # -- a step ----------------------------------------------------------------------------------------------------

    def step(self, now: int) -> Next:
        """Do one thing, if there is one to do.

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
        # A task that has had all its input only passes marks on; its operators are closed.
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
        # Who is at his end only has to say so, and nobody has to have room for that.
        return lane.ready(now) and (lane.clear or (self._ending and isinstance(lane, SourceLane)))

    def _has_turn(self, now: int) -> bool:
        """Whether an input can hand on a piece."""
        return any(self._may_turn(lane, now) for lane in self._lanes)

    def _turn(self, now: int) -> bool:
        """Let one input hand on a piece; whether there was one."""
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
        for beat, _ in self._parcels:
            beat.begin(now)
        if self._gathering:
            self._answers.begin(now)

    def _give_credit(self, lane: GateLane) -> None:
        for inbox in lane.news:
            edge, channel = inbox.channel
            self.out.append(Credit(edge, channel, self.task.partition, inbox.room.granted, inbox.room.room))
        lane.news.clear()

    def _by_the_clock(self, now: int) -> bool:
        """Timers that are due, ticks, and what threads of operators have ready; whether there was something."""
        worked, clock = False, self.task.clock()
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
        """End the slices that are due; whether there was one."""
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
        for beat, members in self._parcels:
            if beat.due(now, at_rest) or (answered and beat.is_timed) or (at_rest and self._is_full(members)):
                began = self._nanos()
                for member in members:
                    member.fork.flush()
                beat.ended(now, self._nanos() - began)
                ended = True
        return ended

    def _is_full(self, members: Sequence[Member]) -> bool:
        """Whether one of them has gathered all that its receivers have room for."""
        edges, ids = self.task.job.edges, {member.info.id for member in members}
        return any(writer.full for edge, writer in self._writers.items() if edges[edge].source in ids)

    def _send(self) -> None:
        self.out += self.manifest.sending(self.task.drain())

    def _wake_at(self, now: int) -> int | None:
        """When there is something to do though nothing comes."""
        times = [self._answers.end_at(True), *(beat.end_at(True) for beat, _ in self._parcels)]
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
        return min((time for time in times if time is not None), default=None)

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
        """Whether everything of the epoch is here, and done or put off."""
        return self._has_ended and (self._is_put_off or not any(lane.has_work for lane in self._gates.values()))

    @property
    def _nothing_waits(self) -> bool:
        """Whether all of the epoch is to be done, however long that takes."""
        return self._order is None or not self._order.keep_state or self._order.work_millis is None

    def _is_late(self, now: int) -> bool:
        """Whether what there is to do shall be put off."""
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
        """End the epoch as soon as all that was made of it is sent."""
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
        """Whether an aligned epoch shall end before all of it is done.

        :param until: how long it may be for slow operators (ms).
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
    """How long a slice may be (ns), of a buffer timeout (ms)."""
    if timeout is None:
        return SLICE_NANOSECONDS
    return None if timeout < 0 else timeout * _MILLISECOND


def _taken(inbox: Inbox) -> Iterable[Packet]:
    while inbox:
        yield inbox.take()
