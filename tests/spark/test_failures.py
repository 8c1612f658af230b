"""What the user sees when his function fails, or its process dies; and that the session can go on afterwards."""

from __future__ import annotations

import os
import re
import signal
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.cep.pattern_jobs import COUNT, patterns
from tests.spark.conftest import MakeEnvironment, Watch

from millrace.common import SuppressRestartsException
from millrace.common.jobs import JobStatus
from millrace.common.sink import Committer, Sink, SinkWriter, SinkWriterContext, WriterInitContext
from millrace.common.types import Row
from millrace.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from millrace.graph.program import GraphError
from millrace.runtime.coordination.coordinator import JobFailedError
from millrace.testing import run_locally

NOISE = ("Traceback", "org.apache", "py4j", "java.", "\tat ")


def divide(number: int) -> float:
    return 10 / (number - 5)


def assert_short(text: str) -> None:
    assert len(text.splitlines()) <= 5, text
    assert not any(noise in text for noise in NOISE), text


@pytest.mark.parametrize("batch", [False, True])
def test_a_function_that_fails(environment: MakeEnvironment, watch: Watch, batch: bool) -> None:
    env = environment(2, batch)
    env.from_sequence(0, 9).map(divide).name("division").print()
    with pytest.raises(JobFailedError) as caught:
        env.execute("divides")
    text = str(caught.value)
    assert_short(text)
    here = Path(__file__).name
    assert text.startswith("operator 'division' (subtask 2), made at ")
    assert f"{here}:" in text.splitlines()[0]
    assert "  element: 5" in text
    assert f"{here}:" in text and "in divide: return 10 / (number - 5)" in text
    assert "  cause:   ZeroDivisionError: division by zero" in text
    assert watch.lines == [], "nothing of the epoch counts"
    assert watch.ends == [JobStatus.FAILED]
    assert list(environment(2, batch).from_collection([1, 2]).execute_and_collect()) == [1, 2]


class BadTimer(KeyedProcessFunction):
    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> None:
        ctx.timer_service().register_event_time_timer(7)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> None:
        raise KeyError("nothing there")


def test_a_timer_behind_an_exchange_that_fails(environment: MakeEnvironment) -> None:
    env = environment(2)
    env.from_sequence(0, 9).key_by(lambda value: value).process(BadTimer()).map(str).rebalance().map(str).print()
    with pytest.raises(JobFailedError) as caught:
        env.execute()
    assert_short(str(caught.value))
    assert "failed in on_timer(7) of key" in str(caught.value)
    assert "KeyError: 'nothing there'" in str(caught.value)


def test_an_async_job_that_fails(environment: MakeEnvironment) -> None:
    env = environment(1)
    env.from_collection([1]).map(lambda value: value.missing).print()
    client = env.execute_async()
    with pytest.raises(JobFailedError, match="AttributeError"):
        client.get_job_execution_result().result()
    assert client.get_job_status().result() is JobStatus.FAILED


def die(number: int) -> int:
    if number == 5:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def test_a_worker_that_is_killed(environment: MakeEnvironment) -> None:
    env = environment(2)
    env.from_sequence(0, 9).map(die).print()
    with pytest.raises(JobFailedError) as caught:
        env.execute("dies")
    text = str(caught.value)
    assert_short(text)
    assert text.startswith("job 'dies' failed\n  cause:   the process that task ")
    assert re.search("task [01] of stage 0 lives in has ended: it was killed", text)
    assert list(environment(2).from_collection([1, 2]).execute_and_collect()) == [1, 2]


def test_a_job_with_patterns_goes_on_when_a_worker_is_killed(
    environment: MakeEnvironment, watch: Watch, tmp_path: Path
) -> None:
    marker = tmp_path / "marker"

    def die_once(row: Row) -> Row:
        if row.number == COUNT // 3 and not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return row

    restarts = {"restart-strategy.type": "fixed-delay", "restart-strategy.fixed-delay.delay": "1 ms"}
    env = environment(2, **{"millrace.epoch.max-records": 40, **restarts})
    patterns(env, die_once).print()
    env.execute("patterns")
    wanted = run_locally(patterns(StreamExecutionEnvironment().set_parallelism(1))).collected
    assert marker.exists()
    assert sorted(line.partition("> ")[2] for line in watch.lines) == sorted(wanted)


def test_what_cannot_be_sent_is_found_before_spark_starts_a_job(environment: MakeEnvironment, watch: Watch) -> None:
    lock = threading.Lock()
    env = environment(1)
    env.from_collection([1]).map(lambda value: lock.locked()).print()
    with pytest.raises(GraphError, match="lock"):
        env.execute()
    assert watch.ends == []


class Hopeless(Sink[int]):
    """What it has prepared is gone when it is to be committed, or while it is written."""

    def __init__(self, at_commit: bool) -> None:
        self.at_commit = at_commit

    def create_writer(self, context: WriterInitContext) -> SinkWriter[int]:
        return HopelessWriter(self.at_commit)

    def create_committer(self) -> Committer[int]:
        return HopelessCommitter()


class HopelessWriter(SinkWriter[int]):
    def __init__(self, at_commit: bool) -> None:
        self.at_commit = at_commit

    def write(self, element: int, context: SinkWriterContext) -> None:
        if not self.at_commit:
            raise SuppressRestartsException("no disk will ever be large enough")

    def flush(self, end_of_input: bool) -> None: ...

    def prepare_commit(self) -> list[int]:
        return [1]


class HopelessCommitter(Committer[int]):
    def commit(self, committables: Sequence[int]) -> None:
        raise SuppressRestartsException("record 1 is gone")


@pytest.mark.parametrize(("at_commit", "cause"), [(True, "record 1 is gone"), (False, "no disk will ever be large")])
def test_what_no_restart_can_mend(environment: MakeEnvironment, watch: Watch, at_commit: bool, cause: str) -> None:
    settings = {"restart-strategy.type": "fixed-delay", "restart-strategy.fixed-delay.attempts": "5"}
    env = environment(1, **settings)
    env.from_sequence(0, 9).sink_to(Hopeless(at_commit))
    with pytest.raises(JobFailedError, match=f"cause:   SuppressRestartsException: {cause}"):
        env.execute()
    assert (watch.restarts, watch.ends) == ([], [JobStatus.FAILED])
