"""How jobs begin, are watched and end: execute, execute_async, execute_and_collect, print."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest
from tests.spark.conftest import MakeEnvironment, Watch

from millrace.common import Types
from millrace.common.jobs import JobStatus
from millrace.common.watermark_strategy import WatermarkStrategy
from millrace.datastream import DataStream, KeyedProcessFunction, StreamExecutionEnvironment
from millrace.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from millrace.spark.jobs.client import JobCancelledError


def endless(env: StreamExecutionEnvironment, per_second: int = 200) -> DataStream:
    source = DataGeneratorSource(lambda index: index, None, RateLimiterStrategy.per_second(per_second))
    return env.from_source(source, WatermarkStrategy.no_watermarks(), "endless")


def wait_for(condition: Callable[[], bool], seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it did not happen in time"
        time.sleep(0.02)


def test_print(environment: MakeEnvironment, capsys: pytest.CaptureFixture[str]) -> None:
    """Flink's format: the sink's name, the subtask if there are several, the value as its type prints."""
    env = environment(2)
    pair = Types.TUPLE([Types.STRING(), Types.LONG()])
    pairs = env.from_collection([("a", 1), ("b", 2), ("c", 3)], pair)
    pairs.print("two").set_parallelism(2)
    pairs.print().set_parallelism(2)
    pairs.print("one").set_parallelism(1)
    pairs.print().set_parallelism(1)
    env.from_collection([None, 1.0, ("a", 1)]).print("any").set_parallelism(1)
    env.execute("print")
    texts = ["(a,1)", "(b,2)", "(c,3)"]
    expected = [f"one> {text}" for text in texts] + texts + ["any> None", "any> 1.0", "any> ('a', 1)"]
    lines = capsys.readouterr().out.splitlines()
    numbered = [line for line in lines if line.partition("> ")[0] in ("1", "2", "two:1", "two:2")]
    assert sorted(set(lines) - set(numbered)) == sorted(expected)
    assert sorted(line.partition("> ")[2] for line in numbered) == sorted(texts * 2)
    assert {line.partition("> ")[0] for line in numbered} == {"1", "2", "two:1", "two:2"}


def test_execute_async_and_cancel(environment: MakeEnvironment, watch: Watch) -> None:
    env = environment(1)
    endless(env).print()
    client = env.execute_async("never ends")
    wait_for(lambda: len(watch.lines) > 10)
    assert client.get_job_status().result() is JobStatus.RUNNING
    result = client.get_job_execution_result()
    assert not result.done()
    client.cancel().result()
    assert client.get_job_status().result() is JobStatus.CANCELED
    assert watch.ends == [JobStatus.CANCELED]
    with pytest.raises(JobCancelledError, match="'never ends'"):
        result.result()


class AtTheEnd(KeyedProcessFunction):
    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> None:
        ctx.timer_service().register_event_time_timer(2**63 - 1)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[str]:
        yield f"end of {ctx.get_current_key()}"


def test_stop_ends_an_endless_job_in_order(environment: MakeEnvironment, watch: Watch) -> None:
    env = environment(2)
    endless(env).key_by(lambda value: value % 3).process(AtTheEnd()).print().set_parallelism(1)
    client = env.execute_async()
    wait_for(lambda: sum(result.records for result in watch.epochs) > 20)
    assert watch.lines == []
    client.stop().result()  # type: ignore[attr-defined]
    assert client.get_job_status().result() is JobStatus.FINISHED
    assert sorted(watch.lines) == ["end of 0", "end of 1", "end of 2"]
    client.get_job_execution_result().result()


def test_execute_and_collect_with_a_limit(environment: MakeEnvironment, watch: Watch) -> None:
    env = environment(1)
    assert endless(env).execute_and_collect(limit=5) == [0, 1, 2, 3, 4]
    assert watch.ends == [JobStatus.CANCELED]
    assert env.from_collection([1, 2]).execute_and_collect(limit=5) == [1, 2]


def test_closing_the_iterator_cancels_the_job(environment: MakeEnvironment, watch: Watch) -> None:
    env = environment(1)
    with endless(env).execute_and_collect() as values:
        assert [next(values), values.next()] == [0, 1]  # type: ignore[union-attr]
    assert watch.ends == [JobStatus.CANCELED]


def test_order_of_a_stream_with_one_subtask_is_kept(environment: MakeEnvironment) -> None:
    env = environment(2)
    numbers = env.from_sequence(0, 999).set_parallelism(1)
    assert list(numbers.execute_and_collect()) == list(range(1000))


def test_several_jobs_at_once(environment: MakeEnvironment) -> None:
    clients = []
    for first in (0, 100):
        env = environment(1)
        env.from_sequence(first, first + 9).map(lambda value: value).print()
        clients.append(env.execute_async(f"from {first}"))
    for client in clients:
        result = client.get_job_execution_result().result()
        assert result.get_accumulator_result("millrace.records-read") == 10
    assert clients[0].get_job_id() != clients[1].get_job_id()


def test_a_program_can_go_on_after_execute(environment: MakeEnvironment) -> None:
    env = environment(1)
    assert list(env.from_collection([1]).execute_and_collect()) == [1]
    assert list(env.from_collection([2]).execute_and_collect()) == [2]
