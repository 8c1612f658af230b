"""``AsyncDataStream``: PyFlink's signatures, what is refused, what ends up in the program, whole programs."""

from __future__ import annotations

import asyncio
import datetime
import inspect
import json
import re
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from tests.threads import no_thread_left

from millrace.common import Duration, Time, Types, WatermarkStrategy
from millrace.common.watermark_strategy import TimestampAssigner
from millrace.datastream import (
    AsyncDataStream,
    DataStream,
    ProcessFunction,
    RuntimeExecutionMode,
    StreamExecutionEnvironment,
)
from millrace.datastream.async_retry_predicates import empty_result_predicate, has_exception_predicate
from millrace.datastream.async_retry_strategies import NO_RETRY_STRATEGY, FixedDelayRetryStrategy, NoRetryStrategy
from millrace.datastream.functions import (
    AsyncFunction,
    AsyncFunctionDescriptor,
    AsyncRetryPredicate,
    AsyncRetryStrategy,
    MapFunction,
)
from millrace.graph.program import GraphError
from millrace.runtime.coordination.coordinator import JobFailedError
from millrace.runtime.operators import specs
from millrace.testing import run_locally

METHODS = ["unordered_wait", "unordered_wait_with_retry", "ordered_wait", "ordered_wait_with_retry"]
MINUTE = Time.minutes(1)


class Double(AsyncFunction[int, int]):
    """Even numbers take longer."""

    async def async_invoke(self, value: int) -> list[int]:
        for _ in range(1 - value % 2):
            await asyncio.sleep(0)
        return [value * 2]


class Wrong(AsyncFunction[int, int]):
    def async_invoke(self, value: int) -> Any:
        return [value]


class Yields(AsyncFunction[int, int]):
    async def async_invoke(self, value: int) -> AsyncIterator[int]:  # type: ignore[override]
        yield value


class Increment(MapFunction):
    def map(self, value: int) -> int:
        return value + 1


class NoPredicate(NoRetryStrategy[Any]):
    def get_retry_predicate(self) -> AsyncRetryPredicate[Any]:
        return None  # type: ignore[return-value]


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)


@pytest.fixture
def numbers(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_collection([3, 1, 2], Types.INT())


@pytest.mark.parametrize("method", METHODS)
def test_signatures_are_pyflinks(method: str) -> None:
    retry = ["async_retry_strategy"] if method.endswith("retry") else []
    parameters = inspect.signature(getattr(AsyncDataStream, method)).parameters
    assert list(parameters) == ["data_stream", "async_function", "timeout", *retry, "capacity", "output_type"]
    defaults = {name: p.default for name, p in parameters.items() if p.default is not p.empty}
    assert defaults == {"capacity": 100, "output_type": None}


def described(stream: DataStream) -> specs.AsyncWait:
    spec = stream._node("test").spec
    assert isinstance(spec, specs.AsyncWait)
    return spec


def test_what_is_in_the_program(numbers: DataStream) -> None:
    function, retry = Double(), FixedDelayRetryStrategy[int](2, 10)
    mode = AsyncFunctionDescriptor.OutputMode
    plain = specs.AsyncWait(function, 60_000, 100, NO_RETRY_STRATEGY, mode.UNORDERED)
    assert described(AsyncDataStream.unordered_wait(numbers, function, MINUTE)) == plain
    stream = AsyncDataStream.ordered_wait(numbers, function, Duration.of_millis(7), 5, Types.LONG())
    assert described(stream) == specs.AsyncWait(function, 7, 5, NO_RETRY_STRATEGY, mode.ORDERED)
    assert (stream.get_type(), stream.get_name()) == (Types.LONG(), "async wait operator")
    second = datetime.timedelta(seconds=1)
    stream = AsyncDataStream.unordered_wait_with_retry(numbers, function, second, retry, 7)
    assert described(stream) == specs.AsyncWait(function, 1_000, 7, retry, mode.UNORDERED)
    stream = AsyncDataStream.ordered_wait_with_retry(numbers, function, MINUTE, retry)
    assert described(stream) == specs.AsyncWait(function, 60_000, 100, retry, mode.ORDERED)
    assert described(AsyncDataStream.ordered_wait(numbers, function, Time.milliseconds(0))).timeout == 0


def test_the_plan(env: StreamExecutionEnvironment, numbers: DataStream) -> None:
    AsyncDataStream.ordered_wait(numbers, Double(), MINUTE).name("lookup").set_parallelism(3).print()
    nodes = json.loads(env.get_execution_plan())["nodes"]
    assert [(node["type"], node["pact"], node["parallelism"]) for node in nodes][1:2] == [("lookup", "Operator", 3)]


REFUSED: list[tuple[Callable[[Any], Any], type[Exception], str]] = [
    (
        lambda s: AsyncDataStream.ordered_wait([1], Double(), MINUTE),  # type: ignore[arg-type]
        TypeError,
        "AsyncDataStream at <here> takes a DataStream, not list",
    ),
    (
        lambda s: AsyncDataStream.ordered_wait(s, Increment(), MINUTE),  # type: ignore[arg-type]
        TypeError,
        "AsyncDataStream at <here> takes an AsyncFunction, not Increment",
    ),
    (
        lambda s: AsyncDataStream.unordered_wait(s, Double, MINUTE),  # type: ignore[arg-type]
        TypeError,
        "AsyncDataStream at <here> takes an AsyncFunction, not the class Double: did you mean Double()?",
    ),
    (
        lambda s: AsyncDataStream.unordered_wait(s, lambda value: [value], MINUTE),  # type: ignore[arg-type]
        TypeError,
        "AsyncDataStream at <here> takes an AsyncFunction, not a function",
    ),
    (
        lambda s: AsyncDataStream.unordered_wait(s, Wrong(), MINUTE),
        TypeError,
        "AsyncDataStream at <here>: async_invoke() of Wrong must be a coroutine: declare it with 'async def'",
    ),
    (
        lambda s: AsyncDataStream.unordered_wait(s, Yields(), MINUTE),
        TypeError,
        "AsyncDataStream at <here>: async_invoke() of Yields must be a coroutine that returns a list: it yields",
    ),
    (
        lambda s: AsyncDataStream.ordered_wait(s, Double(), 5),  # type: ignore[arg-type]
        TypeError,
        "AsyncDataStream at <here>: the timeout: expected a Duration, a Time or a datetime.timedelta, got int 5",
    ),
    (
        lambda s: AsyncDataStream.ordered_wait(s, Double(), MINUTE, 0),
        GraphError,
        "AsyncDataStream at <here>: the capacity must be a whole number greater than 0, not 0",
    ),
    (
        lambda s: AsyncDataStream.ordered_wait(s, Double(), MINUTE, 1.5),  # type: ignore[arg-type]
        GraphError,
        "AsyncDataStream at <here>: the capacity must be a whole number greater than 0, not 1.5",
    ),
    (
        lambda s: AsyncDataStream.ordered_wait(s, Double(), MINUTE, 1, int),  # type: ignore[arg-type]
        TypeError,
        "the type at <here> must be a TypeInformation such as Types.INT(), not <class 'int'>",
    ),
    (
        lambda s: AsyncDataStream.ordered_wait_with_retry(s, Double(), MINUTE, None),  # type: ignore[arg-type]
        TypeError,
        "AsyncDataStream at <here> takes an AsyncRetryStrategy, not NoneType",
    ),
    (
        lambda s: AsyncDataStream.ordered_wait_with_retry(s, Double(), MINUTE, NoPredicate()),
        TypeError,
        "AsyncDataStream at <here>: get_retry_predicate() of NoPredicate must give a predicate, not None",
    ),
    (
        lambda s: AsyncDataStream.unordered_wait_with_retry(
            s, Double(), Time.seconds(0), AsyncRetryStrategy.fixed_delay(1, 1, None, None)
        ),
        GraphError,
        "AsyncDataStream at <here>: retries need a timeout greater than 0, not 0 ms",
    ),
]


@pytest.mark.parametrize(("call", "error", "text"), REFUSED, ids=[text for _, _, text in REFUSED])
def test_what_is_refused(numbers: DataStream, call: Callable[[Any], Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error) as caught:
        call(numbers)
    assert re.sub(re.escape(__file__) + r":\d+", "<here>", str(caught.value)) == text


# -- whole programs -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [RuntimeExecutionMode.STREAMING, RuntimeExecutionMode.BATCH])
@pytest.mark.parametrize("epoch_records", [None, 1, 7])
def test_ordered_in_any_epochs(
    env: StreamExecutionEnvironment, mode: RuntimeExecutionMode, epoch_records: int | None
) -> None:
    env.set_parallelism(1).set_runtime_mode(mode)
    doubled = AsyncDataStream.ordered_wait(env.from_sequence(1, 50), Double(), MINUTE, 4, Types.LONG())
    with no_thread_left("millrace-async"):
        run = run_locally(doubled, epoch_records=epoch_records, workers=2, seed=3)
    assert run.collected == [2 * number for number in range(1, 51)]


class SecondField(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[1])


class Late(ProcessFunction):
    """Each element with its timestamp, and whether a watermark has passed it."""

    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Any:
        timestamp = ctx.timestamp()
        assert timestamp is not None
        yield (value, timestamp, ctx.timer_service().current_watermark() >= timestamp)


class Name(AsyncFunction[tuple[str, int], str]):
    async def async_invoke(self, value: tuple[str, int]) -> list[str]:
        for _ in range(value[1] % 5):
            await asyncio.sleep(0)
        return [value[0]]


@pytest.mark.parametrize("epoch_records", [None, 1, 6])
def test_unordered_results_are_not_late(env: StreamExecutionEnvironment, epoch_records: int | None) -> None:
    in_order = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(SecondField())
    events = [(f"e{time}", time) for time in range(40)]
    stamped = env.from_collection(events).assign_timestamps_and_watermarks(in_order)
    seen = AsyncDataStream.unordered_wait(stamped, Name(), MINUTE, 8).process(Late())
    run = run_locally(seen, epoch_records=epoch_records)
    assert sorted(run.collected, key=lambda result: result[1]) == [(name, time, False) for name, time in events]


def test_on_a_keyed_stream_the_function_sees_the_elements(env: StreamExecutionEnvironment) -> None:
    keyed = env.from_collection([1, 2, 3, 4]).key_by(lambda number: number % 2)
    run = run_locally(AsyncDataStream.unordered_wait(keyed, Double(), MINUTE))
    assert sorted(run.collected) == [2, 4, 6, 8]


class Moody(AsyncFunction[int, int]):
    """Answers nothing, then fails, then answers: per element and copy of the function."""

    def __init__(self) -> None:
        self.attempts: dict[int, int] = {}

    async def async_invoke(self, value: int) -> list[int]:
        attempt = self.attempts[value] = self.attempts.get(value, 0) + 1
        if attempt == 2:
            raise OSError("not now")
        return [] if attempt == 1 else [value]


def test_retries_with_lambdas_as_predicates(numbers: DataStream) -> None:
    retry: AsyncRetryStrategy[int] = AsyncRetryStrategy.exponential_backoff(
        3, 1, 4, 2.0, lambda results: not results, lambda error: isinstance(error, OSError)
    )
    stream = AsyncDataStream.ordered_wait_with_retry(numbers, Moody(), MINUTE, retry)
    assert sorted(run_locally(stream).collected) == [1, 2, 3]
    once = FixedDelayRetryStrategy[Any](1, 1, empty_result_predicate, has_exception_predicate)
    with pytest.raises(JobFailedError, match="OSError: not now"):
        run_locally(AsyncDataStream.ordered_wait_with_retry(numbers, Moody(), MINUTE, once))


def test_a_failure_begins_with_the_users_line(numbers: DataStream) -> None:
    class Reciprocal(AsyncFunction[int, float]):
        async def async_invoke(self, value: int) -> list[float]:
            await asyncio.sleep(0)
            return [1 / (value - 1)]

    with no_thread_left("millrace-async"), pytest.raises(JobFailedError) as caught:
        run_locally(AsyncDataStream.ordered_wait(numbers, Reciprocal(), MINUTE).set_parallelism(1))
    text = re.sub(re.escape(__file__) + r":\d+", "<here>", str(caught.value))
    assert text == (
        "operator 'async wait operator' (subtask 1), made at <here>, failed\n"
        "  element: 1\n"
        "  at:      <here> in async_invoke: return [1 / (value - 1)]\n"
        "  cause:   ZeroDivisionError: division by zero"
    )


def test_what_cant_be_sent_to_the_workers(numbers: DataStream) -> None:
    class Locked(Double):
        def __init__(self) -> None:
            self.lock = threading.Lock()

    with pytest.raises(GraphError, match=r"its Locked can't be sent .* it holds the attribute Locked\.lock"):
        run_locally(AsyncDataStream.ordered_wait(numbers, Locked(), MINUTE))
