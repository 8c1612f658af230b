"""Owners tell what their threads do: a look disturbs nothing, and finds the user's function."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import asdict
from json import dumps
from pathlib import Path

import pytest
from tests.owners.driving import Executor, OwnedJob, eventually

from millrace.common import Types
from millrace.datastream import StreamExecutionEnvironment
from millrace.spark.workers.frames import Sampling, Stacks
from millrace.spark.workers.inspection import look, parse


@pytest.fixture
def executor(monkeypatch: pytest.MonkeyPatch) -> Iterator[Executor]:
    found = Executor(monkeypatch)
    yield found
    found.end()


def dawdling_job(folder: Path, end: Path) -> OwnedJob:
    def dawdle(value: int) -> int:
        while not end.exists():
            time.sleep(0.002)
        return value

    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    stream = env.from_sequence(1, 4).key_by(lambda n: n).map(dawdle, Types.LONG())
    return OwnedJob(stream, folder, owners=2)


def test_what_a_task_does_while_it_runs(executor: Executor, tmp_path: Path) -> None:
    end = tmp_path / "end"
    job = dawdling_job(tmp_path / "job", end)
    found: list[int] = []
    driver = threading.Thread(target=lambda: found.extend(job.epoch()))
    driver.start()
    try:
        request = Sampling(0.3, 100, ((1, 0),))
        eventually(lambda: any(each.samples for each in look(job.job.job_id, request)))
        told = look(job.job.job_id, request)
        (owner,) = [each for each in told if each.samples]
        assert {sampled.task for sampled in owner.samples} == {(1, 0)}
        assert any(any(".dawdle:" in frame for frame in sampled.frames) for sampled in owner.samples)
        assert not any(frame.startswith("threading.") for sampled in owner.samples for frame in sampled.frames)
        assert parse(dumps(asdict(owner))) == owner
        # The other stage is not at work.
        assert not [each for each in look(job.job.job_id, Sampling(0.05, 100, ((0, 0),))) if each.samples]
        stacks = [text for each in look(job.job.job_id, Stacks()) for _, text in each.stacks]
        assert any(".dawdle:" in text for text in stacks)
        assert not look("f" * 32, Stacks())
    finally:
        end.touch()
        driver.join(60)
    assert sorted(found) == [1, 2, 3, 4]
    assert not [each for each in look(job.job.job_id, Sampling(0.05, 100, ((1, 0),))) if each.samples]
    job.forget()
    assert not look(job.job.job_id, Stacks())
