"""Jobs in flow (``millrace.epoch.execution: flow``) on Spark: the same results whatever dies, and heard at once."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import socket
import threading
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.spark.conftest import MakeEnvironment, Watch
from tests.spark.jobs.test_savepoints import COUNT, KEYS, numbering, printed, wanted
from tests.spark.test_execution import endless, wait_for
from tests.spark.test_residents import all_counts, counted, dying_once

from millrace.common import Duration, Encoder, Types, WatermarkStrategy
from millrace.common.functions import MapFunction, RuntimeContext
from millrace.common.jobs import JobStatus
from millrace.common.watermark_strategy import TimestampAssigner
from millrace.connectors.generated_sources import DataGeneratorSource, RateLimiterStrategy
from millrace.datastream import DataStream, StreamExecutionEnvironment
from millrace.datastream.connectors.file_system import FileSink, OutputFileConfig, RollingPolicy
from millrace.runtime.failure import JobFailedError
from millrace.spark.jobs.client import AHEAD
from millrace.spark.jobs.flow_carrier import AHEAD_OF_TASK
from millrace.spark.jobs.submit import SparkJobClient
from millrace.spark.jobs.tasks import EpochTimeoutError
from millrace.spark.workers.flow_owner import FlowOwner

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FLOW = {"millrace.epoch.execution": "flow"}
SMALL = {**FLOW, "millrace.epoch.max-records": 200}
RESTARTS = {
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.delay": "1 ms",
    "restart-strategy.fixed-delay.attempts": 5,
}


class _Times(TimestampAssigner):
    def __init__(self, step: int) -> None:
        self.step = step

    def extract_timestamp(self, value: int, record_timestamp: int) -> int:
        return value * self.step


def test_owners_are_placed_by_one_small_job_of_spark(
    environment: MakeEnvironment, spark: SparkSession, watch: Watch
) -> None:
    env = environment(2, **SMALL)
    numbering(env)
    done = env.execute("numbers")
    assert printed(watch) == wanted()
    assert len(watch.epochs) >= COUNT // 400
    assert watch.ends == [JobStatus.FINISHED]
    assert len(spark.sparkContext.statusTracker().getJobIdsForGroup(str(done.get_job_id()))) == 1


def test_what_is_collected_shows_while_its_epoch_goes_on(environment: MakeEnvironment, watch: Watch) -> None:
    env = environment(2, **FLOW, **{"millrace.epoch.interval-ms": 600_000})
    with endless(env).key_by(lambda value: value % KEYS).map(lambda value: value).execute_and_collect() as found:
        taken = sorted(value for value, _ in zip(found, range(600)))
    assert all(epoch.records == 0 for epoch in watch.epochs), "none with a record is complete"
    assert len(set(taken)) == 600


def test_a_client_that_takes_nothing_slows_its_job(environment: MakeEnvironment, watch: Watch) -> None:
    numbers = environment(2, **FLOW).from_sequence(0, 100_000_000).map(lambda value: (value, "x" * 100))
    found = numbers.execute_and_collect()
    assert next(found)[1] == "x" * 100
    client = found._close.__self__  # type: ignore[union-attr]
    assert isinstance(client, SparkJobClient)
    parts = client.runner.collected
    wait_for(lambda: not parts.has_room)
    time.sleep(1.0)  # whatever would go on does so
    assert len(parts._parts) <= AHEAD + 2 * 2 * AHEAD_OF_TASK
    found.close()
    assert watch.ends == [JobStatus.CANCELED]


def test_more_subtasks_than_cores(environment: MakeEnvironment) -> None:
    assert sorted(counted(environment(5, **FLOW)).execute_and_collect()) == all_counts()


def test_the_changelog_of_a_short_job_is_that_of_stages(environment: MakeEnvironment) -> None:
    def collected(execution: str) -> list[Any]:
        env = environment(2, **{"millrace.epoch.execution": execution})
        left = env.from_collection(list(range(50))).map(lambda value: (value % 3, value))
        right = env.from_collection(list(range(50, 90))).map(lambda value: (value % 3, value))
        return list(left.union(right).key_by(lambda pair: pair[0]).sum(1).execute_and_collect())

    assert collected("flow") == collected("spark-jobs")


SLOW_COUNT = 2_000


def slowly(value: int) -> int:
    time.sleep(0.002)
    return value


def of_a_slow_function(env: StreamExecutionEnvironment) -> None:
    """All that the source has is in front of the function with the first epoch, and takes it some seconds."""
    numbers = env.from_sequence(1, SLOW_COUNT).uid("numbers").key_by(lambda value: value % KEYS)
    numbers.map(slowly, Types.LONG()).uid("slowly").print()


def test_a_slow_function_holds_up_no_checkpoint(environment: MakeEnvironment, watch: Watch, tmp_path: Path) -> None:
    settings = {**FLOW, "execution.checkpointing.interval": "200 ms"}
    env = environment(2, **settings)
    of_a_slow_function(env)
    client = env.execute_async("slow")
    wait_for(lambda: len(watch.epochs) >= 4)
    path = client.stop_with_savepoint(False, str(tmp_path)).result()
    client.get_job_execution_result().result()
    assert 0 < len(watch.lines) < SLOW_COUNT, "it had not done all of it"
    env = environment(2, **settings, **{"execution.state-recovery.path": path})
    of_a_slow_function(env)
    env.execute()
    assert sorted(map(int, printed(watch))) == list(range(1, SLOW_COUNT + 1))


class Where(MapFunction):
    """Subtask and thread; the first subtask waits for a service."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.subtask = runtime_context.get_index_of_this_subtask()

    def map(self, value: int) -> str:
        if self.subtask == 0:
            time.sleep(0.05)
        return f"{self.subtask} {threading.current_thread().name}"


def test_a_task_that_waits_gets_a_thread_of_its_own(environment: MakeEnvironment, watch: Watch) -> None:
    """Subtasks 0 and 2 have the same owner."""
    found = endless(environment(4, **FLOW)).rebalance().map(Where(), Types.STRING()).execute_and_collect()
    wanted = {"0 millrace-task 1.0", "2 millrace-loop"}
    for place in found:
        wanted.discard(place)
        if not wanted:
            break
    found.close()
    assert watch.ends == [JobStatus.CANCELED]


def test_draining_waits_for_a_slow_function(environment: MakeEnvironment, watch: Watch, tmp_path: Path) -> None:
    env = environment(2, **FLOW, **{"execution.checkpointing.interval": "200 ms"})
    of_a_slow_function(env)
    client = env.execute_async("drains")
    wait_for(lambda: len(watch.epochs) >= 2)
    client.stop_with_savepoint(True, str(tmp_path)).result()
    client.get_job_execution_result().result()
    done = sorted(map(int, printed(watch)))
    assert len(done) == len({*done}) == client.get_accumulators().result()["millrace.records-read"]


def test_a_job_goes_on_when_its_process_is_killed(environment: MakeEnvironment, watch: Watch, tmp_path: Path) -> None:
    job = counted(environment(2, **SMALL, **RESTARTS), dying_once(tmp_path / "marker"))
    assert sorted(job.execute_and_collect()) == all_counts()
    (restart,) = watch.restarts
    assert "lives in has ended: it was killed" in restart.error


def test_a_job_goes_on_when_a_connection_between_its_processes_is_cut(
    environment: MakeEnvironment, watch: Watch, tmp_path: Path
) -> None:
    marker = tmp_path / "marker"

    def cut_once(value: int) -> int:
        if value == COUNT // 3 and not marker.exists():
            marker.touch()
            cut = [link for each in gc.get_objects() if isinstance(each, FlowOwner) for link, _ in each._out.values()]
            assert cut
            for link in cut:
                link.shutdown(socket.SHUT_RDWR)
        return value

    assert sorted(counted(environment(2, **SMALL, **RESTARTS), cut_once).execute_and_collect()) == all_counts()
    assert marker.exists()
    (restart,) = watch.restarts
    assert "of the job was cut" in restart.error


def test_a_job_goes_on_when_a_process_of_it_stands_still(
    environment: MakeEnvironment, watch: Watch, tmp_path: Path
) -> None:
    marker = tmp_path / "marker"

    def stop_once(value: int) -> int:
        if value == COUNT // 3 and not marker.exists():
            marker.write_text(str(os.getpid()))
            os.kill(os.getpid(), signal.SIGSTOP)
        return value

    options = {**SMALL, **RESTARTS, "millrace.epoch.timeout": "3 s", "task.cancellation.timeout": "200 ms"}
    try:
        assert sorted(counted(environment(2, **options), stop_once).execute_and_collect()) == all_counts()
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(marker.read_text()), signal.SIGCONT)
    (restart,) = watch.restarts
    assert "stands still" in restart.error


def test_nothing_is_lost_or_doubled_in_files_when_processes_are_killed(
    environment: MakeEnvironment, tmp_path: Path
) -> None:
    def die_twice(value: int) -> int:
        for number in (1, 2):
            marker = tmp_path / f"marker{number}"
            if value == number * COUNT // 3 and not marker.exists():
                marker.touch()
                os.kill(os.getpid(), signal.SIGKILL)
        return value

    env = environment(2, **SMALL, **RESTARTS, **{"execution.checkpointing.interval": "20 ms"})
    sink = FileSink.for_row_format(str(tmp_path / "out"), Encoder.simple_string_encoder())
    sink = sink.with_rolling_policy(RollingPolicy.on_checkpoint_rolling_policy())
    config = OutputFileConfig.builder().with_part_prefix("part").build()
    numbers = env.from_sequence(0, COUNT - 1).map(die_twice).rebalance().map(str, Types.STRING())
    numbers.sink_to(sink.with_output_file_config(config).build())
    env.execute("to files")
    files = [path for path in (tmp_path / "out").rglob("part*") if path.is_file()]
    assert Counter(line for path in files for line in path.read_text().split()) == Counter(map(str, range(COUNT)))


def test_a_function_that_fails_is_told_as_ever(environment: MakeEnvironment) -> None:
    env = environment(2, **FLOW, **{"restart-strategy.type": "none"})
    counted(env, lambda value: 1 // (value - 100) or value).print()
    with pytest.raises(JobFailedError, match="ZeroDivisionError"):
        env.execute()


def test_a_task_that_hangs_fails_and_says_where(environment: MakeEnvironment, tmp_path: Path) -> None:
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
        list(counted(environment(2, **FLOW, **options), wait).execute_and_collect())
    assert "<locals>.wait:" in str(raised.value)
    (tmp_path / "go").touch()
    assert sorted(counted(environment(2, **FLOW)).execute_and_collect()) == all_counts()


def test_jobs_that_never_end_run_beside_each_other_and_let_others_run(
    environment: MakeEnvironment, watch: Watch
) -> None:
    clients = []
    for number in range(3):
        env = environment(2, **FLOW, **{"millrace.epoch.interval-ms": 100})
        endless(env).map(lambda value, number=number: f"job {number}").print()
        clients.append(env.execute_async(f"never ends {number}"))
    wait_for(lambda: {line.partition("> ")[2] for line in watch.lines} == {"job 0", "job 1", "job 2"})
    batch = environment(2, batch=True, **FLOW)  # of no effect there
    assert sorted(batch.from_sequence(0, 5).map(lambda value: -value).execute_and_collect()) == list(range(-5, 1))
    for client in clients:
        client.cancel().result()
        assert client.get_job_status().result() is JobStatus.CANCELED


@pytest.mark.parametrize("ways", [("flow", "spark-jobs"), ("spark-jobs", "flow"), ("flow", "flow")])
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


def test_tasks_that_stay_are_in_flow(environment: MakeEnvironment, spark: SparkSession, watch: Watch) -> None:
    env = environment(4, **{"millrace.epoch.execution": "resident"})  # more than there are cores
    numbering(env)
    done = env.execute("numbers")
    assert printed(watch) == wanted()
    assert len(spark.sparkContext.statusTracker().getJobIdsForGroup(str(done.get_job_id()))) == 1


def test_a_loop_runs_as_jobs_of_spark_and_says_so(
    environment: MakeEnvironment, caplog: pytest.LogCaptureFixture
) -> None:
    def looped(env: StreamExecutionEnvironment) -> list[int]:
        loop = env.from_collection([1, 2, 3]).iterate()
        stepped = loop.map(lambda value: value + 10)
        loop.close_with(stepped.filter(lambda value: value < 30))
        return sorted(stepped.filter(lambda value: value >= 30).execute_and_collect())

    assert looped(environment(1, **FLOW)) == [31, 32, 33]
    assert "its epochs are spark-jobs, not flow" in caplog.text
    assert "is a loop" in caplog.text


def test_figures_show_and_sources_are_aligned_while_an_epoch_goes_on(
    environment: MakeEnvironment, watch: Watch
) -> None:
    drift = 2_000
    aligned = WatermarkStrategy.for_monotonous_timestamps().with_watermark_alignment("group", Duration.of_millis(drift))
    env = environment(2, **FLOW, **{"millrace.epoch.interval-ms": 600_000})

    def source(name: str, step: int) -> DataStream:
        """Elements that are so many ms of event time apart, 500 a second."""
        numbers = DataGeneratorSource(lambda index: index, None, RateLimiterStrategy.per_second(500))
        strategy = aligned.with_timestamp_assigner(_Times(step))
        return env.from_source(numbers, strategy, name).set_parallelism(1)

    source("fast", 100).union(source("slow", 1)).key_by(lambda n: n % 7).map(lambda n: n).name("behind").print()
    client = env.execute_async()
    assert isinstance(client, SparkJobClient)
    coordinator = client.runner.coordinator

    def watermarks() -> dict[str, int]:
        found = [e for e in coordinator.report() if e.path == ("currentOutputWatermark",) and e.operator]
        return {str(entry.operator): entry.value.value for entry in found if "Source" in str(entry.operator)}

    try:
        wait_for(lambda: watermarks()["Source: slow"] > 3_000)
        found = watermarks()
        figures = coordinator.figures.all()
        assert all(epoch.records == 0 for epoch in watch.epochs), "none with a record is complete"
        behind = next(vertex for vertex in client.runner.job.vertices if "behind" in vertex.name)
        assert sum(figures[behind.id, index].records_in for index in (0, 1)) > 500
        assert any(figures[behind.id, index].records_in_rate > 0 for index in (0, 1))
        # It was at the limit of some seconds ago, and what it reads in a second or two may lie beyond.
        assert found["Source: fast"] < found["Source: slow"] + drift + 100 * 500 * 3
    finally:
        client.cancel().result()
