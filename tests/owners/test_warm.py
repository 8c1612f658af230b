"""Forks find what they need imported: what is missing here, each owner would import for each job."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.owners.driving import Executor, OwnedJob, eventually, run_to_end

from millrace.datastream import StreamExecutionEnvironment
from millrace.spark.workers.processes import learn

PROGRAM = """
import pickle, sys
from millrace.spark.workers.processes import warm_up
warm_up()
known = set(sys.modules)
from millrace.spark.workers.running_tasks import Running
running = Running()
running.take("job", open(sys.argv[1], "rb").read())
running._jobs["job"].load()
print(*sorted(name for name in set(sys.modules) - known if name.startswith("millrace")))
"""


def test_a_job_is_loaded_without_an_import(tmp_path: Path) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    counts = env.from_collection(["a", "b"]).map(lambda word: (word, 1)).key_by(lambda pair: pair[0]).sum(1)
    job = OwnedJob(counts, tmp_path / "state")
    (tmp_path / "job").write_bytes(job.payload)
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "job")]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    assert found.stdout.split() == []


@pytest.fixture
def executor(monkeypatch: pytest.MonkeyPatch) -> Iterator[Executor]:
    found = Executor(monkeypatch)
    yield found
    found.end()


SELDOM = "millrace.formats.tables.csv_format"


def test_what_one_job_has_imported_the_next_one_finds(executor: Executor, tmp_path: Path) -> None:
    def known_then_imported(_: Any) -> bool:
        import importlib
        import sys

        known = SELDOM in sys.modules
        importlib.import_module(SELDOM)
        return known

    def next_job(number: int) -> bool:
        env = StreamExecutionEnvironment.get_execution_environment()
        job = OwnedJob(env.from_collection([1]).map(known_then_imported), tmp_path / str(number), owners=1)
        (known,) = run_to_end(job)
        job.forget()
        return bool(known)

    assert next_job(0) is False
    numbers = iter(range(1, 100))
    eventually(lambda: next_job(next(numbers)))


def test_only_modules_of_millrace_are_learnt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "strange.py").write_text("raise AssertionError('it was imported')")
    monkeypatch.syspath_prepend(str(tmp_path))
    learn(["strange", "millrace.not_there"])
    assert "strange" not in sys.modules
