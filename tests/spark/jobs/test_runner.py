"""What ``JobRunner`` asks of a cluster before a job begins."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.spark.conftest import MakeEnvironment

from millrace.checkpoint.directory import JobHome
from millrace.common.watermark_strategy import WatermarkStrategy
from millrace.connectors.generated_sources import NumberSequenceSource
from millrace.connectors.hybrid import HybridSource
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.data_stream import DataStream
from millrace.datastream.job_settings import JobSettings
from millrace.runtime.coordination.coordinator import Coordinator
from millrace.runtime.coordination.restart import NoRestart
from millrace.spark.jobs.runner import JobRunner
from millrace.spark.sessions.session import Workplace
from millrace.spark.workers.provision import Provision
from millrace.spark.workers.shipping import WorkerSurroundings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def numbers(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_sequence(1, 2)


def cached(env: StreamExecutionEnvironment) -> DataStream:
    return numbers(env).cache()


def hybrid(env: StreamExecutionEnvironment) -> DataStream:
    source = HybridSource.builder(NumberSequenceSource(1, 2)).add_source(NumberSequenceSource(3, 4)).build()
    return env.from_source(source, WatermarkStrategy.no_watermarks(), "past and present")


EPOCHS = "a job that runs in several epochs keeps its state"
ELEMENTS = r"a job with cache\(\) keeps the elements"
SPLITS = r"operator 'Source: past and present', made at .*test_runner\.py:\d+, finds splits .* and keeps its state"


@pytest.mark.parametrize(
    ("program", "batch", "what"),
    [
        (numbers, False, EPOCHS),
        (numbers, True, None),
        (cached, False, ELEMENTS),
        (cached, True, ELEMENTS),
        (hybrid, False, EPOCHS),
        (hybrid, True, SPLITS),
    ],
)
def test_what_a_cluster_needs_a_directory_for(
    environment: MakeEnvironment, spark: SparkSession, tmp_path: Path, program: object, batch: bool, what: str | None
) -> None:
    stream = program(environment(2, batch))  # type: ignore[operator]
    stream.print()
    job = stream.get_execution_environment().job_graph()
    settings = JobSettings(None, {}, 1, bounded=True, batch=batch, epoch_interval_ms=100, restart=NoRestart())
    home = JobHome(job.job_id, None, None, str(tmp_path))
    runner = JobRunner(job, b"", settings, Coordinator(job, lambda: 0), home)
    runner.coordinator.find_splits()
    cluster, nothing = Workplace(spark, local=False, log_file=None), Provision(WorkerSurroundings(), None)
    if what is None:
        runner.begin(cluster, nothing)
    else:
        with pytest.raises(ValueError, match=rf"^{what} on local.* set millrace\.state\.directory or "):
            runner.begin(cluster, nothing)


def test_a_batch_job_that_finds_splits_late_runs_on_one_machine(environment: MakeEnvironment) -> None:
    total = hybrid(environment(2, batch=True)).key_by(lambda n: 0).reduce(lambda a, b: a + b)
    with total.execute_and_collect() as found:
        assert list(found) == [1 + 2 + 3 + 4]
