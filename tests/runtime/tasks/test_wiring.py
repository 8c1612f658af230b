"""Gates: what an operator hears of its channels, and what is saved of them."""

from __future__ import annotations

import pickle
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from millrace.runtime.bases.base import Operator
from millrace.runtime.elements import MIN_TIMESTAMP, Status
from millrace.runtime.tasks.waiting import Channel
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
def test_a_gate_that_was_rebuilt_goes_on_alike(
    events: list[tuple[Channel, int | Status] | None], full_at: int
) -> None:
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
