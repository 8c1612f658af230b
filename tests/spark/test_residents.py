"""Jobs whose tasks stay (``millrace.epoch.execution: resident``): one job of Spark, the same results whatever dies."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.spark.conftest import MakeEnvironment, Watch
from tests.spark.jobs.test_savepoints import COUNT, KEYS, numbering, printed, wanted
from tests.spark.test_execution import endless, wait_for

from millrace.common.jobs import JobStatus
from millrace.datastream import DataStream, StreamExecutionEnvironment
from millrace.runtime.failure import JobFailedError
from millrace.spark.jobs import carriers
from millrace.spark.jobs.resident_carrier import NoRoomError
from millrace.spark.jobs.tasks import EpochTimeoutError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RESIDENT = {"millrace.epoch.execution": "resident", "millrace.epoch.max-records": 200}
RESTARTS = {"restart-strategy.type": "fixed-delay", "restart-strategy.fixed-delay.delay": "1 ms"}


@pytest.fixture(autouse=True)
def no_flow(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a cluster: on Spark in one process they would be in flow."""
    monkeypatch.setattr(carriers, "_why_no_flow", lambda place, job: "this is about tasks that stay at their cores")


def dying_once(marker: Path) -> Callable[[int], int]:
    """A function that kills its process at one of the elements, unless the file is there."""

    def die_once(value: int) -> int:
        if value == COUNT // 3 and not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return value

    return die_once


def counted(env: StreamExecutionEnvironment, odd: Any = lambda value: value) -> DataStream:
    """(key, how many came so far) of numbers that went through ``odd``."""
    numbers = env.from_sequence(0, COUNT - 1).map(odd)
    return numbers.map(lambda value: (value % KEYS, 1)).key_by(lambda pair: pair[0]).sum(1)


def all_counts() -> list[tuple[int, int]]:
    return sorted((key, n + 1) for key in range(KEYS) for n in range(len(range(key, COUNT, KEYS))))


def test_epochs_are_no_jobs_of_spark(environment: MakeEnvironment, spark: SparkSession, watch: Watch) -> None:
    env = environment(2, **RESIDENT)
    numbering(env)
    done = env.execute("numbers")
    assert printed(watch) == wanted()
    assert len(watch.epochs) >= COUNT // 400
    assert watch.ends == [JobStatus.FINISHED]
    assert len(spark.sparkContext.statusTracker().getJobIdsForGroup(str(done.get_job_id()))) == 1


def test_a_job_goes_on_when_its_process_is_killed(environment: MakeEnvironment, watch: Watch, tmp_path: Path) -> None:
    job = counted(environment(2, **RESIDENT, **RESTARTS), dying_once(tmp_path / "marker"))
    assert sorted(job.execute_and_collect()) == all_counts()
    (restart,) = watch.restarts
    assert "lives in has ended: it was killed" in restart.error


def test_what_dies_between_epochs_is_no_failure(environment: MakeEnvironment, watch: Watch) -> None:
    options = {"restart-strategy.type": "none", "millrace.epoch.interval-ms": 1_500}
    env = environment(1, **RESIDENT, **options)
    endless(env).map(lambda value: os.getpid()).print()
    client = env.execute_async("never ends")
    wait_for(lambda: bool(watch.lines))
    before, epochs = int(watch.lines[-1]), len(watch.epochs)
    wait_for(lambda: len(watch.epochs) > epochs)
    os.kill(before, signal.SIGKILL)  # the next epoch is more than a second away
    wait_for(lambda: int(watch.lines[-1]) != before)
    assert client.get_job_status().result() is JobStatus.RUNNING
    assert watch.restarts == []
    client.cancel().result()


def test_an_epoch_that_hangs_fails_and_says_which_task_it_waited_for(
    environment: MakeEnvironment, tmp_path: Path
) -> None:
    def wait(value: int) -> int:
        while value == 3 and not (tmp_path / "go").exists():
            time.sleep(0.05)
        return value

    options = {
        "millrace.epoch.timeout": "6 s",
        "task.cancellation.timeout": "200 ms",
        "restart-strategy.type": "none",
    }
    text = r"epoch \d+ stands still: .*, task 0 of stage 0, has come no further for 6000 ms "
    with pytest.raises(EpochTimeoutError, match=text) as raised:
        list(counted(environment(2, **RESIDENT, **options), wait).execute_and_collect())
    assert "<locals>.wait:" in str(raised.value)
    (tmp_path / "go").touch()
    assert sorted(counted(environment(2, **RESIDENT)).execute_and_collect()) == all_counts()


def test_a_job_is_cancelled_and_lets_go_of_its_cores(environment: MakeEnvironment, watch: Watch) -> None:
    env = environment(2, **RESIDENT, **{"millrace.epoch.interval-ms": 5})
    endless(env).print()
    client = env.execute_async("never ends")
    wait_for(lambda: len(watch.lines) > 10)
    client.cancel().result()
    assert client.get_job_status().result() is JobStatus.CANCELED
    batch = environment(2, batch=True, **RESIDENT)  # of no effect there
    assert sorted(batch.from_sequence(0, 5).map(lambda value: -value).execute_and_collect()) == list(range(-5, 1))


@pytest.mark.parametrize("ways", [("resident", "spark-jobs"), ("spark-jobs", "resident")])
def test_a_savepoint_of_one_way_is_the_beginning_of_the_other(
    environment: MakeEnvironment, watch: Watch, tmp_path: Path, ways: tuple[str, str]
) -> None:
    options = {"millrace.epoch.max-records": 100, "execution.checkpointing.savepoint-dir": str(tmp_path)}
    env = environment(2, **options, **{"millrace.epoch.execution": ways[0]})
    numbering(env)
    client = env.execute_async("first")
    path = client.stop_with_savepoint(False, str(tmp_path)).result()
    client.get_job_execution_result().result()
    env = environment(1, **options, **{"millrace.epoch.execution": ways[1], "execution.savepoint.path": path})
    numbering(env)
    env.execute("second")
    assert printed(watch) == wanted()


def test_too_few_cores_are_told_at_once(environment: MakeEnvironment) -> None:
    env = environment(3, **RESIDENT)
    counted(env).print()
    with pytest.raises(NoRoomError, match=r"holds 3 cores at the same time, .* and local\[2\] has 2: give it more"):
        env.execute()


def test_a_function_that_fails_is_told_as_ever(environment: MakeEnvironment) -> None:
    env = environment(2, **RESIDENT, **{"restart-strategy.type": "none"})
    counted(env, lambda value: 1 // (value - 100) or value).print()
    with pytest.raises(JobFailedError, match="ZeroDivisionError"):
        env.execute()
