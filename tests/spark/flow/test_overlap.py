"""The next epoch of a job in flow runs while the last one is recorded and committed (ADR 28)."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from tests.spark.conftest import MakeEnvironment, Watch
from tests.spark.test_execution import endless, wait_for

from millrace.common import WatermarkStrategy
from millrace.common.jobs import JobStatus
from millrace.connectors.generated_sources import DataGeneratorSource, RateLimiterStrategy
from millrace.runtime.failure import JobFailedError
from millrace.testing import LedgerSink, read_ledger

FLOW = {"millrace.epoch.execution": "flow"}
RESTARTS = {
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.delay": "1 ms",
    "restart-strategy.fixed-delay.attempts": 5,
}
COUNT = 400


class SlowCommit:
    """Lets the first commit take until the job has printed more lines; workers get one of their own.

    :param watch: of the job; None: in a worker, where nothing is committed.
    """

    def __init__(self, watch: Watch | None = None) -> None:
        self._watch = watch
        self._commits = 0
        self.went_on = threading.Event()
        """set when lines were printed during the first commit"""

    def __reduce__(self) -> tuple[type[SlowCommit], tuple[()]]:
        return SlowCommit, ()

    def __call__(self, name: str) -> None:
        self._commits += 1
        if self._commits == 1:
            assert self._watch is not None
            lines = self._watch.lines
            known = len(lines)
            wait_for(lambda: len(lines) > known + 20)
            self.went_on.set()


def test_records_go_on_while_a_commit_takes_long(environment: MakeEnvironment, watch: Watch, tmp_path: Path) -> None:
    slow = SlowCommit(watch)
    env = environment(2, **FLOW, **{"execution.checkpointing.dir": tmp_path / "checkpoints"})
    env.enable_checkpointing(50)
    numbers = endless(env)
    numbers.map(str).print()
    numbers.sink_to(LedgerSink(tmp_path / "ledger", slow)).name("ledger")
    client = env.execute_async("slow commits")
    assert slow.went_on.wait(120)
    path = client.stop_with_savepoint(False, str(tmp_path / "savepoints")).result()
    client.get_job_execution_result().result()
    assert Path(path).is_dir()
    assert watch.ends == [JobStatus.FINISHED]
    assert not watch.restarts
    assert [each.epoch for each in watch.epochs] == sorted({each.epoch for each in watch.epochs})
    read_ledger(tmp_path / "ledger").check(int(line.partition("> ")[2]) for line in watch.lines)


def test_a_commit_that_fails_costs_the_epoch_beside_it(
    environment: MakeEnvironment, watch: Watch, tmp_path: Path
) -> None:
    commits: list[str] = []

    def unlucky(name: str) -> None:
        commits.append(name)
        if len(commits) in (1, 4, 5):
            raise OSError("the store is gone")

    env = environment(2, **FLOW, **RESTARTS, **{
        "execution.checkpointing.dir": tmp_path / "checkpoints",
        "millrace.epoch.max-records": 40,
    })  # fmt: skip
    env.enable_checkpointing(20)
    source = DataGeneratorSource(lambda index: index, COUNT, RateLimiterStrategy.per_second(400))
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    numbers.key_by(lambda number: number % 7).map(lambda number: number).sink_to(
        LedgerSink(tmp_path / "ledger", unlucky)
    )
    env.execute("commits that fail")
    assert watch.ends == [JobStatus.FINISHED]
    assert len(watch.restarts) == 3
    assert all("the store is gone" in each.error for each in watch.restarts)
    ledger = read_ledger(tmp_path / "ledger")
    ledger.check(range(COUNT))
    assert not ledger.prepared


def test_a_job_without_restarts_fails_with_a_commit(environment: MakeEnvironment, watch: Watch, tmp_path: Path) -> None:
    def refused(name: str) -> None:
        raise OSError("the store is gone")

    env = environment(2, **FLOW, **{"restart-strategy.type": "none"})
    env.enable_checkpointing(20)
    endless(env).sink_to(LedgerSink(tmp_path / "ledger", refused)).name("ledger")
    with pytest.raises(JobFailedError, match="the store is gone"):
        env.execute("commits that are refused")
    assert watch.ends == [JobStatus.FAILED]
    assert not read_ledger(tmp_path / "ledger").prepared
