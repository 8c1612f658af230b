"""Owners whose cores a lasting job of Spark holds, as on a cluster; here on the session of the tests."""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pytest
from tests.spark.conftest import MakeEnvironment, Watch
from tests.spark.jobs.test_savepoints import numbering, printed, wanted
from tests.spark.test_execution import endless, wait_for
from tests.spark.test_residents import COUNT, all_counts, counted, dying_once

from millrace.common.jobs import JobStatus
from millrace.datastream import StreamExecutionEnvironment
from millrace.spark.jobs import carriers, flow_places
from millrace.spark.jobs.flow_places import HeldPlaces

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RESTARTS = {"restart-strategy.type": "fixed-delay", "restart-strategy.fixed-delay.delay": "1 ms"}
SMALL = {"millrace.epoch.max-records": 200}


@pytest.fixture
def ports() -> list[int]:
    return [0]


@pytest.fixture(autouse=True)
def held(monkeypatch: pytest.MonkeyPatch, ports: list[int]) -> None:
    """As on a cluster: the session has two cores, one of which may be held."""
    monkeypatch.setattr(carriers, "LocalPlaces", lambda *given: HeldPlaces(*given, ports, 10.0))
    monkeypatch.setattr(flow_places, "SLOT_SECONDS", 5.0)


@contextmanager
def cores_in_use(spark: SparkSession, folder: Path, cores: int = 2) -> Iterator[None]:
    """Tasks of another job are on the cores meanwhile."""
    go, begun = folder / "go", folder / "begun"
    begun.mkdir()

    def hold(values: Iterator[int]) -> Iterator[int]:
        for value in values:
            (begun / str(value)).touch()
            while not go.exists():
                time.sleep(0.02)
            yield value

    other = threading.Thread(
        target=lambda: spark.sparkContext.parallelize(range(cores), cores).mapPartitions(hold).count()
    )
    other.start()
    wait_for(lambda: len(list(begun.iterdir())) == cores)
    try:
        yield
    finally:
        go.touch()
        other.join()


def flow_lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if "millrace.epoch.execution" in record.getMessage()]


def test_one_job_of_spark_holds_a_core(environment: MakeEnvironment, spark: SparkSession, watch: Watch) -> None:
    env = environment(2, **SMALL)
    numbering(env)
    done = env.execute("numbers")
    assert printed(watch) == wanted()
    assert len(watch.epochs) >= COUNT // 400
    assert watch.ends == [JobStatus.FINISHED]
    (job,) = spark.sparkContext.statusTracker().getJobIdsForGroup(str(done.get_job_id()))
    wait_for(lambda: spark.sparkContext.statusTracker().getJobInfo(job).status == "SUCCEEDED")  # type: ignore[union-attr]


def test_a_job_goes_on_when_its_process_is_killed(environment: MakeEnvironment, watch: Watch, tmp_path: Path) -> None:
    job = counted(environment(2, **SMALL, **RESTARTS), dying_once(tmp_path / "marker"))
    assert sorted(job.execute_and_collect()) == all_counts()
    assert watch.restarts


def test_the_task_that_holds_the_core_is_killed(environment: MakeEnvironment, watch: Watch, tmp_path: Path) -> None:
    """Its owners are alive, and another task has to hold a core for them. A restart is only reported where an epoch was
    running."""
    env = environment(2, **RESTARTS, **{"millrace.epoch.interval-ms": 50})
    endless(env).map(lambda value: os.getpid()).print()
    with running(env, "never ends"):
        wait_for(lambda: bool(watch.lines))
        owner = int(watch.lines[-1].split()[-1])
        workers = _workers_beside(owner)
        assert workers
        for worker in workers:
            worker.kill()
        wait_for(lambda: any(each not in workers for each in _workers_beside(owner)))
        lines = len(watch.lines)
        wait_for(lambda: len(watch.lines) > lines)


def _workers_beside(owner: int) -> list[psutil.Process]:
    """The Python workers of the Spark in whose keeper an owner lives."""
    keeper = psutil.Process(owner).parent()
    assert keeper is not None
    # The keeper is a fork of the daemon, or a command that names it.
    last = keeper.cmdline()[-1]
    daemon = psutil.Process(int(last)) if last.isdecimal() else keeper.parent()
    assert daemon is not None
    return [child for child in daemon.children() if child.pid != keeper.pid]


@contextmanager
def running(env: StreamExecutionEnvironment, name: str) -> Iterator[None]:
    """The program of an environment runs meanwhile, and is cancelled in the end."""
    client = env.execute_async(name)
    try:
        yield
    finally:
        client.cancel().result(60)


def test_without_free_cores_epochs_are_jobs_of_spark(
    environment: MakeEnvironment, spark: SparkSession, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    found: list[Any] = []
    with caplog.at_level(logging.WARNING, logger="millrace"):
        job = threading.Thread(
            target=lambda: found.extend(counted(environment(2, **SMALL)).execute_and_collect()), daemon=True
        )
        with cores_in_use(spark, tmp_path):
            job.start()
            wait_for(lambda: bool(flow_lines(caplog)))
        job.join(120)
    assert sorted(found) == all_counts()
    (line,) = flow_lines(caplog)
    assert "its epochs are spark-jobs, not flow (millrace.epoch.execution): 1 free cores of Spark were wanted" in line
    assert line.endswith("and not there within 5 s: it has 2")


def test_the_line_names_the_jobs_that_hold_the_cores(
    environment: MakeEnvironment, watch: Watch, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, logger="millrace"), ExitStack() as jobs:
        for name in ("first", "second", "third"):
            env = environment(2)
            endless(env).map(lambda value, name=name: name).print()
            jobs.enter_context(running(env, name))
            wait_for(lambda name=name: any(name in line for line in (*watch.lines, *flow_lines(caplog))))
    (line,) = flow_lines(caplog)
    assert line.startswith("job 'third': ")
    assert "it has 2, of which job 'first' holds 1 and job 'second' holds 1" in line


def test_a_job_that_waits_for_cores_is_cancelled(
    environment: MakeEnvironment, spark: SparkSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(flow_places, "SLOT_SECONDS", 300.0)
    env = environment(2)
    endless(env).print()
    with cores_in_use(spark, tmp_path):
        client = env.execute_async("waits")
        time.sleep(1.0)
        client.cancel().result(60)
        assert client.get_job_status().result() is JobStatus.CANCELED


class TestTakenPorts:
    @pytest.fixture
    def ports(self) -> Iterator[list[int]]:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            yield [taken.getsockname()[1]]

    def test_a_port_that_is_taken_is_named(self, environment: MakeEnvironment, ports: list[int]) -> None:
        env = environment(2, **{"restart-strategy.type": "none"})
        with pytest.raises(Exception, match=rf"port {ports[0]}: "):
            list(counted(env).execute_and_collect())
