"""``TimerQueue`` against a sorted list, with copies that follow by deltas."""

from __future__ import annotations

import pickle

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from millrace.runtime.timers import TimerId, TimerQueue

TIMES = st.integers(0, 8)
KEYS = st.sampled_from(["a", "b", 1, (2, "w")])


def drained(queue: TimerQueue) -> list[TimerId]:
    """All timers in firing order; the queue is a throwaway copy."""
    found = []
    while (timer := queue.pop_due(10**12)) is not None:
        found.append(timer)
    return found


def kept(queue: TimerQueue) -> int:
    """What lies there for timers, be they there or not."""
    lines = [each if isinstance(each, list) else [each] for each in queue._waiting.values()]
    return len(queue._times) + sum(map(len, [*lines, *queue._firing.values()]))


class Timers(RuleBasedStateMachine):
    """The queue that works changes now and then, as the workers of a task do; the others follow by deltas."""

    def __init__(self) -> None:
        super().__init__()
        self.queues = [TimerQueue(), TimerQueue()]
        self.versions = [0, 0]
        self.deltas: list[bytes] = []
        self.at_work = 0
        self.model: list[tuple[int, int, object]] = []
        self.registered = 0

    @property
    def queue(self) -> TimerQueue:
        return self.queues[self.at_work]

    def find(self, time: int, key: object) -> list[tuple[int, int, object]]:
        return [timer for timer in self.model if (timer[0], timer[2]) == (time, key)]

    @rule(time=TIMES, key=KEYS)
    def register(self, time: int, key: object) -> None:
        self.queue.register(time, key)
        if not self.find(time, key):
            self.registered += 1
            self.model.append((time, self.registered, key))

    @rule(time=TIMES, key=KEYS)
    def delete(self, time: int, key: object) -> None:
        self.queue.delete(time, key)
        self.model = [timer for timer in self.model if timer not in self.find(time, key)]

    @rule()
    def clear(self) -> None:
        self.queue.clear()
        self.model.clear()

    @rule(time=TIMES)
    def pop(self, time: int) -> None:
        due = min((timer for timer in self.model if timer[0] <= time), key=lambda timer: timer[:2], default=None)
        found = self.queue.pop_due(time)
        assert found == (None if due is None else (due[0], due[2]))
        if due is not None:
            self.model.remove(due)

    @rule(other=st.integers(0, 1))
    def end_epoch(self, other: int) -> None:
        self.deltas.append(pickle.dumps(self.queue.delta()))
        self.versions[self.at_work] = len(self.deltas)
        self.at_work = other
        for delta in self.deltas[self.versions[other] :]:
            self.queue.apply(pickle.loads(delta))

    @rule(full=st.booleans())
    def restart(self, full: bool) -> None:
        """A new worker takes over."""
        self.deltas.append(pickle.dumps(self.queue.delta()))
        fresh = TimerQueue()
        if full:
            fresh.apply(pickle.loads(pickle.dumps(self.queue.entries())))
        else:
            for delta in self.deltas:
                fresh.apply(pickle.loads(delta))
        self.queues[self.at_work] = fresh
        self.versions[self.at_work] = len(self.deltas)

    @invariant()
    def like_the_model(self) -> None:
        assert len(self.queue) == len(self.model)
        assert self.queue.next_time() == min((time for time, _, _ in self.model), default=None)
        for key in ("a", "b"):
            assert self.queue.times(key) == sorted(time for time, _, at in self.model if at == key)

    def teardown(self) -> None:
        expected = [(time, key) for time, _, key in sorted(self.model, key=lambda timer: timer[:2])]
        copy = TimerQueue()
        copy.apply(self.queue.entries())
        assert drained(copy) == expected
        assert drained(self.queue) == expected


TestTimers = Timers.TestCase


def test_a_delta_is_given_once() -> None:
    queue = TimerQueue()
    queue.register(5, "a")
    assert queue.delta() == [((5, "a"), 0)]
    assert queue.delta() == []
    queue.pop_due(5)
    assert queue.delta() == [((5, "a"), None)]


def test_keys_need_not_be_comparable() -> None:
    first, second, merged = TimerQueue(), TimerQueue(), TimerQueue()
    first.register(5, "a")
    second.register(5, 1)
    for queue in (first, second):  # as after a rescale: two timers with the same registration number
        merged.apply(queue.entries())
    assert drained(merged) == [(5, "a"), (5, 1)]


def test_a_far_timer_that_comes_and_goes_leaves_nothing() -> None:
    queue = TimerQueue()
    queue.register(5, "near")
    for number in range(1_000_000):
        queue.register(10**9 + number, "far")
        queue.delete(10**9 + number, "far")
    assert kept(queue) <= 66
    assert queue.delta() == [((5, "near"), 0)]
    assert drained(queue) == [(5, "near")]


def test_timeouts_that_are_set_again_and_again_keep_twice_their_number_at_most() -> None:
    keys, month = 10_000, 30 * 24 * 3_600_000
    queue = TimerQueue()
    for turn in range(200):
        for key in range(keys):
            if turn:
                queue.delete(turn - 1 + month, key)
            queue.register(turn + month, key)
        assert kept(queue) <= 3 * keys + 66
    assert len(queue.delta()) == len(queue) == keys
    assert drained(queue) == [(199 + month, key) for key in range(keys)]


def test_a_timer_that_is_deleted_and_set_again_is_told_anew() -> None:
    queue, copy = TimerQueue(), TimerQueue()
    for at in "ab":
        queue.register(5, at)
    copy.apply(queue.delta())
    queue.delete(5, "a")
    queue.register(5, "a")
    queue.register(6, "c")
    queue.delete(6, "c")
    queue.delete(5, "b")
    assert queue.delta() == [((5, "b"), None), ((5, "a"), 2)]
    queue.register(5, "b")
    queue.delete(5, "b")
    assert queue.delta() == []
    copy.apply([((5, "a"), 2), ((5, "b"), None)])
    assert drained(copy) == drained(queue) == [(5, "a")]


def test_earlier_timers_that_are_set_while_a_time_fires_come_first() -> None:
    """And those of the time itself come after all that were set before."""
    queue = TimerQueue()
    for at in "abcd":
        queue.register(10, at)
    assert queue.pop_due(10) == (10, "a")
    queue.register(10, "a")
    queue.register(7, "a")
    queue.delete(10, "c")
    queue.register(10, "c")
    queue.delete(10, "d")
    assert queue.next_time() == 7
    assert drained(queue) == [(7, "a"), (10, "b"), (10, "a"), (10, "c")]
    assert queue.delta() == []
