"""Collecting more than Spark takes to its driver in one action."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from tests.spark.conftest import MakeEnvironment, Watch

from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.data_stream import DataStream
from millrace.runtime.bases.epoch_protocol import ResultFile

LENGTH, COUNT = 100_000, 150
"""15 MB"""


def records(env: StreamExecutionEnvironment) -> DataStream:
    """Numbers with bytes that can't be compressed: Spark would do that."""
    return env.from_sequence(0, COUNT - 1).map(lambda number: (number, content(number)))


def content(number: int) -> bytes:
    return random.Random(number).randbytes(LENGTH)


@pytest.mark.parametrize("batch", [False, True])
@pytest.mark.usefixtures("tight_results")
def test_much_goes_through_files_that_are_gone_afterwards(
    environment: MakeEnvironment, watch: Watch, tmp_path: Path, batch: bool
) -> None:
    options = {"millrace.epoch.max-records": 60, "millrace.state.directory": str(tmp_path / "state")}
    with records(environment(2, batch, **options)).execute_and_collect() as found:
        taken = sorted(found)
    assert taken == [(number, content(number)) for number in range(COUNT)]
    assert any(isinstance(each, ResultFile) for epoch in watch.epochs for each in epoch.collected)
    assert [path for path in (tmp_path / "state").rglob("*") if path.is_file()] == []


@pytest.mark.usefixtures("tight_results")
def test_each_once_after_a_failure(environment: MakeEnvironment, watch: Watch, tmp_path: Path) -> None:
    """The task fails when it has written a file: nobody hears of that."""
    flag = str(tmp_path / "failed")

    def fail_once(record: tuple[int, bytes]) -> tuple[int, bytes]:
        # Not at a certain record: an epoch of slow elements ends early, and nothing may be written yet in the next one.
        if not os.path.exists(flag) and list((tmp_path / "state").rglob("results/*/*")):
            open(flag, "w").close()
            raise ValueError("once")
        return record

    restarts = {"restart-strategy.type": "fixed-delay", "restart-strategy.fixed-delay.delay": "10 ms"}
    one_epoch = {"millrace.epoch.max-duration-ms": 600_000, "millrace.state.directory": str(tmp_path / "state")}
    stream = records(environment(1, **restarts, **one_epoch))
    with stream.map(lambda record: record).union(stream.map(fail_once)).execute_and_collect() as found:
        taken = sorted(number for number, _ in found)
    assert taken == sorted([*range(COUNT), *range(COUNT)])
    assert len(watch.restarts) == 1
