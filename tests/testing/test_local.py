"""``run_locally``: a whole program in this process."""

from __future__ import annotations

from typing import Any

import pytest
from tests.runtime.jobs import numbers

from millrace.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from millrace.datastream.functions import KeyedProcessFunction, MapFunction
from millrace.runtime.coordination.coordinator import JobFailedError
from millrace.testing import run_locally

LIFE: list[str] = []


class Lives(MapFunction):
    def open(self, runtime_context: Any) -> None:
        LIFE.append("open")

    def map(self, value: int) -> int:
        if value == 4:
            raise ValueError("four")
        return value

    def close(self) -> None:
        LIFE.append("close")


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    LIFE.clear()
    return StreamExecutionEnvironment().set_parallelism(1)


def test_a_stream_is_collected(env: StreamExecutionEnvironment) -> None:
    assert run_locally(env.from_collection([1, 2, 3]).map(lambda v: v + 1)).collected == [2, 3, 4]


def test_an_environment_is_executed(env: StreamExecutionEnvironment) -> None:
    env.from_collection([1, 2, 3]).print("id")
    run = run_locally(env)
    assert run.printed == ["id> 1", "id> 2", "id> 3"]
    assert run.collected == []
    with pytest.raises(RuntimeError, match="No operators"):
        run_locally(env)


def test_the_input_is_split_into_epochs(env: StreamExecutionEnvironment) -> None:
    run = run_locally(numbers(env, range(10)), epoch_records=4)
    assert [result.records for result in run.epochs] == [4, 4, 2]
    assert run.collected == list(range(10))


def test_functions_are_closed(env: StreamExecutionEnvironment) -> None:
    run_locally(numbers(env, range(3)).map(Lives()), epoch_records=1, workers=2, seed=3)
    assert LIFE.count("open") == LIFE.count("close") > 0


def test_a_failure_is_raised_and_functions_are_closed(env: StreamExecutionEnvironment) -> None:
    with pytest.raises(JobFailedError, match="four"):
        # the second instance lives in a later stage: its task is well and has to be closed all the same
        run_locally(numbers(env, range(6)).map(Lives()).rebalance().map(Lives()).set_parallelism(1), epoch_records=2)
    assert LIFE == ["open", "open", "close", "close"]


class Late(KeyedProcessFunction):
    def process_element(self, value: int, ctx: Any) -> None:
        ctx.timer_service().register_processing_time_timer(100)

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield (timestamp, ctx.timer_service().current_processing_time())


def test_the_clock_is_the_callers(env: StreamExecutionEnvironment) -> None:
    times = iter(range(0, 10_000, 7))
    stream = numbers(env, range(30)).key_by(lambda v: 0).process(Late())
    run = run_locally(stream, epoch_records=1, clock=lambda: next(times))
    # the timer is set again with every element; once the clock has passed it, it fires in each epoch
    assert len(run.collected) > 1
    assert all(now >= timestamp == 100 for timestamp, now in run.collected)


def test_batch_mode(env: StreamExecutionEnvironment) -> None:
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    run = run_locally(numbers(env, range(10)).key_by(lambda v: v % 2).sum())
    assert sorted(run.collected) == [20, 25]
    assert len(run.epochs) == 1


def test_a_program_without_end_is_stopped(env: StreamExecutionEnvironment) -> None:
    with pytest.raises(TimeoutError, match="within 2 epochs"):
        run_locally(numbers(env, range(10)), epoch_records=1, max_epochs=2)
    assert len(run_locally(numbers(env, range(2)), epoch_records=2, max_epochs=2).epochs) <= 2
