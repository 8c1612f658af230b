"""``WatermarkValve`` against a naive model."""

from __future__ import annotations

import pickle

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from millrace.runtime.elements import MAX_WATERMARK, MIN_TIMESTAMP, Status
from millrace.runtime.tasks.wiring import WatermarkValve

CHANNELS = 6
STATUSES = st.sampled_from([Status.IDLE, Status.ACTIVE])
EVENTS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 20) | STATUSES | st.just(MAX_WATERMARK)), max_size=30)


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
            self.idle[channel] = self.marks[channel] < MAX_WATERMARK
        else:
            assert isinstance(event, int)
            self.idle[channel] = False
            if event <= self.marks[channel]:
                return
            self.marks[channel] = event
        left = [mark for mark in self.marks if mark < MAX_WATERMARK]
        if not left:
            self.current = MAX_WATERMARK
        elif self.all_idle:
            self.current = max(self.current, *left)
        else:
            active = [m for m, idle in zip(self.marks, self.idle) if m < MAX_WATERMARK and not idle]
            self.current = min((m for m in active if m >= self.current), default=self.current)

    @property
    def all_idle(self) -> bool:
        left = [idle for mark, idle in zip(self.marks, self.idle) if mark < MAX_WATERMARK]
        return bool(left) and all(left)


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
        assert valve.idle == model.all_idle
        assert valve.current >= before, "never backwards"
        assert advanced == (valve.current if valve.current > before else None)


class Valves(RuleBasedStateMachine):
    """A valve of many channels that works, one that follows by deltas, and the model."""

    def __init__(self) -> None:
        super().__init__()
        self.valve = WatermarkValve(range(CHANNELS))
        self.follower = WatermarkValve(range(CHANNELS))
        self.model = Model(CHANNELS)
        self.told = (MIN_TIMESTAMP, list(self.model.marks), list(self.model.idle))

    @rule(channel=st.integers(0, CHANNELS - 1), event=st.integers(0, 20) | STATUSES | st.just(MAX_WATERMARK))
    def say(self, channel: int, event: int | Status) -> None:
        before = self.model.current
        self.model.event(channel, event)
        assert send(self.valve, channel, event) == (self.model.current if self.model.current > before else None)

    @rule(mark=st.integers(0, 20))
    def all_say_the_same(self, mark: int) -> None:
        for channel in range(CHANNELS):
            self.say(channel, mark)

    @rule(status=STATUSES)
    def all_turn(self, status: Status) -> None:
        for channel in range(CHANNELS):
            self.say(channel, status)

    @rule()
    def tell_what_changed(self) -> None:
        delta = self.valve.delta()
        now = (self.model.current, list(self.model.marks), list(self.model.idle))
        if delta is None:
            assert now == self.told
        else:
            _, marks, idle = delta
            assert set(marks) >= {n for n in range(CHANNELS) if now[1][n] != self.told[1][n]}
            assert set(idle) >= {n for n in range(CHANNELS) if now[2][n] != self.told[2][n]}
            self.follower.restore(pickle.loads(pickle.dumps(delta)))
        self.told = now

    @rule()
    def the_follower_takes_over(self) -> None:
        self.tell_what_changed()
        self.valve, self.follower = self.follower, self.valve

    @rule()
    def a_new_one_takes_over(self) -> None:
        self.tell_what_changed()
        self.valve = WatermarkValve(range(CHANNELS))
        self.valve.restore(pickle.loads(pickle.dumps(self.follower.full())))

    @rule(mark=st.integers(0, 20))
    def an_out_of_date_one_takes_over(self, mark: int) -> None:
        """What happened to it since does not count."""
        self.tell_what_changed()
        self.valve.watermark(0, mark + 100)
        self.valve.status(1, Status.IDLE)
        self.valve.restore(self.follower.full())

    @rule(mark=st.integers(0, 20))
    def begin_at(self, mark: int) -> None:
        self.valve.begin_at(mark)
        self.model.current, self.model.marks = mark, [mark] * CHANNELS

    @invariant()
    def like_the_model(self) -> None:
        assert (self.valve.current, self.valve.idle) == (self.model.current, self.model.all_idle)
        assert len(self.valve._heap) <= CHANNELS, "an entry for each channel"


TestValves = Valves.TestCase


def test_only_channels_that_have_changed_are_in_a_delta() -> None:
    valve = WatermarkValve(range(1_000))
    assert valve.delta() is None
    valve.watermark(7, 5)
    valve.status(8, Status.IDLE)
    assert valve.delta() == (MIN_TIMESTAMP, {7: 5}, {8: True})
    valve.watermark(7, 5)
    valve.status(8, Status.IDLE)
    valve.status(7, Status.ACTIVE)
    assert valve.delta() is None


def test_channels_that_a_snapshot_does_not_know_start_low() -> None:
    valve = WatermarkValve("ab")
    valve.watermark("a", 5)
    valve.watermark("b", 7)
    wider = WatermarkValve("bc")
    wider.restore(valve.full())
    assert wider.current == 5
    # c has said nothing yet: it takes part when it has caught up, until then the others go on without it
    assert wider.watermark("c", 3) == 7
    assert wider.watermark("c", 9) is None
    assert wider.watermark("b", 8) == 8


def test_a_channel_that_has_finished_does_not_speak_for_one_that_is_idle() -> None:
    valve = WatermarkValve("ab")
    assert valve.watermark("a", 5) is None
    assert valve.status("b", Status.IDLE) == 5
    assert valve.watermark("a", MAX_WATERMARK) is None
    assert valve.idle
    assert valve.watermark("b", 7) == 7
    assert valve.watermark("b", MAX_WATERMARK) == MAX_WATERMARK
    assert not valve.idle


def test_without_channels() -> None:
    assert not WatermarkValve(()).idle
