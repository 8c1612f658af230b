"""Source functions in jobs: one instance and one thread for the life of the job, elements as they come."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.runtime.jobs import Engine, job_of
from tests.threads import no_thread_left

from millrace.common.typeinfo import Types
from millrace.common.watermark_strategy import WatermarkStrategy
from millrace.connectors.generated_sources import DataGeneratorSource, RateLimiterStrategy
from millrace.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from millrace.datastream.functions import (
    CheckpointedFunction,
    FunctionInitializationContext,
    FunctionSnapshotContext,
    KeyedProcessFunction,
    MapFunction,
    ParallelSourceFunction,
    RuntimeContext,
    SourceFunction,
)
from millrace.datastream.state import ListStateDescriptor
from millrace.runtime.coordination.coordinator import JobFailedError
from millrace.testing import run_locally

LIFE: list[Any] = []
"""What the functions of this process did."""
THREAD = "millrace-source-function"
WAIT_SECONDS = 60


@pytest.fixture(autouse=True)
def _new_life() -> Iterator[None]:
    LIFE.clear()
    with no_thread_left(THREAD):
        yield


def streaming() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)


class AfterTheOther(SourceFunction[int]):
    """Emits a number when the one before it has gone through the job: its file is there."""

    def __init__(self, seen: Path, count: int) -> None:
        self.seen, self.count = seen, count
        self.running = True

    def open(self, runtime_context: RuntimeContext) -> None:
        LIFE.append("open")

    def run(self, ctx: SourceFunction.SourceContext[int]) -> None:
        waited = threading.Event()
        for number in range(self.count):
            while number and self.running and not (self.seen / str(number - 1)).exists():
                waited.wait(0.002)
            ctx.collect(number)

    def cancel(self) -> None:
        self.running = False
        LIFE.append("cancel")

    def close(self) -> None:
        LIFE.append("close")


class See(MapFunction):
    def __init__(self, seen: Path) -> None:
        self.seen = seen

    def map(self, value: int) -> int:
        (self.seen / str(value)).touch()
        return value


def test_elements_come_one_by_one_from_one_instance(tmp_path: Path) -> None:
    env = streaming()
    run = run_locally(env.add_source(AfterTheOther(tmp_path, 20)).map(See(tmp_path)))
    assert run.collected == list(range(20))
    assert LIFE == ["open", "close"]


class TimerAfter(KeyedProcessFunction):
    """A timer on the clock; says when it fires, and lets the source go on."""

    def __init__(self, seen: Path) -> None:
        self.seen = seen

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> None:
        timers = ctx.timer_service()
        timers.register_processing_time_timer(timers.current_processing_time() + 1)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[str]:
        (self.seen / str(ctx.get_current_key())).touch()
        yield f"timer of {ctx.get_current_key()}"


def test_timers_on_the_clock_fire_while_the_function_waits(tmp_path: Path) -> None:
    env = streaming()
    stream = env.add_source(AfterTheOther(tmp_path, 3)).key_by(lambda value: value).process(TimerAfter(tmp_path))
    found = run_locally(stream).collected
    assert found[:2] == ["timer of 0", "timer of 1"], "that of 2 is pending, and perhaps dropped, when the input ends"


class Steps(SourceFunction[int], CheckpointedFunction):
    """Counts under the lock, for ever. Its position is right whenever it is saved."""

    def __init__(self) -> None:
        self.next = 0
        self.running = True

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        self.saved = context.get_operator_state_store().get_list_state(ListStateDescriptor("next", Types.LONG()))
        self.next = sum(self.saved)
        LIFE.append((context.is_restored(), self.next))

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        self.saved.update([self.next])

    def run(self, ctx: SourceFunction.SourceContext[int]) -> None:
        while self.running:
            with ctx.get_checkpoint_lock():
                ctx.collect(self.next)
                self.next += 1

    def cancel(self) -> None:
        self.running = False


def endless(function: SourceFunction[int]) -> Engine:
    env = streaming()
    env.add_source(function).print()
    return Engine(replace(env.job_graph(), epoch_records=100))


def numbers(engine: Engine, epochs: int) -> list[int]:
    printed: list[int] = []
    while epochs:
        lines = engine.epoch().printed
        printed += map(int, lines)
        epochs -= bool(lines)
    return printed


def close(engine: Engine) -> None:
    for worker in engine.workers:
        worker.close()


@pytest.mark.parametrize("saving", [True, False])
def test_an_endless_function_is_read_on_and_goes_on_after_a_restart(
    saving: bool,
) -> None:
    engine = endless(Steps() if saving else Plain())
    printed = numbers(engine, 5)
    engine.tasks(engine.coordinator.plan())  # its acknowledgements are lost
    engine.coordinator.restart()
    printed += numbers(engine, 5)
    while saving and len(LIFE) == 1:  # what was emitted and saved comes first
        printed += numbers(engine, 1)
    assert printed == list(range(len(printed)))
    assert len(LIFE) == (2 if saving else 0), "one instance before, one after"
    close(engine)


INSIDE = threading.Event()


class Entering(Steps):
    """Tells that it is inside the lock."""

    def run(self, ctx: SourceFunction.SourceContext[int]) -> None:
        while self.running:
            with ctx.get_checkpoint_lock():
                INSIDE.set()
                ctx.collect(self.next)
                self.next += 1


@pytest.mark.timeout(60)
def test_epochs_that_read_nothing_end_while_the_function_waits_for_room_inside_the_lock() -> None:
    engine = endless(Entering())
    printed = numbers(engine, 2)
    for _ in range(3):
        engine.coordinator._pace.waiting = True  # the sources pause
        INSIDE.clear()
        assert engine.epoch().printed == ()
        assert INSIDE.wait(10)
    printed += numbers(engine, 3)
    assert printed == list(range(len(printed)))
    close(engine)


class Plain(SourceFunction[int]):
    emits_same_elements = True

    def __init__(self) -> None:
        self.running = True

    def run(self, ctx: SourceFunction.SourceContext[int]) -> None:
        number = 0
        while self.running:
            ctx.collect(number)
            number += 1

    def cancel(self) -> None:
        self.running = False


def test_stopping_takes_what_was_emitted_and_ends_the_job() -> None:
    engine = endless(Steps())
    printed = numbers(engine, 2)
    engine.coordinator.stop()
    for _ in range(100):
        if engine.coordinator.finished:
            break
        printed += [int(line) for line in engine.epoch().printed]
    assert engine.coordinator.finished
    assert printed == list(range(len(printed)))
    close(engine)


class Deaf(SourceFunction[int]):
    """Does not listen to ``cancel`` and swallows exceptions."""

    def run(self, ctx: SourceFunction.SourceContext[int]) -> None:
        ctx.collect(1)
        while True:
            try:
                threading.Event().wait(0.005)
            except Exception:
                continue


def test_a_function_that_does_not_listen_leaves_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("millrace.util.system.GRACE_SECONDS", 0.01)
    for _ in range(3):
        with no_thread_left(THREAD):
            engine = endless(Deaf())
            assert numbers(engine, 1) == [1]
            close(engine)


class EachItsOwn(ParallelSourceFunction[tuple[int, int]]):
    emits_same_elements = True

    def open(self, runtime_context: RuntimeContext) -> None:
        self.subtask = runtime_context.get_index_of_this_subtask()

    def run(self, ctx: SourceFunction.SourceContext[tuple[int, int]]) -> None:
        for number in range(5):
            ctx.collect((self.subtask, number))


@pytest.mark.parametrize("mode", [RuntimeExecutionMode.STREAMING, RuntimeExecutionMode.BATCH])
def test_a_parallel_function_runs_in_every_subtask(mode: RuntimeExecutionMode) -> None:
    env = streaming().set_runtime_mode(mode)
    run = run_locally(env.add_source(EachItsOwn()).set_parallelism(3), epoch_records=2)
    assert sorted(run.collected) == [(subtask, number) for subtask in range(3) for number in range(5)]


class FailsOnce(MapFunction):
    def map(self, value: Any) -> Any:
        if value == (1, 3) and "failed" not in LIFE:
            LIFE.append("failed")
            raise OSError("no luck")
        return value


def test_a_parallel_function_repeats_what_a_failed_epoch_had() -> None:
    def build(env: StreamExecutionEnvironment) -> Any:
        return env.add_source(EachItsOwn()).set_parallelism(2).map(FailsOnce()).set_parallelism(2)

    engine = Engine(job_of(build, 1))
    found = 0
    while not engine.coordinator.finished:
        try:
            found += engine.epoch().records
        except JobFailedError:
            engine.coordinator.restart()
    assert "failed" in LIFE
    assert found == 10


def test_when_epochs_come_by_the_clock() -> None:
    def by_the_clock(source: Any, mode: RuntimeExecutionMode = RuntimeExecutionMode.STREAMING) -> bool:
        env = streaming().set_runtime_mode(mode)
        env.from_source(source, WatermarkStrategy.no_watermarks(), "source").print()
        assert (env.job_graph().epoch_millis is None) == env._is_batch()
        return env._by_the_clock()

    assert by_the_clock(DataGeneratorSource(lambda n: n))
    assert by_the_clock(DataGeneratorSource(lambda n: n, 3, RateLimiterStrategy.per_second(1)))
    assert not by_the_clock(DataGeneratorSource(lambda n: n, 3))
    limited = DataGeneratorSource(lambda n: n, 3, RateLimiterStrategy.per_second(1))
    assert not by_the_clock(limited, RuntimeExecutionMode.BATCH)
    assert not by_the_clock(limited, RuntimeExecutionMode.AUTOMATIC)
    env = streaming().set_runtime_mode(RuntimeExecutionMode.AUTOMATIC)
    env.add_source(Plain()).print()
    assert env._by_the_clock(), "nobody knows whether it ends: a stream, as in Flink"
