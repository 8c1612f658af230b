"""``WatermarkValve`` against a naive model."""

from __future__ import annotations

import pickle

from hypothesis import given
from hypothesis import strategies as st

from millrace.runtime.elements import MIN_TIMESTAMP, Status
from millrace.runtime.watermarks import WatermarkValve

EVENTS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 20) | st.sampled_from([Status.IDLE, Status.ACTIVE])), max_size=30
)


class Model:
    """Computes everything anew from the channels' last words."""

    def __init__(self, channels: int) -> None:
        self.marks = [MIN_TIMESTAMP] * channels
        self.idle = [False] * channels
        self.current = MIN_TIMESTAMP

    def event(self, channel: int, event: int | Status) -> None:
        if event is Status.ACTIVE:
            self.idle[channel] = False
            return
        if event is Status.IDLE:
            self.idle[channel] = True
        else:
            assert isinstance(event, int)
            self.idle[channel] = False
            if event <= self.marks[channel]:
                return
            self.marks[channel] = event
        if all(self.idle):
            self.current = max(self.current, *self.marks)
        else:
            in_step = [m for m, idle in zip(self.marks, self.idle) if not idle and m >= self.current]
            self.current = min(in_step, default=self.current)


def send(valve: WatermarkValve, channel: int, event: int | Status) -> int | None:
    return valve.status(channel, event) if isinstance(event, Status) else valve.watermark(channel, event)


@given(EVENTS)
def test_like_the_model(events: list[tuple[int, int | Status]]) -> None:
    valve, model = WatermarkValve(range(3)), Model(3)
    for channel, event in events:
        before = valve.current
        advanced = send(valve, channel, event)
        model.event(channel, event)
        assert valve.current == model.current
        assert valve.idle == all(model.idle)
        assert valve.current >= before, "never backwards"
        assert advanced == (valve.current if valve.current > before else None)


@given(EVENTS, EVENTS)
def test_a_restored_valve_goes_on_alike(before: list[tuple[int, int | Status]], after: list[tuple[int, int]]) -> None:
    valve, restored = WatermarkValve(range(3)), WatermarkValve(range(3))
    for channel, event in before:
        send(valve, channel, event)
    restored.restore(pickle.loads(pickle.dumps(valve.snapshot())))
    for channel, event in after:
        assert send(valve, channel, event) == send(restored, channel, event)
        assert (valve.current, valve.idle) == (restored.current, restored.idle)


def test_channels_that_a_snapshot_does_not_know_start_low() -> None:
    valve = WatermarkValve("ab")
    valve.watermark("a", 5)
    valve.watermark("b", 7)
    wider = WatermarkValve("bc")
    wider.restore(valve.snapshot())
    assert wider.current == 5
    # c has said nothing yet: it takes part when it has caught up, until then the others go on without it
    assert wider.watermark("c", 3) == 7
    assert wider.watermark("c", 9) is None
    assert wider.watermark("b", 8) == 8


def test_without_channels() -> None:
    assert not WatermarkValve(()).idle
