"""A batch job whose task fails: what runs again, and that sinks show everything once."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


JOBS = [("region", 2), ("full", 2), ("region", 100)]
"""strategy, and runs that fail"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of each job is in it, by its number."""
    found: Path = tmp_path_factory.mktemp("failover")
    return found


@pytest.fixture(scope="module")
def said(folder: Path) -> list[Any]:
    """What each job has said: one program runs them all."""
    jobs = [(str(folder / str(number)), *job) for number, job in enumerate(JOBS)]
    for directory, *_ in jobs:
        Path(directory).mkdir()
    command = [sys.executable, "-m", "tests.spark.failover_job", json.dumps(jobs)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()[-len(JOBS) :]]


def runs(directory: Path, kind: str) -> list[int]:
    lines = (directory / "marks").read_text().splitlines()
    return sorted(lines.count(f"{kind} {subtask}") for subtask in (0, 1))


def written(directory: Path) -> list[int]:
    files = [path for path in (directory / "out").rglob("part-*") if not path.name.startswith((".", "_"))]
    return sorted(int(line) for path in files for line in path.read_text().splitlines())


@pytest.mark.parametrize(("job", "reads"), [(("region", 2), [1, 1]), (("full", 2), [3, 3])])
def test_a_region_keeps_what_earlier_stages_did(
    job: tuple[str, int], reads: list[int], folder: Path, said: list[Any]
) -> None:
    number = JOBS.index(job)
    place = folder / str(number)
    assert said[number] == list(range(1_000))
    assert written(place) == list(range(1_000))
    assert runs(place, "read") == reads
    assert max(runs(place, "process")) == 3
    assert min(runs(place, "process")) == (1 if job[0] == "region" else 3)


def test_the_restart_strategy_ends_it_with_the_users_error(folder: Path, said: list[Any]) -> None:
    number = JOBS.index(("region", 100))
    error, place = said[number], folder / str(number)
    assert "ValueError: not in run 3" in error
    assert "failover_job.py:" in error
    assert max(runs(place, "process")) == 3
    assert runs(place, "read") == [1, 1]
    assert not (place / "out").exists() or not written(place)
