"""The beginning of a job: its sources look for their splits before anything runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from millrace.checkpoint.directory import JobHome
from millrace.common.watermark_strategy import WatermarkStrategy
from millrace.connectors.generated_sources import NumberSequenceSource
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.job_settings import JobSettings
from millrace.runtime.coordination.coordinator import Coordinator
from millrace.runtime.coordination.restart import FixedDelay, NoRestart, RestartPolicy
from millrace.runtime.failure import JobFailedError
from millrace.spark.jobs.submit import with_splits


class Away(NumberSequenceSource):
    """Its server is away for a while."""

    tries = 0
    fails = 3

    def create_enumerator(self, context: Any, checkpoint: Any = None) -> Any:
        Away.tries += 1
        if Away.tries <= Away.fails:
            raise ConnectionError("nobody is there")
        return super().create_enumerator(context, checkpoint)


def begin(folder: Path, restart: RestartPolicy, lost: bool) -> Coordinator:
    Away.tries = 0
    env = StreamExecutionEnvironment()
    env.from_source(Away(1, 2), WatermarkStrategy.no_watermarks(), "numbers").print()
    job = env.job_graph()
    settings = JobSettings(None, {}, 1, bounded=True, batch=False, epoch_interval_ms=100, restart=restart)
    coordinator, restore = with_splits(job, settings, JobHome(job.job_id, None, None, str(folder)), 0, lost)
    assert restore is None
    return coordinator


def test_a_driver_that_follows_one_that_died_waits_for_a_server(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    coordinator = begin(tmp_path, FixedDelay(3, 1), lost=True)
    assert Away.tries == 4
    assert not coordinator.finished
    assert [record.getMessage().partition(":")[0] for record in caplog.records] == [
        "job 'Flink Streaming Job' cannot go on yet, and tries again in 1 ms"
    ] * 3


@pytest.mark.parametrize(
    ("restart", "lost", "tries"), [(FixedDelay(2, 1), True, 3), (NoRestart(), True, 1), (FixedDelay(9, 1), False, 1)]
)
def test_else_it_is_an_error(tmp_path: Path, restart: RestartPolicy, lost: bool, tries: int) -> None:
    """Of a submission at once, of a job that goes on when the restart strategy has no more tries."""
    with pytest.raises(JobFailedError, match="to find its splits") as raised:
        begin(tmp_path, restart, lost)
    assert "nobody is there" in str(raised.value)
    assert Away.tries == tries
