"""The inputs of a task in flow, which get turns, and the rules that end a slice or an epoch.

A lane passes on one piece per turn, if there is room for the results. At the end of a slice the task sends what it has
gathered. An epoch should end when it has changed so much state that recording it takes long, because all changes are
recorded at once at its end.
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
"""A slice lasts at least this many times what ending one costs, so that ending slices takes a twentieth of the time."""
LONGEST_NANOSECONDS = int(LONGEST_REST_SECONDS * 1e9)
"""The limit of the length that ``COST_FACTOR`` gives to a slice (ns)."""


class SliceClock:
    """Decides when slices end. A slice begins with the first gathered element, and ends as soon as the task has nothing
    else to do, at the latest after ``longest``. But a slice also lasts as long as the cost of ending it justifies.

    All times are of one monotonic clock (ns).

    :param longest: the longest slice (ns); 0: a slice ends after each piece; None: only with its epoch.
    :param least: the shortest slice (ns).
    """

    def __init__(self, longest: int | None, least: int = 0) -> None:
        self._longest = longest
        self._least = least
        self._earliest = 0
        """the next slice does not end before this time (ns)"""
        self._began: int | None = None

    @property
    def is_open(self) -> bool:
        """Whether something was gathered since the last end."""
        return self._began is not None

    @property
    def is_timed(self) -> bool:
        """Whether slices may end before their epoch does."""
        return self._longest is not None

    def begin(self, now: int) -> None:
        """Something was gathered."""
        if self._began is None:
            self._began = now

    def due(self, now: int, at_rest: bool) -> bool:
        """Whether the slice should end now.

        :param at_rest: whether the task has nothing else to do.
        """
        end = self.end_at(at_rest)
        return end is not None and now >= end

    def end_at(self, at_rest: bool) -> int | None:
        """When the slice ends (ns); None: no slice is open, or only its epoch ends it."""
        if self._began is None or self._longest is None:
            return None
        if self._longest == 0:
            return self._began
        latest = self._began + self._least if at_rest else self._began + max(self._longest, self._least)
        return max(latest, self._earliest)

    def ended(self, now: int, cost: int) -> None:
        """The slice has ended now; ``cost`` is how long ending it took (ns)."""
        self._began = None
        self._earliest = now + min(COST_FACTOR * cost, LONGEST_NANOSECONDS)


# Epochs that have changed much state

MOST_ENTRIES = 200_000
"""The number of changed entries of keyed state in a task at which its epoch should end."""
MOST_BYTES = 64 * 1024 * 1024
"""The bytes received by operators with keyed state at which their epoch should end; the size of what they store is not
measured."""
LOOK_NANOSECONDS = 50_000_000
"""The interval at which the changed entries are counted (ns)."""


class ChangedState:
    """The state changes of a task's operators since the epoch began."""

    def __init__(self, members: Sequence[Member]) -> None:
        self._members = [each for each in members if each.operator.keyed_state() is not None]
        self._at = 0
        """when the entries are counted again (ns)"""
        self.much = False
        """whether so much has changed that the epoch should end"""

    def begin(self) -> None:
        """Start counting for a new epoch."""
        self._at, self.much = 0, False

    def look(self, now: int) -> None:
        """Count the changes, if it is time for that.

        :param now: the time (ns).
        """
        if now >= self._at and self._members and not self.much:
            self._at = now + LOOK_NANOSECONDS
            entries = sum(each.operator.keyed_state().pending() for each in self._members)
            self.much = entries >= MOST_ENTRIES or any(each.gate.bytes >= MOST_BYTES for each in self._members)


# Lanes

DRY_NANOSECONDS = 5_000_000
"""How long a source that had nothing is not polled (ns); doubled each time that it has nothing again."""
DRIEST_NANOSECONDS = 40_000_000
"""The limit of that doubling (ns)."""
DRY_BESIDE_NANOSECONDS = 100_000
DRIEST_BESIDE_NANOSECONDS = 400_000
"""With many subtasks both limits are at least these values times their number, or a process would do little but
poll."""
LEAST_SHARE = 1 / 16
"""The estimated number of output elements per input element is never lower than this; the next elements may give more
than the last ones."""
LONG_NANOSECONDS = 1_000_000_000
"""How long a source that signals new input is not polled after it had nothing (ns)."""
_END = object()


class Lane(ABC):
    """One input of a task: a source, or the gate of an operator with its channels."""

    def __init__(self, member: Member) -> None:
        self.member = member
        self._writers: Sequence[FlowWriter] = ()
        self._shares: list[float] = []
        """for each writer, the estimated number of elements written per input element; at most 1: filters and
        aggregates emit fewer"""
        self._below: Sequence[GateLane] = ()
        self._limited: Sequence[Operator] = ()
        """later operators in the task that may refuse elements"""

    def leads_to(self, writers: Iterable[FlowWriter], below: Iterable[GateLane]) -> None:
        """Set what the lane leads to within the task.

        :param writers: writers of the edges that leave the task.
        :param below: gates that it can reach, except its own.
        """
        self._writers, self._below = tuple(writers), tuple(below)
        self._shares = [1.0] * len(self._writers)
        operators = [lane.gate.operator for lane in self._below]
        self._limited = [each for each in operators if type(each).fitting is not Operator.fitting]

    @property
    def clear(self) -> bool:
        """Whether there is room for the results of a piece."""
        for writer in self._writers:
            if writer.room <= 0:
                return False
        for lane in self._below:
            if lane.busy:
                return False
        return all(operator.fitting(1) for operator in self._limited)

    def fitting(self, elements: int) -> int:
        """How many of ``elements`` there is room for, if they give as many results as the last ones."""
        for writer, share in zip(self._writers, self._shares):
            elements = min(elements, max(0, int(writer.room / share)))
        return elements

    def _learn(self, elements: int, written: Sequence[int]) -> None:
        """Update the estimates: an increase counts at once, a decrease gradually.

        :param elements: number of elements processed.
        :param written: number of elements that each writer had written before.
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
        """Whether it has begun something, or has elements that wait within the task."""

    @abstractmethod
    def ready(self, now: int) -> bool:
        """Whether it has something to pass on, whether or not there is room for it.

        :param now: the time (ns).
        """

    @abstractmethod
    def turn(self, now: int) -> None:
        """Pass on at most one piece."""


class GateLane(Lane):
    """The gate of an operator, and the packets that have arrived for it from other tasks."""

    def __init__(self, member: Member, inboxes: Iterable[Inbox], lead: BroadcastLead) -> None:
        super().__init__(member)
        self.lead = lead
        self.gate: Gate = member.gate
        self._may_refuse = type(self.gate.operator).fitting is not Operator.fitting
        """whether the operator may refuse elements"""
        self._inboxes = tuple(inboxes)
        self._filled: deque[Inbox] = deque()
        """inboxes with packets; the first one has the next turn"""
        self._going_on: Iterator[None] | None = None
        self._taken: list[tuple[Inbox, int, int]] = []
        """(inbox, elements, bytes) of the packets that the gate is processing"""
        self._recent: deque[tuple[int, Channel]] = deque()
        """(time in ns, channel) of recently processed packets, within ``SPAN_NANOSECONDS``"""
        self._active: Counter[Channel] = Counter()
        """number of entries in ``_recent`` for each channel"""
        self.news: list[Inbox] = []
        """inboxes whose senders need new credit"""
        self._is_put_off = False
        """whether the waiting elements are put off to the next epoch"""
        self.carries = False
        """whether elements wait that were put off in an earlier epoch"""

    def fitting(self, elements: int) -> int:
        return super().fitting(self.gate.operator.fitting(elements))

    @property
    def clear(self) -> bool:
        return (not self._may_refuse or self.gate.operator.fitting(1) > 0) and super().clear

    @property
    def busy(self) -> bool:
        return self._going_on is not None or bool(self.gate.waiting) or bool(self.lead.aside)

    @property
    def leads(self) -> bool:
        """Whether its broadcast side goes first."""
        return not self.lead.over(self.gate.open_channels)

    def ready(self, now: int) -> bool:
        if self._going_on is None and not self.gate.waiting and not self._filled:
            if not self.lead.aside or self.leads:
                return False
        operator = self.gate.operator
        return not self._is_put_off and (not operator.has_calls_in_flight or operator.fitting(1) > 0)

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
        # No receiver needs room for what follows the last piece: nothing does.
        if going_on and not self.gate.cut and not self.gate.waiting:
            going_on = next(self._going_on, _END) is not _END
        if not going_on:
            self._going_on = None
            self.carries = self.carries and bool(self.gate.waiting)
            self._done(now)

    def _take(self) -> None:
        """Give the gate the next packets, enough for a piece; the channels get turns."""
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
        """Give the gate one packet: of the broadcast side, if there is one."""
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
        """A packet has arrived over one of its channels."""
        if not inbox:
            self._filled.append(inbox)
        inbox.put(packet)

    def next_epoch(self) -> None:
        """Packets that arrive from now on belong to the next epoch."""
        self._filled.clear()  # an aligned one has taken its packets without a turn
        for inbox in self._inboxes:
            inbox.next_epoch()
        self.lead.end()
        self._is_put_off = False

    def put_off(self) -> None:
        """Leave all unprocessed input at the gate for the next epoch. Nothing more is passed on in this one."""
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
        """The fill ratios of its channels' inboxes (0 to 1), added up."""
        return sum(inbox.fill for inbox in self._filled)

    @property
    def has_work(self) -> bool:
        """Whether it has unprocessed input."""
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
        # The active channels together have room for a piece, or there would never be a full one.
        least = -(-self.gate.wanted // len(active))
        for inbox, elements, size in self._taken:
            inbox.room.took(now, elements, size, least)
            if inbox.room.news():
                self.news.append(inbox)
        self._taken.clear()


class SourceLane(Lane):
    """A source, for one epoch.

    :param nanos: clock for the cost of its turns (ns).
    """

    def __init__(self, member: Member, nanos: Callable[[], int]) -> None:
        super().__init__(member)
        self._nanos = nanos
        assert isinstance(member.operator, ReadingOperator)
        self.operator: ReadingOperator = member.operator
        self._reading: Iterator[None] | None = None
        self._rests = False
        """whether the source reads nothing in this epoch"""
        self.again_at = 0
        """when it is polled again (ns)"""
        self.not_before = 0
        """a source that signals new input is not polled before this time (ns)"""
        self._cost = 0
        """the cost of what it reads until it has nothing, and of sending that (ns)"""
        self._dry_at: int | None = None
        """when it had nothing (ns); None: it has been polled since"""
        self._least_dry = max(DRY_NANOSECONDS, DRY_BESIDE_NANOSECONDS * member.info.parallelism)
        self._most_dry = max(DRIEST_NANOSECONDS, DRIEST_BESIDE_NANOSECONDS * member.info.parallelism)
        self._dry = self._least_dry
        """how long it is not polled the next time that it has nothing (ns)"""
        self._records = 0
        """number of records it had emitted when it last had nothing"""
        self.waits = False
        """whether it is too far ahead of its alignment group"""

    def begin(self, reading: Iterator[None], is_held: bool, limit: int | None) -> None:
        """Begin an epoch. :param reading: reads; each ``next`` is one turn.

        :param is_held: whether the source is to read nothing.
        :param limit: the watermark (ms) above which it waits for others of its alignment group.
        """
        self._reading = reading
        self._rests = is_held or self.operator.finished
        self.again_at = 0
        self.waits = limit is not None and self.operator.align(limit)

    def align(self, limit: int) -> None:
        """Set a new limit, because the alignment group has advanced: the watermark (ms) above which the source
        waits.
        """
        self.waits = self.operator.align(limit)
        self.again_at = 0

    def end(self) -> None:
        """The epoch ends: the source gets a turn to finish it."""
        self.waits = False
        self.again_at = 0

    @property
    def clear(self) -> bool:
        # Elements for an operator in the same task can't be put aside there, so the source must not read.
        for lane in self._below:
            if lane.leads and self.member.info.id not in lane.lead.sources:
                return False
        return super().clear

    @property
    def busy(self) -> bool:
        return self._reading is not None

    @property
    def wants_end(self) -> bool:
        """Whether it can't continue before the epoch has ended."""
        return not self._rests and (self._reading is None or self.operator.needs_driver)

    def ready(self, now: int) -> bool:
        return self._reading is not None and not self.waits and now >= self.again_at

    def turn(self, now: int) -> None:
        began, known, written = self._nanos(), self.member.fork.records, self._written()
        if self._dry_at is not None:
            self._dry_at, self._cost = None, 0
        if self._reading is not None and next(self._reading, _END) is _END:
            self._reading = None
        self._cost += self._nanos() - began
        if self.member.fork.records > known:
            self._learn(self.member.fork.records - known, written)
        self.again_at = 0
        if self.operator.is_dry:
            self._rest(now)

    def _rest(self, now: int) -> None:
        """The source has nothing to read: don't poll it for a while, because reading a few rows costs nearly as much as
        many."""
        records = self.member.fork.records
        if records != self._records:
            self._dry = self._least_dry
        self.again_at = now + (LONG_NANOSECONDS if self.operator.is_woken else self._dry)
        self._dry = min(2 * self._dry, self._most_dry)
        self._records = records
        self._dry_at = now
        self.sent(0)

    def sent(self, cost: int) -> None:
        """A slice with what it has read has ended; ``cost`` is how long that took (ns)."""
        self._cost += cost
        if self._dry_at is not None:
            self.not_before = self._dry_at + min(COST_FACTOR * self._cost, LONGEST_NANOSECONDS)
