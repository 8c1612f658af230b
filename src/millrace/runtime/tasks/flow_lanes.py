"""The inputs of a task in flow, which take turns, and when a slice or an epoch of it ends.

A lane hands on one piece when it has its turn, if there is room for what comes of it. At the end of a slice the task
hands on what it has gathered. An epoch should end when it has changed so much state that it takes long to record: all
of it is recorded at its end, at once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence

from millrace.runtime.bases.operator import Operator, ReadingOperator
from millrace.runtime.exchange.exchange import Packet
from millrace.runtime.exchange.flow_writer import FlowWriter
from millrace.runtime.tasks.flow_inbox import SPAN_NANOSECONDS, BroadcastLead, Inbox
from millrace.runtime.tasks.member import Member
from millrace.runtime.tasks.waiting import Channel, Waiting, joined
from millrace.runtime.tasks.wiring import Gate
from millrace.util.system import LONGEST_REST_SECONDS, REST_FACTOR

# Slices

COST_FACTOR = REST_FACTOR
"""A slice is as long as so many times what ending one takes: so that costs a twentieth of the time."""
LONGEST_NANOSECONDS = int(LONGEST_REST_SECONDS * 1e9)
"""That never makes it longer than this."""


class SliceClock:
    """The ends of slices. A slice begins with the first thing that is gathered, and ends as soon as the task has
    nothing else to do, at the latest after some time. But ends are not closer to each other than they are worth.

    All times are of one clock that does not go back (ns).

    :param longest: how long a slice may take (ns); 0: it ends after each piece; None: only with its epoch.
    :param least: how long slices take at least (ns).
    """

    def __init__(self, longest: int | None, least: int = 0) -> None:
        self._longest = longest
        self._least = least
        self._earliest = 0
        """the next one does not end before"""
        self._began: int | None = None

    @property
    def is_open(self) -> bool:
        """Whether something was gathered since the last end."""
        return self._began is not None

    @property
    def is_timed(self) -> bool:
        """Whether slices end before their epoch does."""
        return self._longest is not None

    def begin(self, now: int) -> None:
        """Something is gathered."""
        if self._began is None:
            self._began = now

    def due(self, now: int, at_rest: bool) -> bool:
        """Whether the slice shall end now.

        :param at_rest: whether the task has nothing else to do.
        """
        end = self.end_at(at_rest)
        return end is not None and now >= end

    def end_at(self, at_rest: bool) -> int | None:
        """When the slice shall end (ns); None: there is none, or only its epoch ends it."""
        if self._began is None or self._longest is None:
            return None
        if self._longest == 0:
            return self._began
        latest = self._began + self._least if at_rest else self._began + max(self._longest, self._least)
        return max(latest, self._earliest)

    def ended(self, now: int, cost: int) -> None:
        """The slice has ended now, and that took so long (ns)."""
        self._began = None
        self._earliest = now + min(COST_FACTOR * cost, LONGEST_NANOSECONDS)


# Epochs that have changed much state

MOST_ENTRIES = 200_000
"""Entries of keyed state of a task that an epoch changes."""
MOST_BYTES = 64 * 1024 * 1024
"""Bytes that come to an operator with keyed state: what it stores of them is not measured."""
LOOK_NANOSECONDS = 50_000_000
"""How often the entries are counted."""


class ChangedState:
    """The changes of a task's operators since the epoch began."""

    def __init__(self, members: Sequence[Member]) -> None:
        self._members = [each for each in members if each.operator.keyed_state() is not None]
        self._at = 0
        """when (ns) they are counted again"""
        self.much = False
        """whether the epoch should end"""

    def begin(self) -> None:
        """An epoch begins."""
        self._at, self.much = 0, False

    def look(self, now: int) -> None:
        """Count, if it is time for that.

        :param now: ns.
        """
        if now >= self._at and self._members and not self.much:
            self._at = now + LOOK_NANOSECONDS
            entries = sum(each.operator.keyed_state().pending() for each in self._members)
            self.much = entries >= MOST_ENTRIES or any(each.gate.bytes >= MOST_BYTES for each in self._members)


# Lanes

DRY_NANOSECONDS = 5_000_000
"""How long a source is left alone that had nothing, and twice as long each time that it has nothing again,"""
DRIEST_NANOSECONDS = 40_000_000
"""but not longer than this."""
DRY_BESIDE_NANOSECONDS = 100_000
DRIEST_BESIDE_NANOSECONDS = 400_000
"""With many subtasks both are this times their number at least, or a process would do little but ask them."""
LEAST_SHARE = 1 / 16
"""So many elements, at least, are taken to come of one; more may come of the next ones than of the last."""
LONG_NANOSECONDS = 1_000_000_000
"""The same of one that says when it has something."""
_END = object()


class Lane(ABC):
    """One input of a task: a source, or the gate of an operator with its channels."""

    def __init__(self, member: Member) -> None:
        self.member = member
        self._writers: Sequence[FlowWriter] = ()
        self._shares: list[float] = []
        """how many elements of each writer come of one, at most one: filters and aggregates make fewer"""
        self._below: Sequence[GateLane] = ()
        self._limited: Sequence[Operator] = ()
        """operators below that do not always want elements"""

    def leads_to(self, writers: Iterable[FlowWriter], below: Iterable[GateLane]) -> None:
        """What can be reached from here within the task.

        :param writers: of the edges that leave the task.
        :param below: the gates, but for its own.
        """
        self._writers, self._below = tuple(writers), tuple(below)
        self._shares = [1.0] * len(self._writers)
        operators = [lane.gate.operator for lane in self._below]
        self._limited = [each for each in operators if type(each).fitting is not Operator.fitting]

    @property
    def clear(self) -> bool:
        """Whether there is room for what comes of a piece."""
        if self.fitting(1) <= 0 or any(lane.busy for lane in self._below):
            return False
        return all(operator.fitting(1) for operator in self._limited)

    def fitting(self, elements: int) -> int:
        """For how many of so many elements there is room, if as much comes of them as of the last ones."""
        for writer, share in zip(self._writers, self._shares):
            elements = min(elements, max(0, int(writer.room / share)))
        return elements

    def _learn(self, elements: int, written: Sequence[int]) -> None:
        """What has come of some elements: more counts at once, less by and by.

        :param written: by each writer, before.
        """
        for at, (writer, before) in enumerate(zip(self._writers, written)):
            came = min(1.0, (writer.written - before) / elements)
            share = self._shares[at]
            self._shares[at] = came if came > share else max(LEAST_SHARE, share - (share - came) / 4)

    def _written(self) -> list[int]:
        return [writer.written for writer in self._writers]

    @property
    @abstractmethod
    def busy(self) -> bool:
        """Whether something of it is begun, or waits within the task."""

    @abstractmethod
    def ready(self, now: int) -> bool:
        """Whether it has something to hand on, be there room for it or not.

        :param now: ns.
        """

    @abstractmethod
    def turn(self, now: int) -> None:
        """Hand on one piece at most."""


class GateLane(Lane):
    """The gate of an operator, and what has come for it from other tasks."""

    def __init__(self, member: Member, inboxes: Iterable[Inbox], lead: BroadcastLead) -> None:
        super().__init__(member)
        self.lead = lead
        self.gate: Gate = member.gate
        self._inboxes = tuple(inboxes)
        self._filled: deque[Inbox] = deque()
        """those in which something waits; the first one has its turn"""
        self._going_on: Iterator[None] | None = None
        self._taken: list[tuple[Inbox, int, int]] = []
        """(where packets came from that the gate is at, their elements, their bytes)"""
        self._recent: deque[tuple[int, Channel]] = deque()
        """when (ns) it was done with something of which channel, within the span of its room"""
        self._active: Counter[Channel] = Counter()
        """the channels of these"""
        self.news: list[Inbox] = []
        """where there is more room now"""
        self._is_put_off = False
        """whether what waits does so for the next epoch"""
        self.carries = False
        """whether something waits that was put off in an earlier epoch"""

    def fitting(self, elements: int) -> int:
        return super().fitting(self.gate.operator.fitting(elements))

    @property
    def busy(self) -> bool:
        return self._going_on is not None or bool(self.gate.waiting) or bool(self.lead.aside)

    @property
    def leads(self) -> bool:
        """Whether its broadcast side goes first."""
        return not self.lead.over(self.gate.open_channels)

    def ready(self, now: int) -> bool:
        operator = self.gate.operator
        if self._is_put_off or (operator.has_calls_in_flight and not operator.fitting(1)):
            return False
        if self._going_on is not None or self.gate.waiting or self._filled:
            return True
        return bool(self.lead.aside) and not self.leads

    def turn(self, now: int) -> None:
        known, written = self.gate.records, self._written()
        self._hand_on(now)
        if self.gate.records > known:
            self._learn(self.gate.records - known, written)

    def _hand_on(self, now: int) -> None:
        if self._going_on is None:
            if not self.gate.waiting:
                self._take()
            self._going_on = self.gate.resume()
        going_on = next(self._going_on, _END) is not _END
        # Behind the last piece nothing follows, so nobody has to have room for what is found out by that.
        if going_on and not self.gate.cut and not self.gate.waiting:
            going_on = next(self._going_on, _END) is not _END
        if not going_on:
            self._going_on = None
            self.carries = self.carries and bool(self.gate.waiting)
            self._done(now)

    def _take(self) -> None:
        """The next packets, as many as make a piece: the channels take turns."""
        leads = self.leads
        if self.lead.aside and not leads:
            self.gate.waiting.extend(self.lead.take_back())
            return
        if leads:
            self._take_leading()
            return
        items: list[Waiting] = []
        elements = 0
        while self._filled and elements < self.gate.piece:
            inbox = self._filled.popleft()
            own = size = 0
            while inbox and elements + own < self.gate.piece:
                payload = inbox.take().payload
                more, added = self.gate.decoded(inbox.channel, payload)
                items += more
                own, size = own + added, size + len(payload)
            elements += own
            self._taken.append((inbox, own, size))
            if inbox:
                self._filled.append(inbox)
        self.gate.waiting.extend(joined(items))

    def _take_leading(self) -> None:
        """One packet: of the broadcast side, if there is one."""
        inbox = self._next_inbox()
        if inbox is None:
            return
        payload = inbox.take().payload
        items, elements = self.gate.decoded(inbox.channel, payload)
        if inbox:
            self._filled.append(inbox)
        if inbox.channel not in self.lead.channels:
            self.lead.put_aside(items, len(payload))
        else:
            self.gate.waiting.extend(items)
        self._taken.append((inbox, elements, len(payload)))

    def _next_inbox(self) -> Inbox | None:
        for inbox in self._filled:
            if inbox.channel in self.lead.channels:
                self._filled.remove(inbox)
                return inbox
        return self._filled.popleft() if self._filled else None

    def came(self, inbox: Inbox, packet: Packet) -> None:
        """A packet has come for one of its channels."""
        if not inbox:
            self._filled.append(inbox)
        inbox.put(packet)

    def next_epoch(self) -> None:
        """What comes from now on is of the next epoch."""
        self._filled.clear()  # an aligned one has taken its packets without a turn
        for inbox in self._inboxes:
            inbox.next_epoch()
        self.lead.end()
        self._is_put_off = False

    def put_off(self) -> None:
        """What has come and is not done waits at the gate for the next epoch. Nothing more is handed on in this one."""
        self._is_put_off = True
        if self._going_on is not None:
            deque(self._going_on, maxlen=0)  # no piece follows: the task's time is over
            self._going_on = None
        for inbox, elements, _ in self._taken:
            self._leave(inbox, elements)
        self._taken.clear()
        self.gate.waiting.extend(self.lead.take_back())
        while self._filled:
            inbox = self._filled.popleft()
            while inbox:
                items, elements = self.gate.decoded(inbox.channel, inbox.take().payload)
                self.gate.waiting.extend(items)
                self._leave(inbox, elements)

    def _leave(self, inbox: Inbox, elements: int) -> None:
        inbox.room.left(elements)
        if inbox.room.news() and inbox not in self.news:
            self.news.append(inbox)

    @property
    def fill(self) -> float:
        """How much of the room of its channels is taken, each 0 to 1, added up."""
        return sum(inbox.fill for inbox in self._filled)

    @property
    def has_work(self) -> bool:
        """Whether something has come that is not done."""
        return self.busy or bool(self._filled)

    def _done(self, now: int) -> None:
        if not self._taken:
            return
        recent, active = self._recent, self._active
        for inbox, _, _ in self._taken:
            recent.append((now, inbox.channel))
            active[inbox.channel] += 1
        while recent[0][0] < now - SPAN_NANOSECONDS:
            channel = recent.popleft()[1]
            active[channel] -= 1
            if not active[channel]:
                del active[channel]
        # Together the channels over which something comes have room for a piece, or there would never be a full one.
        least = -(-self.gate.wanted // len(active))
        for inbox, elements, size in self._taken:
            inbox.room.took(now, elements, size, least)
            if inbox.room.news():
                self.news.append(inbox)
        self._taken.clear()


class SourceLane(Lane):
    """A source, for one epoch.

    :param nanos: tells what its turns cost (ns).
    """

    def __init__(self, member: Member, nanos: Callable[[], int]) -> None:
        super().__init__(member)
        self._nanos = nanos
        assert isinstance(member.operator, ReadingOperator)
        self.operator: ReadingOperator = member.operator
        self._reading: Iterator[None] | None = None
        self._rests = False
        """whether nothing comes from here in this epoch"""
        self.again_at = 0
        """when it is asked again (ns)"""
        self.not_before = 0
        """what is woken is not asked again before (ns)"""
        self._cost = 0
        """what its turns have cost since it had nothing (ns)"""
        self._least_dry = max(DRY_NANOSECONDS, DRY_BESIDE_NANOSECONDS * member.info.parallelism)
        self._most_dry = max(DRIEST_NANOSECONDS, DRIEST_BESIDE_NANOSECONDS * member.info.parallelism)
        self._dry = self._least_dry
        """how long it is left alone the next time that it has nothing (ns)"""
        self._records = 0
        """that it had given when it had nothing the last time"""
        self.waits = False
        """whether it is too far ahead of its alignment group"""

    def begin(self, reading: Iterator[None], is_held: bool, limit: int | None) -> None:
        """An epoch: what is to be read.

        :param is_held: whether the source is to read nothing.
        :param limit: the watermark (ms) above which it waits for others of its alignment group.
        """
        self._reading = reading
        self._rests = is_held or self.operator.finished
        self.again_at = 0
        self.waits = limit is not None and self.operator.align(limit)

    def align(self, limit: int) -> None:
        """The others of its alignment group have come further: a new limit."""
        self.waits = self.operator.align(limit)
        self.again_at = 0

    def end(self) -> None:
        """The epoch ends: it only has to say so."""
        self.waits = False
        self.again_at = 0

    @property
    def clear(self) -> bool:
        # What goes to an operator in the same task can't be put aside there: it is not read.
        led = any(lane.leads and self.member.info.id not in lane.lead.sources for lane in self._below)
        return not led and super().clear

    @property
    def busy(self) -> bool:
        return self._reading is not None

    @property
    def wants_end(self) -> bool:
        """Whether it can't go on before the epoch has ended."""
        return not self._rests and (self._reading is None or self.operator.needs_driver)

    def ready(self, now: int) -> bool:
        return self._reading is not None and not self.waits and now >= self.again_at

    def turn(self, now: int) -> None:
        began, known, written = self._nanos(), self.member.fork.records, self._written()
        if self._reading is not None and next(self._reading, _END) is _END:
            self._reading = None
        self._cost += self._nanos() - began
        if self.member.fork.records > known:
            self._learn(self.member.fork.records - known, written)
        self.again_at = 0
        if self.operator.is_dry:
            self._rest(now)

    def _rest(self, now: int) -> None:
        """It has nothing any more, and rests as a slice does: a few rows cost nearly as much as many."""
        records = self.member.fork.records
        if records != self._records:
            self._dry = self._least_dry
        self.again_at = now + (LONG_NANOSECONDS if self.operator.is_woken else self._dry)
        self._dry = min(2 * self._dry, self._most_dry)
        self._records = records
        self.not_before = now + min(COST_FACTOR * self._cost, LONGEST_NANOSECONDS)
        self._cost = 0
