"""What the Spark tests share: environments on the one session, and a listener that remembers what a job did."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from millrace.common import Configuration
from millrace.common.jobs import JobStatus
from millrace.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from millrace.runtime.coordination.coordinator import EpochResult
from millrace.spark.jobs.listeners import (
    EpochDone,
    JobStarted,
    PlainListener,
    Restarting,
    Restored,
    set_listener,
    set_listener_factory,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MakeEnvironment = Callable[..., StreamExecutionEnvironment]
TIGHT_BYTES = 2 * 1024 * 1024


class Watch(PlainListener):
    """A listener that keeps everything."""

    def __init__(self) -> None:
        self.epochs: list[EpochResult] = []
        self.lines: list[str] = []
        self.ends: list[JobStatus] = []
        self.restarts: list[Restarting] = []
        self.begins: list[Restored] = []

    def started(self, job: JobStarted) -> None:
        """Of no interest here."""

    def epoch(self, epoch: EpochDone) -> None:
        self.epochs.append(epoch.result)

    def said(self, who: str, line: str) -> None: ...

    def printed(self, lines: tuple[str, ...]) -> None:
        self.lines += lines

    def restarting(self, restarting: Restarting) -> None:
        self.restarts.append(restarting)

    def restored(self, restored: Restored) -> None:
        self.begins.append(restored)

    def ended(self, status: JobStatus) -> None:
        self.ends.append(status)

    def wait_for_lines(self, least: int = 1) -> None:
        """Until the job has printed this many lines."""
        until = time.monotonic() + 60
        while len(self.lines) < least:
            assert time.monotonic() < until, f"{len(self.lines)} lines were printed, not {least}"
            time.sleep(0.001)

    def taken_in(self) -> Counter[int]:
        """Operator -> elements that it took in, over all epochs and subtasks."""
        counts: Counter[int] = Counter()
        for result in self.epochs:
            for report in result.reports:
                counts[report.operator] += report.records_in
        return counts


@pytest.fixture
def watch() -> Iterator[Watch]:
    listener = Watch()
    set_listener(listener)
    yield listener
    set_listener_factory(PlainListener)


@pytest.fixture
def environment(spark: SparkSession) -> MakeEnvironment:
    """``environment(parallelism=2, batch=False, **{option: value})``."""

    def make(parallelism: int = 2, batch: bool = False, **options: object) -> StreamExecutionEnvironment:
        configuration = Configuration()
        for key, value in options.items():
            configuration.set_string(key, str(value))
        env = StreamExecutionEnvironment.get_execution_environment(configuration, spark)
        mode = RuntimeExecutionMode.BATCH if batch else RuntimeExecutionMode.STREAMING
        return env.set_parallelism(parallelism).set_runtime_mode(mode)

    return make


@pytest.fixture
def tight_results(spark: SparkSession) -> Iterator[None]:
    """Spark refuses results of more than 2 MB; it asks its configuration for each job."""
    configuration: Any = spark.sparkContext._jsc.sc().conf()  # type: ignore[union-attr]
    before = configuration.get("spark.driver.maxResultSize", "1g")
    configuration.set("spark.driver.maxResultSize", str(TIGHT_BYTES))
    try:
        with pytest.raises(Exception, match="maxResultSize"):
            spark.range(200_000).selectExpr("uuid()").collect()
        yield
    finally:
        configuration.set("spark.driver.maxResultSize", before)
