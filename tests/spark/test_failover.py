"""A batch job whose task fails: what runs again, and that sinks show everything once."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


def run(directory: Path, strategy: str, failures: int) -> Any:
    command = [sys.executable, "-m", "tests.spark.failover_job", str(directory), strategy, str(failures)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def runs(directory: Path, kind: str) -> list[int]:
    lines = (directory / "marks").read_text().splitlines()
    return sorted(lines.count(f"{kind} {subtask}") for subtask in (0, 1))


def written(directory: Path) -> list[int]:
    files = [path for path in (directory / "out").rglob("part-*") if not path.name.startswith((".", "_"))]
    return sorted(int(line) for path in files for line in path.read_text().splitlines())


@pytest.mark.parametrize(("strategy", "reads"), [("region", [1, 1]), ("full", [3, 3])])
def test_a_region_keeps_what_earlier_stages_did(strategy: str, reads: list[int], tmp_path: Path) -> None:
    assert run(tmp_path, strategy, failures=2) == list(range(1_000))
    assert written(tmp_path) == list(range(1_000))
    assert runs(tmp_path, "read") == reads
    assert max(runs(tmp_path, "process")) == 3
    assert min(runs(tmp_path, "process")) == (1 if strategy == "region" else 3)


def test_the_restart_strategy_ends_it_with_the_users_error(tmp_path: Path) -> None:
    error = run(tmp_path, "region", failures=100)
    assert "ValueError: not in run 3" in error
    assert "failover_job.py:" in error
    assert max(runs(tmp_path, "process")) == 3
    assert runs(tmp_path, "read") == [1, 1]
    assert not (tmp_path / "out").exists() or not written(tmp_path)
