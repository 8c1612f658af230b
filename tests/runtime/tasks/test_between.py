"""Between epochs: timers fire when they are due, and all that comes of it belongs to the next epoch.

Wherever the state is: in memory, on disk, or in a backend of the user's own.
"""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runtime.jobs import Engine, job_of
from tests.runtime.state.store.stores import SortedBackend

from millrace.common.sink import Sink, SinkWriter, SinkWriterContext, WriterInitContext
from millrace.common.time import Time
from millrace.common.typeinfo import Types
from millrace.datastream import (
    EmbeddedRocksDBStateBackend,
    HashMapStateBackend,
    RuntimeExecutionMode,
    StateBackend,
    StreamExecutionEnvironment,
    TimeDomain,
)
from millrace.datastream.functions import AggregateFunction, KeyedProcessFunction, RuntimeContext
from millrace.datastream.state import ValueStateDescriptor
from millrace.datastream.window import ProcessingTimeTrigger, TumblingProcessingTimeWindows
from millrace.runtime.bases.epoch_protocol import SavedSubtask
from millrace.runtime.coordination.coordinator import EpochResult, JobFailedError
from millrace.runtime.state.restoring.saved import SubtaskState
from millrace.runtime.storage import Wanted
from millrace.runtime.tasks import member
from millrace.runtime.tasks.worker import PATIENCE_MS, TaskCache

FAR = 10_000


class Clock:
    """ms"""

    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        return self.now


class Chain(KeyedProcessFunction):
    """An element (key, (first, step, count)) sets a timer at ``first``, which sets the next one ``step`` ms later, and
    so on: (key, number, when, how late it fired). An element without numbers is handed on."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.step = runtime_context.get_state(ValueStateDescriptor("step", Types.LONG()))
        self.left = runtime_context.get_state(ValueStateDescriptor("left", Types.LONG()))
        self.number = runtime_context.get_state(ValueStateDescriptor("number", Types.LONG()))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        plan = value[1]
        if plan is None:
            yield value
            return
        first, step, count = plan
        self.step.update(step)
        self.left.update(count)
        ctx.timer_service().register_processing_time_timer(first)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        assert ctx.time_domain() is TimeDomain.PROCESSING_TIME
        number, left = (self.number.value() or 0) + 1, self.left.value() - 1
        self.number.update(number)
        self.left.update(left)
        if left:
            ctx.timer_service().register_processing_time_timer(timestamp + self.step.value())
        yield ctx.get_current_key(), number, timestamp, ctx.timer_service().current_processing_time() - timestamp


def key_of(value: Any) -> Any:
    return value[0]


STATE: dict[str, Callable[[], StateBackend]] = {
    "memory": HashMapStateBackend,
    "disk": EmbeddedRocksDBStateBackend,
    "stores": SortedBackend,
}
_runs: list[Run] = []


class Run:
    """A job of a source and a keyed function, with an element an epoch, whose clock the test moves."""

    def __init__(
        self, elements: Iterable[Any], function: KeyedProcessFunction | None = None, state: str = "memory"
    ) -> None:
        self.clock = Clock()
        self.state = state
        job = job_of(lambda env: self._build(env, list(elements), function or Chain()), 1)
        self.engine = Engine(job, clock=self.clock)
        _runs.append(self)

    def _build(self, env: StreamExecutionEnvironment, elements: list[Any], function: KeyedProcessFunction) -> Any:
        env.set_state_backend(STATE[self.state]())
        return self.build(env, elements, function)

    def build(self, env: StreamExecutionEnvironment, elements: list[Any], function: KeyedProcessFunction) -> Any:
        source = env.from_collection(elements)
        return source.key_by(key_of).process(function)

    def epoch(self, worker: int = 0) -> list[Any]:
        """What the next epoch gave."""
        return collected(self.engine.epoch(worker))

    def failed_epoch(self, worker: int = 0) -> None:
        """One that all tasks do, and that does not count."""
        self.engine.tasks(self.engine.coordinator.plan(), worker)
        self.engine.coordinator.restart()

    def wait(self, until: int, worker: int = 0) -> int:
        """Time passes, and what is due fires when it is; how often something did."""
        fired, cache = 0, self.engine.workers[worker]
        while (due := cache.next_due()) is not None and due <= until:
            self.clock.now = max(self.clock.now, due)
            cache.fire_due(self.clock.now)
            fired += 1
        self.clock.now = max(self.clock.now, until)
        return fired

    def lose(self, worker: int = 0) -> None:
        """The process is killed."""
        self.engine.workers[worker] = TaskCache()

    def close(self) -> None:
        for cache in self.engine.workers:
            cache.close()
        self.engine.job.state.discard(self.engine.job.job_id)


@pytest.fixture(params=list(STATE))
def state(request: pytest.FixtureRequest) -> str:
    """Where the state is."""
    return cast(str, request.param)


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    while _runs:
        _runs.pop().close()


def collected(result: EpochResult) -> list[Any]:
    return [value for part in result.collected for value in pickle.loads(part)]


def idle(count: int) -> list[Any]:
    """Elements that set no timer."""
    return [("idle", None)] * count


def test_a_chain_fires_in_time_and_comes_with_the_next_epoch(state: str) -> None:
    run = Run([("a", (10, 10, 5)), *idle(3)], state=state)
    assert run.epoch() == []
    assert run.wait(9) == 0
    assert run.wait(35) == 3
    assert run.epoch() == [("a", 1, 10, 0), ("a", 2, 20, 0), ("a", 3, 30, 0), ("idle", None)]
    run.clock.now = 55  # and nobody fires
    assert run.epoch() == [("a", 4, 40, 15), ("a", 5, 50, 5), ("idle", None)]
    assert run.wait(FAR) == 0


def test_what_fired_goes_with_a_copy_that_is_not_used(state: str) -> None:
    run = Run([("a", (10, 10, 3)), *idle(3)], state=state)
    run.epoch()
    writes = len(run.engine.storage)
    assert run.wait(15) == 1
    assert len(run.engine.storage) == writes, "nothing is written between epochs"
    assert run.epoch(worker=1) == [("a", 1, 10, 5), ("idle", None)], "it fires there, once more"
    assert run.epoch(worker=0) == [("idle", None)], "and what was held back here is gone"
    assert run.wait(20) == 1
    assert run.epoch() == [("a", 2, 20, 0), ("idle", None)]


def test_what_fired_goes_with_a_process_that_is_killed(state: str) -> None:
    run = Run([("a", (10, 10, 3)), *idle(4)], state=state)
    run.epoch()
    assert run.wait(15) == 1
    run.lose()
    assert run.epoch() == [("a", 1, 10, 5), ("idle", None)]
    assert run.wait(25) == 1
    run.lose()
    assert run.epoch() == [("a", 2, 20, 5), ("idle", None)]
    assert run.wait(30) == 1
    assert run.epoch() == [("a", 3, 30, 0), ("idle", None)]


def test_a_failed_epoch_takes_what_fired_with_it(state: str) -> None:
    run = Run([("a", (10, 10, 2)), *idle(3)], state=state)
    run.epoch()
    run.wait(10)
    run.failed_epoch()
    assert run.wait(20) == 1, "the copy that did the failed epoch does not know better"
    assert run.wait(20, worker=1) == 0
    assert run.epoch() == [("a", 1, 10, 10), ("a", 2, 20, 0), ("idle", None)]


def test_a_copy_that_the_failed_epoch_did_not_reach_keeps_what_fired(state: str) -> None:
    run = Run([("a", (10, 10, 2)), *idle(3)], state=state)
    run.epoch()
    run.wait(10)
    run.engine.coordinator.plan()
    run.engine.coordinator.restart()
    assert run.epoch() == [("a", 1, 10, 0), ("idle", None)]


class Failing(Chain):
    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        if ctx.timer_service().current_processing_time() < FAR:
            raise ZeroDivisionError("at the wrong time")
        yield from super().on_timer(timestamp, ctx)


def test_a_failure_fails_the_next_epoch_with_the_users_words() -> None:
    run = Run([("a", (10, 10, 1)), *idle(3)], Failing())
    run.epoch()
    assert run.wait(50) == 1, "once is enough"
    with pytest.raises(JobFailedError, match=r"on_timer\(10\) of key 'a'[^$]*at the wrong time"):
        run.epoch()
    run.engine.coordinator.restart()
    run.clock.now = FAR
    assert run.epoch() == [("a", 1, 10, FAR - 10), ("idle", None)], "a new attempt fires again"


def test_a_failure_in_a_copy_that_is_not_used_does_not_count() -> None:
    run = Run([("a", (10, 10, 1)), *idle(3)], Failing())
    run.epoch()
    run.wait(10)
    run.clock.now = FAR
    assert run.epoch(worker=1) == [("a", 1, 10, FAR - 10), ("idle", None)]


class Written(Sink[Any]):
    """Writes into a list of this process."""

    records: list[Any] = []

    def create_writer(self, context: WriterInitContext) -> SinkWriter[Any]:
        return _Writer()


class _Writer(SinkWriter[Any]):
    def write(self, element: Any, context: SinkWriterContext) -> None:
        Written.records.append(element)


class ToSink(Run):
    def build(self, env: StreamExecutionEnvironment, elements: list[Any], function: KeyedProcessFunction) -> Any:
        super().build(env, elements, function).map(lambda value: value[0]).sink_to(Written())


def test_no_sink_is_touched() -> None:
    Written.records.clear()
    run = ToSink([("a", (10, 10, 2)), *idle(2)])
    run.epoch()
    run.wait(30)
    assert Written.records == []
    run.epoch()
    assert Written.records == ["a", "a", "idle"]


def test_beyond_what_may_be_held_timers_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(member, "MOST_HELD", 3)
    run = Run([("a", (10, 10, 5)), *idle(2)])
    run.epoch()
    assert run.wait(100) == 3
    late = [("a", 4, 40, 60), ("a", 5, 50, 50)]
    assert run.epoch() == [("a", 1, 10, 0), ("a", 2, 20, 0), ("a", 3, 30, 0), *late, ("idle", None)]


@pytest.mark.parametrize("where", ["disk", "stores"])
def test_beyond_what_may_have_changed_timers_wait(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three entries change with each: the number, how many are left, and the timer."""
    monkeypatch.setattr(member, "MOST_CHANGED", 6)
    run = Run([("a", (50, 10, 1)), ("b", (60, 10, 1)), ("c", (70, 10, 1)), *idle(2)], state=where)
    assert run.epoch() + run.epoch() + run.epoch() == []
    assert run.wait(100) == 2
    assert run.epoch() == [("a", 1, 50, 0), ("b", 1, 60, 0), ("c", 1, 70, 30), ("idle", None)]


def test_an_epoch_that_has_changed_too_much_leaves_timers_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(member, "MOST_CHANGED", 3)
    run = Run([("a", (10, 10, 1)), ("b", (30, 10, 1)), *idle(2)], state="disk")
    run.epoch()
    assert run.wait(20) == 0
    assert run.epoch() == [("a", 1, 10, 10)]


def test_nobody_fires_for_ever() -> None:
    run = Run([("a", (10, PATIENCE_MS // 4, 1_000)), *idle(2)])
    run.epoch()
    assert run.wait(3 * PATIENCE_MS) == 4


def test_a_copy_that_was_left_behind_stops() -> None:
    run = Run([("a", (10, 10, 1_000)), *idle(5)])
    run.epoch()
    for _ in range(2):
        assert run.wait(run.clock.now + 20) == 2
        plan = run.engine.coordinator.plan()
        mine = run.engine.workers[0]
        mine.begin(run.engine.job.job_id, (0, 0), plan.epoch)  # a run of another task: this process is not idle
        run.engine.coordinator.complete(plan, run.engine.tasks(plan, worker=1)[0])
    assert run.wait(run.clock.now + 20) == 0


def test_a_savepoint_has_what_was_held_back(state: str) -> None:
    run = Run([("a", (10, 10, 5)), *idle(3)], state=state)
    run.epoch()
    run.wait(20)
    plan = run.engine.coordinator.plan(savepoint="somewhere")
    saved = Saved()
    acks, _ = run.engine.tasks(plan, snapshots=saved)
    assert collected(run.engine.coordinator.complete(plan, acks)) == [("a", 1, 10, 0), ("a", 2, 20, 0), ("idle", None)]
    assert saved.numbers == [2]


class Saved:
    """A place for savepoints that looks at the keyed state ``number`` only."""

    def __init__(self) -> None:
        self.numbers: list[int] = []

    def save(self, uri: str, info: Any, subtask: int, state: SubtaskState) -> SavedSubtask:
        for piece in state.keyed or ():
            if "number" in piece:
                self.numbers += dict(piece["number"][1]).values()
        return SavedSubtask(info.uid, subtask, (), None, state.watermark)

    def load(self, uri: str, info: Any, subtask: int, wanted: Wanted) -> None:
        raise AssertionError("nothing is restored")


class Adding(KeyedProcessFunction):
    """Counts its timers in a global aggregate and in an accumulator."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.aggregates = runtime_context.get_global_aggregate_manager()
        self.counter = runtime_context.get_int_counter("timers")

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        if value[1] is not None:
            ctx.timer_service().register_processing_time_timer(value[1])
        yield self.aggregates.get_global_aggregate("timers", Count())

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> None:
        self.counter.add(1)
        self.aggregates.update_global_aggregate("timers", 1, Count())


class Count(AggregateFunction):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: int, accumulator: int) -> int:
        return accumulator + value

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


def test_what_is_counted_between_epochs_is_counted_in_the_next() -> None:
    run = Run([("a", 10), ("a", 20), *idle(3)], Adding())
    assert run.epoch() + run.epoch() == [None, None]
    assert run.wait(30) == 2
    accumulators = run.engine.coordinator.metrics.accumulators
    assert not accumulators().get("timers")
    assert run.epoch() == [None], "others see it one epoch later"
    assert accumulators()["timers"] == 2
    assert run.epoch() == [2]


class Windowed(Run):
    """The same elements in windows of 10 ms by the clock."""

    trigger: ProcessingTimeTrigger | None = None

    def build(self, env: StreamExecutionEnvironment, elements: list[Any], function: KeyedProcessFunction) -> Any:
        keyed = env.from_collection(elements).key_by(key_of)
        windows = keyed.window(TumblingProcessingTimeWindows.of(Time.milliseconds(10)))
        if self.trigger is not None:
            windows = windows.trigger(self.trigger)
        return windows.reduce(lambda a, b: (a[0], a[1] + b[1]))


class Triggered(Windowed):
    """By the operator of all windows."""

    class Own(ProcessingTimeTrigger):
        pass

    trigger = Own()


@pytest.mark.parametrize("kind", [Windowed, Triggered])
def test_windows_of_processing_time_fire_between_epochs(kind: type[Windowed], state: str) -> None:
    run = kind([("a", 1), ("a", 2), ("b", 3), ("b", 4)], state=state)
    assert run.epoch() + run.epoch() == []
    assert run.wait(8) == 0
    assert run.wait(15) == 1
    assert run.epoch() == [("a", 3)]
    assert run.wait(25) == 1
    assert run.epoch() == [("b", 3)]


class InBatchMode(Run):
    def build(self, env: StreamExecutionEnvironment, elements: list[Any], function: KeyedProcessFunction) -> Any:
        env.set_runtime_mode(RuntimeExecutionMode.BATCH)
        return super().build(env, elements, function)


def test_in_batch_mode_timers_wait_for_the_end_of_their_key() -> None:
    run = InBatchMode([("a", (10, 10, 2)), *idle(2)])
    run.epoch()
    assert run.wait(15) == 0


PLANS = st.lists(
    st.tuples(st.sampled_from("abc"), st.tuples(st.integers(0, 60), st.integers(1, 20), st.integers(1, 6))),
    max_size=3,
    unique_by=lambda plan: plan[0],
)
WHAT = st.sampled_from(["epoch", "fail", "miss", "wait", "wait", "pass", "kill"])
STEPS = st.lists(st.tuples(WHAT, st.integers(0, 1), st.integers(0, 40)), max_size=12)


@pytest.mark.parametrize("where", STATE)
@given(PLANS, STEPS)
def test_whatever_happens_every_timer_fires_once_and_in_order(
    where: str, plans: list[tuple[str, tuple[int, int, int]]], steps: list[tuple[str, int, int]]
) -> None:
    """``fail``: all tasks do an epoch that does not count; ``miss``: it fails before they begin; ``pass``: time passes,
    and the process is too busy to look at it; ``kill``: the process is killed, and there is another one."""
    run = Run([*plans, *idle(len(steps) + 2)], state=where)
    found: list[Any] = []
    epochs = 0
    for what, worker, time in steps:
        if what == "epoch":
            found += run.epoch(worker)
            epochs += 1
        elif what == "fail":
            run.failed_epoch(worker)
        elif what == "miss":
            run.engine.coordinator.plan()
            run.engine.coordinator.restart()
        elif what == "wait":
            run.wait(run.clock.now + time, worker)
        elif what == "kill":
            run.lose(worker)
        else:
            run.clock.now += time
    for _ in range(epochs, len(plans)):
        found += run.epoch()
    run.clock.now += FAR
    found += run.epoch()
    ticks = [value[:3] for value in found if value[1] is not None]
    expected = Counter(
        (key, number + 1, first + number * step) for key, (first, step, count) in plans for number in range(count)
    )
    assert Counter(ticks) == expected
    for key in "abc":
        numbers_of_key = [number for found_key, number, _ in ticks if found_key == key]
        assert numbers_of_key == sorted(numbers_of_key)
    _runs.remove(run)
    run.close()
