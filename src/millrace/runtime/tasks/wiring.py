"""The connections between operators in a task: the gate at each operator's input, and the fork at its output.

A gate's watermark is the minimum over the channels of the operator's inputs.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from heapq import heapify, heappop, heappush, heapreplace
from operator import methodcaller
from time import perf_counter_ns, thread_time_ns

from millrace.relational.rows import count
from millrace.runtime.bases.operator import KeyGroupTimes, Operator, Times
from millrace.runtime.elements import MAX_WATERMARK, MIN_TIMESTAMP, Chunk, Cutter, LatencyMark, Status, piece_size
from millrace.runtime.exchange.codec import Mark, decode
from millrace.runtime.exchange.exchange import Writer
from millrace.runtime.exchange.partitioners import Partitioner, PartitioningError
from millrace.runtime.failure import OperatorError
from millrace.runtime.state.restoring.key_forms import LOOKED_AT, Form, form_of
from millrace.runtime.tasks.task_figures import Stopwatch, Watched, sort_slot, work_slot
from millrace.runtime.tasks.waiting import Allowance, Channel, Progress, Waiting

# The watermark of an operator

ValveState = tuple[int, dict[Hashable, int], dict[Hashable, bool]]
"""(combined watermark in ms, channel -> its watermark, channel -> whether it is idle), for all channels or for the
changed ones"""


class WatermarkValve:
    """Combines the watermarks of an operator's channels.

    The result is the minimum over active channels. A channel that comes back from idleness with an older watermark than
    the result does not hold the others back: it takes part again when it has caught up. A finished channel, which has
    the highest possible watermark, does not advance the result past the idle ones: their later elements are not late.

    A mark costs O(log channels), amortised: the heap has an entry for each channel that takes part, with a watermark
    that the channel had once. Only the entry at its top is brought up to date.
    """

    def __init__(self, channels: Iterable[Hashable]) -> None:
        self._channels = list(channels)
        self._places = {channel: place for place, channel in enumerate(self._channels)}
        self._marks = [MIN_TIMESTAMP] * len(self._channels)
        self._left = len(self._channels)
        """number of channels that have not finished"""
        self._idle: set[int] = set()
        self._heap: list[tuple[int, int]] = []
        """(a watermark that the channel had, index of the channel)"""
        self._in_heap: list[bool] = []
        self._moved: set[int] = set()
        self._turned: set[int] = set()
        """indexes of channels whose watermark or idleness has changed since the last delta"""
        self.current = MIN_TIMESTAMP
        self._take_part_again()

    @property
    def idle(self) -> bool:
        """Whether all channels that have not finished are idle."""
        return 0 < self._left == len(self._idle)

    def watermark(self, channel: Hashable, timestamp: int) -> int | None:
        """A channel's watermark (ms); returns the combined one if it advanced, else None."""
        place = self._places[channel]
        self._activate(place)
        if timestamp <= self._marks[place]:
            return None
        self._marks[place] = timestamp
        self._left -= timestamp == MAX_WATERMARK
        self._moved.add(place)
        if not self._in_heap[place]:
            self._join(place)
        return self._raise_to(self._furthest()) if self.idle else self._advance()

    def status(self, channel: Hashable, status: Status) -> int | None:
        """A channel becomes idle or active; returns the combined watermark if it advanced, else None."""
        place = self._places[channel]
        if status is Status.ACTIVE:
            self._activate(place)
            return None
        if place not in self._idle and self._marks[place] < MAX_WATERMARK:
            self._idle.add(place)
            self._turned.add(place)
        if self.idle:  # nobody is left to wait for: the furthest channel speaks for all
            return self._raise_to(self._furthest())
        return self._advance()

    def _furthest(self) -> int:
        return max((mark for mark in self._marks if mark < MAX_WATERMARK), default=MIN_TIMESTAMP)

    def _activate(self, place: int) -> None:
        if place in self._idle:
            self._idle.discard(place)
            self._turned.add(place)
            if not self._in_heap[place]:
                self._join(place)

    def _join(self, place: int) -> None:
        heappush(self._heap, (self._marks[place], place))
        self._in_heap[place] = True

    def _advance(self) -> int | None:
        heap, marks = self._heap, self._marks
        while heap:
            known, place = heap[0]
            mark = marks[place]
            if place in self._idle or mark < self.current:
                heappop(heap)  # until it is active, or has caught up
                self._in_heap[place] = False
            elif mark > known:
                heapreplace(heap, (mark, place))
            else:
                return self._raise_to(mark)
        return None

    def _raise_to(self, timestamp: int) -> int | None:
        if timestamp <= self.current or (timestamp == MAX_WATERMARK and self._left):
            return None
        self.current = timestamp
        return timestamp

    # -- snapshots --------------------------------------------------------------------------------------------------

    def full(self) -> ValveState:
        """The whole state, for ``restore``."""
        everywhere = range(len(self._channels))
        return self._state(everywhere, everywhere)

    def delta(self) -> ValveState | None:
        """The changes since the last call, to be restored after the state before; None: there are none."""
        moved, turned, self._moved, self._turned = self._moved, self._turned, set(), set()
        return self._state(moved, turned) if moved or turned else None

    def _state(self, moved: Iterable[int], turned: Iterable[int]) -> ValveState:
        channels, marks, idle = self._channels, self._marks, self._idle
        return (
            self.current,
            {channels[place]: marks[place] for place in sorted(moved)},
            {channels[place]: place in idle for place in sorted(turned)},
        )

    def restore(self, state: ValveState) -> None:
        """Restore a whole state or a change; channels that it does not contain stay as they are."""
        places = self._places
        self.current, marks, idleness = state
        for channel, mark in marks.items():
            if channel in places:
                self._marks[places[channel]] = mark
        for channel, idle in idleness.items():
            if channel in places:
                (self._idle.add if idle else self._idle.discard)(places[channel])
        self._moved.clear()
        self._turned.clear()
        self._take_part_again()

    def begin_at(self, timestamp: int) -> None:
        """Set the watermark of all channels (ms)."""
        self.current = timestamp
        self._marks = [timestamp] * len(self._marks)
        self._moved.update(range(len(self._marks)))
        self._take_part_again()

    def _take_part_again(self) -> None:
        self._left = sum(mark < MAX_WATERMARK for mark in self._marks)
        self._idle = {place for place in self._idle if self._marks[place] < MAX_WATERMARK}
        self._heap = [(mark, place) for place, mark in enumerate(self._marks)]
        heapify(self._heap)
        self._in_heap = [True] * len(self._marks)


def operator_clock() -> int:
    """The clock of operators without a time limit: always 0."""
    return 0


GateState = tuple[ValveState | None, dict[Channel, bool]]
"""(state of the valve, channel -> whether it is still open), for all channels or for the changed ones"""


def together(states: Iterable[GateState]) -> GateState | None:
    """A whole state of a gate and the changes since, oldest first, as one whole state; None: there is none."""
    valve: ValveState | None = None
    openness: dict[Channel, bool] | None = None
    for newer, changed in states:
        openness = {**(openness or {}), **changed}
        if newer is not None:
            _, marks, idle = valve or newer
            valve = newer[0], {**marks, **newer[1]}, {**idle, **newer[2]}
    return None if openness is None else (valve, openness)


class Gate:
    """The input side of one operator: passes it pieces, counts them, combines watermarks, and notices the end of the
    input. Input that the operator has no time for waits here until the next epoch."""

    def __init__(
        self,
        operator: Operator,
        channels: dict[Channel, int],
        watch: Stopwatch | None = None,
        number: int = 0,
        allowance: Allowance | None = None,
        progress: Progress | None = None,
        partitioners: Mapping[int, Partitioner] | None = None,
    ) -> None:
        """:param channels: channel -> the input that it belongs to.
        :param watch: measures the time of the operator.
        :param number: number of the operator in its task.
        :param allowance: how long the task may work in an epoch; None: no limit.
        :param progress: progress of the task.
        :param partitioners: input -> partitioner of its edge.
        """
        self.operator = operator
        self.waiting: deque[Waiting] = deque()
        """items that have arrived and were not passed to the operator"""
        self._allowance = allowance or Allowance(operator_clock)
        self._progress = progress or Progress()
        self._size = piece_size(operator.calls_for_each, operator.most_at_once, operator.first_at_once)
        self._in_flight = operator.has_calls_in_flight
        self.fitting: Callable[[int], int] | None = None
        """given the size of the next piece, returns how many elements it may have, if that depends on more than time;
        None: it doesn't"""
        self.cut = 0
        """number of elements left of the chunk that is being cut into pieces, if they wait"""
        self.holds = False
        """whether all elements wait until the flow task gives the gate its turn"""
        self.records = 0
        self.bytes = 0
        """size of the packets that have arrived"""
        self.keys: Watched | None = None
        """counts the keys of the input; None: the input has no keys"""
        self.key_form: Form = None
        """form of the first keys that have arrived, or until then of the restored keys"""
        self._has_keys = False
        self.latencies: list[tuple[LatencyMark, int]] = []
        """(mark, time in ms that it was under way) for each latency mark of this epoch"""
        self.watch = watch or Stopwatch(number + 1)
        self._work = self.watch.during(work_slot(number))
        self._inputs = channels
        self.partitioners = partitioners or {}
        self._valve = WatermarkValve(list(channels))
        self._open = set(channels)
        self._open_channels = Counter(channels.values())
        """input -> its channels that have not finished"""
        self._closed: set[Channel] = set()
        """channels that have finished since the last delta"""

    def chunk(self, chunk: Chunk, input: int) -> None:
        """Pass on elements of one channel of an input, in order."""
        if self.waiting or self.holds or self._allowance.over():
            self.waiting.append(Waiting(input, None, chunk))
            return
        for _ in self._pieces(chunk, input):
            pass

    def receive(self, channel: Channel, payload: bytes) -> Iterator[None]:
        """Process a packet; yields after each piece."""
        self.bytes += len(payload)
        self.waiting.append(Waiting(self._inputs[channel], channel, payload))
        if len(self.waiting) == 1:
            yield from self.resume()

    def decoded(self, channel: Channel, payload: bytes) -> tuple[list[Waiting], int]:
        """Decode a packet for ``resume``: its items, and the number of elements in them."""
        self.bytes += len(payload)
        input = self._inputs[channel]
        items = list(decode(payload))
        elements = sum(count(item.values) for item in items if isinstance(item, Chunk))
        return [Waiting(input, channel, item) for item in items], elements

    @property
    def piece(self) -> int:
        """The number of elements that the next piece may have."""
        return self._size.size

    @property
    def each_nanoseconds(self) -> int:
        """The time per element in the last piece (ns)."""
        return self._size.each_nanoseconds

    @property
    def wanted(self) -> int:
        """The number of elements that the inboxes should have room for."""
        return self._size.wanted

    def resume(self) -> Iterator[None]:
        """Process the waiting items, as far as there is time; yields after each piece."""
        waiting = self.waiting
        over = self._allowance.reading_over if self._in_flight else self._allowance.over
        while waiting and not over():
            first = waiting.popleft()
            input, channel, content = first
            if isinstance(content, bytes):
                waiting.extendleft(reversed([Waiting(input, channel, item) for item in first.items()]))
            elif isinstance(content, Chunk):
                yield from self._pieces(content, input, self.fitting)
            elif channel is not None:
                self._see(channel, content)

    def _pieces(self, chunk: Chunk, input: int, fitting: Callable[[int], int] | None = None) -> Iterator[None]:
        """Cut a chunk into pieces and process them, as far as there is time; the rest waits, before all other items."""
        left, midst = Cutter(chunk), self.operator.context.midst
        while True:
            size = min(left.elements, self._size.size)
            if fitting is not None:
                size = max(1, fitting(size))
            if self._in_flight and self._calls_over(size):
                break
            before = left.elements
            piece = left.take(size)
            self.cut = left.elements
            if not left.elements:
                self._process(piece, before, input)
                yield
                return
            midst.enter()
            self._process(piece, before - left.elements, input, left.elements)
            midst.leave()
            yield
            if self._allowance.over():
                break
        self.waiting.appendleft(Waiting(input, None, left.left))

    def _calls_over(self, elements: int) -> bool:
        return self._allowance.calls_over(*self.operator.calls_ahead(elements))

    def _process(self, piece: Chunk, elements: int, input: int, left: int = 0) -> None:
        self.records += elements
        if self.keys is not None:
            self.keys.see(piece.values, piece.keys, input)
        if not self._has_keys and piece.keys:
            self._has_keys, self.key_form = True, form_of(piece.keys[:LOOKED_AT])
        progress = self._progress
        with self._work:
            outer = progress.begin(self, elements, left, perf_counter_ns())
            # Operators that only compute are measured by processor time: smaller pieces would not make a busy machine
            # faster.
            spent = thread_time_ns if self._size.steady else perf_counter_ns
            before_it = spent()
            self._hand_on(piece, input)
            self._size.took(elements, spent() - before_it)
            keyed = self.operator.keyed_state()
            if keyed is not None:
                keyed.after_records(len(piece.values))
            progress.end(outer)
        self._allowance.worked()

    def _hand_on(self, piece: Chunk, input: int) -> None:
        operator, ahead = self.operator, self.operator.ahead
        if ahead is None:
            operator.process(piece, input)
            return
        for watermark, part in ahead.parts(piece, self.partitioners.get(input)):
            operator.watermark = watermark
            operator.process(part, input)
        operator.watermark = ahead.watermark

    def packed(self) -> tuple[Waiting, ...]:
        """The waiting items as packets.

        :raises Exception: an element can't be pickled.
        """
        self.waiting = deque([each.packed() for each in self.waiting])
        return tuple(self.waiting)

    def mark(self, channel: Channel, mark: Mark) -> None:
        if self.waiting and not isinstance(mark, LatencyMark):
            self.waiting.append(Waiting(self._inputs[channel], channel, mark))
            return
        self._see(channel, mark)

    def _see(self, channel: Channel, mark: Mark) -> None:
        if isinstance(mark, LatencyMark):
            self._time(mark)
            return
        with self._work:
            outer = self._progress.begin(self, 0, 0, perf_counter_ns())
            self._mark(channel, mark)
            self._progress.end(outer)

    def _mark(self, channel: Channel, mark: int | Status) -> None:
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
            self._advance(advanced)
        if valve.idle != was_idle:
            self.operator.idle = valve.idle
            self.operator.process_status(Status.IDLE if valve.idle else Status.ACTIVE)

    def _advance(self, watermark: int) -> None:
        operator, ahead = self.operator, self.operator.ahead
        if ahead is not None:
            ahead.watermark = watermark
        operator.process_watermark(watermark)
        if ahead is not None and ahead.is_over:
            operator.ahead = None

    def _time(self, mark: LatencyMark) -> None:
        """Note a latency mark. As in Flink it overtakes elements that the operator buffers."""
        output = self.operator.output
        self.latencies.append((mark, self.operator.context.clock() - mark.at))
        if isinstance(output, Fork):
            output.mark(mark)

    def _finish(self, channel: Channel) -> None:
        input = self._inputs[channel]
        if channel in self._open:
            self._open.discard(channel)
            self._open_channels[input] -= 1
            self._closed.add(channel)
        if not self._open_channels[input]:
            self.operator.input_finished(input)
        if not self._open:
            self.operator.end_input()
            self.operator.output.mark(Status.FINISHED)

    @property
    def watermark(self) -> int:
        return self._valve.current

    @property
    def channels(self) -> Collection[Channel]:
        """All channels of the gate."""
        return self._inputs.keys()

    @property
    def open_channels(self) -> Collection[Channel]:
        """The channels that have not finished."""
        return self._open

    @property
    def finished(self) -> bool:
        """Whether nothing will arrive any more."""
        return not self._open

    def full(self) -> GateState:
        """The whole state, for ``restore``."""
        return self._valve.full(), {channel: channel in self._open for channel in self._inputs}

    def delta(self) -> GateState | None:
        """The changes since the last call, to be restored after the state before; None: there are none."""
        valve, closed, self._closed = self._valve.delta(), self._closed, set()
        return None if valve is None and not closed else (valve, dict.fromkeys(sorted(closed), False))

    @property
    def times(self) -> Times | None:
        """The event time of each key group (ms), if it is ahead of the watermark for some; else None."""
        return None if self.operator.ahead is None else self.operator.ahead.times

    def be_ahead(self, times: Times | None) -> None:
        """Set the event time of each key group (ms)."""
        ahead = None if times is None else KeyGroupTimes(times, self._valve.current)
        self.operator.ahead = None if ahead is None or ahead.is_over else ahead

    def begin_at(self, watermark: int, times: Times | None = None) -> None:
        """Open all inputs, with this watermark (ms)."""
        self._valve.begin_at(watermark)
        self.operator.watermark = watermark
        self.be_ahead(times)

    def restore(self, state: GateState) -> None:
        """Restore a whole state or a change."""
        valve, openness = state
        if valve is not None:
            self._valve.restore(valve)
        for channel, is_open in openness.items():
            (self._open.add if is_open else self._open.discard)(channel)
        self._open_channels = Counter(self._inputs[channel] for channel in self._open)
        self._closed.clear()
        self.operator.watermark, self.operator.idle = self._valve.current, self._valve.idle
        self.be_ahead(self.times)


class Fork:
    """The output side of one operator: passes elements to gates in the same task and to channels into later ones."""

    def __init__(
        self,
        fail: Callable[[PartitioningError], OperatorError],
        watch: Stopwatch | None = None,
        number: int = 0,
    ) -> None:
        self.records = 0
        self.bytes = 0
        """size of the packets that were sent"""
        self._sorting = (watch or Stopwatch(number + 1)).during(sort_slot(number))
        self.held = 0
        """number of elements that wait for the next epoch"""
        self.watermark = MIN_TIMESTAMP
        self._fail = fail
        self._holds = False
        self._held: list[tuple[str | None, Chunk]] = []
        self._local: dict[str | None, list[tuple[Gate, int]]] = {}
        self._remote: dict[str | None, list[Writer]] = {}
        self._marked: list[tuple[Gate, Channel]] = []

    def add_local(self, tag: str | None, gate: Gate, input: int, channel: Channel) -> None:
        self._local.setdefault(tag, []).append((gate, input))
        self._marked.append((gate, channel))

    def add_remote(self, tag: str | None, writer: Writer) -> None:
        self._remote.setdefault(tag, []).append(writer)

    def emit(self, chunk: Chunk) -> None:
        self._send(None, chunk)

    def emit_side(self, tag: str, chunk: Chunk) -> None:
        self._send(tag, chunk)

    @contextmanager
    def holding(self) -> Iterator[None]:
        """A context in which emitted elements are held back, until ``release``."""
        self._holds = True
        try:
            yield
        finally:
            self._holds = False

    def release(self) -> None:
        """Send what was held back, in order."""
        held, self._held, self.held = self._held, [], 0
        for tag, chunk in held:
            self._send(tag, chunk)

    def _send(self, tag: str | None, chunk: Chunk) -> None:
        if self._holds:
            self._held.append((tag, chunk))
            self.held += count(chunk.values)
            return
        self.records += count(chunk.values)
        for gate, input in self._local.get(tag, ()):
            gate.chunk(chunk, input)
        writers = self._remote.get(tag)
        if writers is None:
            return
        try:
            with self._sorting:
                for writer in writers:
                    writer.write(chunk)
        except PartitioningError as error:
            raise self._fail(error) from error

    def mark(self, mark: Mark) -> None:
        if mark.__class__ is int:
            self.watermark = mark
        for gate, channel in self._marked:
            gate.mark(channel, mark)
        for writers in self._remote.values():
            for writer in writers:
                writer.mark(mark)

    def flush(self) -> None:
        """Send the gathered elements."""
        self._each(methodcaller("flush"))

    def end_epoch(self) -> None:
        self._each(methodcaller("end_epoch"))

    def _each(self, call: Callable[[Writer], None]) -> None:
        try:
            with self._sorting:
                for writers in self._remote.values():
                    for writer in writers:
                        call(writer)
        except PartitioningError as error:
            raise self._fail(error) from error
