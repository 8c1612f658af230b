"""Gates: what an operator hears of its channels, and what is saved of them."""

from __future__ import annotations

import pickle
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.runtime.bases.operator import Operator
from millrace.runtime.elements import MIN_TIMESTAMP, Chunk, LatencyMark, Midst, Status
from millrace.runtime.exchange.codec import encode
from millrace.runtime.tasks import wiring
from millrace.runtime.tasks.waiting import Allowance, Channel
from millrace.runtime.tasks.wiring import Gate

CHANNELS: dict[Channel, int] = {(0, 0): 0, (0, 1): 0, (0, 2): 0, (1, 0): 1, (1, 1): 1}
MARKS = st.integers(0, 20) | st.sampled_from(list(Status))
EVENTS = st.lists(st.tuples(st.sampled_from(list(CHANNELS)), MARKS) | st.none(), max_size=40)
"""marks of channels; None: the epoch ends"""


class Listener(Operator):
    """An operator, and its output, that writes down what it is told."""

    def __init__(self) -> None:
        self.heard: list[Any] = []
        self.output = self
        self.watermark = MIN_TIMESTAMP
        self.idle = False

    def process_watermark(self, timestamp: int) -> None:
        self.watermark = timestamp
        self.heard.append(timestamp)

    def process_status(self, status: Status) -> None:
        self.heard.append(status)

    def input_finished(self, input: int) -> None:
        self.heard.append(("finished", input))

    def end_input(self) -> None:
        self.heard.append("end")

    def mark(self, mark: Status) -> None:
        self.heard.append(("sent", mark))


def gate() -> tuple[Gate, list[Any]]:
    listener = Listener()
    return Gate(listener, dict(CHANNELS)), listener.heard  # type: ignore[arg-type]


@given(EVENTS)
def test_inputs_finish_with_their_last_channel(events: list[tuple[Channel, int | Status] | None]) -> None:
    found, heard = gate()
    open_channels = set(CHANNELS)
    for event in events:
        if event is None or event[1] is not Status.FINISHED:
            continue
        heard.clear()
        found.mark(*event)
        open_channels.discard(event[0])
        input = CHANNELS[event[0]]
        expected: list[Any] = [] if input in {CHANNELS[c] for c in open_channels} else [("finished", input)]
        if not open_channels:
            expected += ["end", ("sent", Status.FINISHED)]
        assert heard == expected
        assert found.finished == (not open_channels)


@given(EVENTS, st.integers(0, 40))
def test_a_gate_that_was_rebuilt_goes_on_alike(events: list[tuple[Channel, int | Status] | None], full_at: int) -> None:
    """From its deltas, or from a whole state and the deltas after it."""
    plain, expected = gate()
    working, heard = gate()
    states: list[bytes] = []
    for number, event in enumerate([*events, None]):
        if event is not None:
            plain.mark(*event)
            working.mark(*event)
            continue
        delta = working.delta()
        assert working.delta() is None
        if delta is not None:
            states.append(pickle.dumps(delta))
        if number >= full_at:
            full_at, states = 1_000, [pickle.dumps(working.full())]
        before = list(heard)
        working, heard = gate()
        for state in states:
            working.restore(pickle.loads(state))
        heard[:0] = before
        assert (working.watermark, working.finished) == (plain.watermark, plain.finished)
        assert (working.operator.watermark, working.operator.idle) == (plain.watermark, plain._valve.idle)
        assert working.full() == plain.full()
    assert heard == expected


def test_without_marks_there_is_nothing_to_save() -> None:
    found, _ = gate()
    assert found.delta() is None
    found.mark((0, 1), 5)
    found.mark((1, 1), Status.FINISHED)
    assert found.delta() == ((MIN_TIMESTAMP, {(0, 1): 5}, {}), {(1, 1): False})
    found.mark((0, 1), 5)
    assert found.delta() is None


def test_a_whole_state_opens_what_had_finished_since() -> None:
    found, _ = gate()
    whole = found.full()
    for channel in CHANNELS:
        found.mark(channel, Status.FINISHED)
    assert found.finished
    found.restore(whole)
    assert not found.finished
    assert found.full() == whole


# -- a gate whose time is over ----------------------------------------------------------------------------------------

ELEMENTS = st.integers(1, 6)
"""how many elements come at once"""
ARRIVALS = st.lists(
    st.tuples(st.sampled_from(list(CHANNELS)), ELEMENTS | MARKS, st.booleans()) | st.integers(0, 6), max_size=30
)
"""elements of a channel, or a mark; by a packet or from the same task. A number: the epoch ends, and in the next one
there is time for so many pieces"""


class Taker(Listener):
    """Writes down elements, too."""

    calls_for_each = True

    def __init__(self, most: int | None = None) -> None:
        super().__init__()
        self.most_at_once = most
        self.context = SimpleNamespace(midst=Midst())  # type: ignore[assignment]
        self.pieces: list[int] = []
        self.midst: list[bool] = []

    def process(self, chunk: Chunk, input: int) -> None:
        self.pieces.append(len(chunk))
        self.midst.append(bool(self.context.midst))
        self.heard += [(input, value) for value in chunk.values]

    def keyed_state(self) -> Any:
        return None


class Limit:
    """Lets an epoch end after so many pieces."""

    def __init__(self) -> None:
        self.allowance = Allowance(lambda: 0)
        self.left = 10**9

    def begin(self, pieces: int) -> None:
        self.left = pieces + 1
        self.allowance.begin(10**9, self._finish)

    def _finish(self) -> bool:
        self.left -= 1
        return self.left <= 0


def limited(most: int | None = None) -> tuple[Gate, Taker, Limit]:
    taker, limit = Taker(most), Limit()
    return Gate(taker, dict(CHANNELS), allowance=limit.allowance), taker, limit


@pytest.fixture(autouse=True)
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sizes of pieces depend on no real time."""
    monkeypatch.setattr(wiring, "perf_counter_ns", lambda: 0)


@given(ARRIVALS, st.booleans(), st.none() | st.integers(1, 3))
def test_what_waits_keeps_its_order(events: list[Any], rebuilt: bool, most: int | None) -> None:
    """Elements and marks, of all channels, over any number of epochs and lives."""
    plain = Gate(Taker(), dict(CHANNELS))
    found, taker, limit = limited(most)
    number = 0
    heard: list[Any] = []
    for event in events:
        if isinstance(event, int):
            if rebuilt:
                waiting, state = pickle.dumps(found.packed()), pickle.dumps(found.full())
                heard += taker.heard
                found, taker, limit = limited(most)
                found.restore(pickle.loads(state))
                found.waiting.extend(pickle.loads(waiting))
            limit.begin(event)
            for _ in found.resume():
                pass
            continue
        channel, what, packed = event
        if isinstance(what, int) and what <= 6:
            values = list(range(number, number + what))
            number += what
            for gate in (plain, found):
                if packed:
                    for _ in gate.receive(channel, encode(Chunk(list(values)), [(what, 7)])):
                        pass
                else:
                    gate.chunk(Chunk(list(values)), CHANNELS[channel])
        else:
            plain.mark(channel, what)
            found.mark(channel, what)
    limit.begin(10**6)
    for _ in found.resume():
        pass
    assert not found.waiting
    assert heard + taker.heard == plain.operator.heard  # type: ignore[attr-defined]
    assert found.full() == plain.full()
    if most is not None:
        assert max(taker.pieces, default=0) <= most


def test_a_gate_hands_on_what_there_is_time_for() -> None:
    gate, taker, limit = limited(2)
    limit.begin(2)
    gate.chunk(Chunk([1, 2, 3, 4, 5, 6, 7]), 0)
    assert (taker.pieces, gate.records) == ([2, 2], 4)
    assert taker.midst == [True, True], "more of the same follows"
    gate.mark((0, 0), 5)
    gate.chunk(Chunk([8]), 1)
    assert gate.watermark == MIN_TIMESTAMP
    assert len(gate.waiting) == 3
    limit.begin(100)
    assert len(list(gate.resume())) == 3
    assert taker.heard == [(0, n) for n in range(1, 8)] + [(1, 8)]
    assert taker.midst == [True, True, True, False, False]
    assert not gate.waiting


def test_a_task_hears_of_each_piece_of_a_packet() -> None:
    gate, taker, _ = limited(2)
    seen = [list(taker.pieces) for _ in gate.receive((0, 1), encode(Chunk([1, 2, 3, 4, 5]), []))]
    assert seen == [[2], [2, 2], [2, 2, 1]]


def test_pieces_begin_small_and_double() -> None:
    gate, taker, _ = limited()
    gate.chunk(Chunk(list(range(40))), 0)
    assert taker.pieces == [1, 2, 4, 8, 16, 9]


def test_a_latency_mark_does_not_wait() -> None:
    """It tells how long elements wait for others, so it may not."""
    gate, _, limit = limited(1)
    gate.operator.context.clock = lambda: 12
    limit.begin(0)
    gate.chunk(Chunk([1]), 0)
    gate.mark((0, 0), LatencyMark(1, 0, 5))
    assert len(gate.waiting) == 1
    assert [millis for _, millis in gate.latencies] == [7]


class Caller(Taker):
    """Has calls in flight, which take long."""

    has_calls_in_flight = True
    wait, call = 10**9, 10**9

    def calls_ahead(self, elements: int) -> tuple[int, int]:
        return (self.wait if self.pieces else 0), self.call


def test_what_would_wait_for_its_call_longer_than_the_epoch_waits_at_the_gate() -> None:
    allowance, caller = Allowance(lambda: 0), Caller(2)
    gate = Gate(caller, dict(CHANNELS), allowance=allowance)
    for round in range(1, 4):
        allowance.begin(10**9, None)
        if round == 1:
            gate.chunk(Chunk([1, 2, 3, 4, 5]), 0)
            gate.chunk(Chunk([6]), 1)
        else:
            assert len(list(gate.resume())) == 1
        assert caller.pieces == [2] * round if round < 3 else [2, 2, 1]
        assert allowance.reading_over() and not allowance.over()
    allowance.begin(10**9, None)
    caller.wait = 0
    list(gate.resume())
    assert caller.heard == [*((0, n) for n in range(1, 6)), (1, 6)]
