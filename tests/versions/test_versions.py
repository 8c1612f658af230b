"""What Millrace relies on in PySpark's daemon and worker holds for every minor version that it allows."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyspark
import pytest
from pyspark import daemon, worker

from millrace.spark.workers import pipe

ROOT = Path(__file__).parents[2]
CACHE = ROOT / ".spark-versions"
"""PySpark of other versions, each with all that it brings; everything else is that of this environment."""
INSTALLED = ".".join(pyspark.__version__.split(".")[:2])


def contract(paths: list[Path]) -> dict[str, Any]:
    """What ``contract.py`` sees with these paths before all others."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, [*paths, ROOT / "src", ROOT]))}
    environment.pop("SPARK_HOME", None)
    command = [sys.executable, "-m", "tests.versions.contract"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr
    seen: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return seen


def installed(minor: str) -> Path:
    """The newest PySpark of a minor version, from PyPI the first time."""
    folder = CACHE / minor
    if not (folder / "pyspark" / "version.py").exists():
        command = [sys.executable, "-m", "pip", "install", "-q", "--target", str(folder), f"pyspark=={minor}.*"]
        subprocess.run(command, check=True)
    return folder


def check(seen: dict[str, Any], minor: str) -> None:
    assert seen["version"].startswith(f"{minor}.")
    assert seen["right"] == [True, True, True], "alone, beside other functions, and with a worker killed"
    assert seen["handed_over"] == [True], "owners work on the connections of Spark's workers"
    assert seen["owners"] == [2, 2, 2], "also while a worker is killed: its pid is never that of an owner"
    assert seen["workers_are_used_again"], "a worker whose connection was in use elsewhere has found its place in it"
    assert seen["others_are_right"]
    assert all(seen["others_are_right"])
    assert not seen["others_meet_owners"]
    assert seen["new_workers_after_the_kill"]


@pytest.mark.spark
def test_the_installed_version_keeps_the_contract() -> None:
    check(contract([]), INSTALLED)


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("minor", [minor for minor in pipe.KNOWN_WORKERS if minor != INSTALLED])
def test_other_versions_keep_the_contract(minor: str) -> None:
    check(contract([installed(minor)]), minor)


def test_the_known_versions_begin_with_the_oldest_one_allowed() -> None:
    (allowed,) = re.findall(r'"pyspark>=([\d.]+),<(\d+)"', (ROOT / "pyproject.toml").read_text())
    assert pipe.KNOWN_WORKERS[0] == allowed[0]
    assert INSTALLED in pipe.KNOWN_WORKERS
    assert all(int(minor.split(".")[0]) < int(allowed[1]) for minor in pipe.KNOWN_WORKERS)


def test_a_version_that_nobody_knows_uses_the_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pyspark, "__version__", "4.99.0")
    monkeypatch.setattr(worker, "main", worker.main)
    before = worker.main
    pipe.watch_workers()
    assert worker.main is before
    assert pipe.worker_files() is None


@pytest.mark.parametrize("version", pipe.KNOWN_WORKERS)
def test_of_a_known_version_workers_note_their_files(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[Any] = []

    def main(infile: Any, outfile: Any) -> None:
        called.append((infile, outfile, pipe.worker_files()))

    monkeypatch.setattr(pyspark, "__version__", f"{version}.7")
    monkeypatch.setattr(worker, "main", main)
    monkeypatch.setattr(daemon, "worker_main", main, raising=False)  # as in 4.1
    monkeypatch.setattr(pipe, "_files", None)
    pipe.watch_workers()
    worker.main("in", "out")
    daemon.worker_main("from", "to")
    assert called == [("in", "out", ("in", "out")), ("from", "to", ("from", "to"))]


def test_the_daemon_of_another_worker_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """4.1 has one daemon for each kind of worker."""
    planner = object()
    monkeypatch.setattr(worker, "main", worker.main)
    monkeypatch.setattr(daemon, "worker_main", planner, raising=False)
    pipe.watch_workers()
    assert daemon.worker_main is planner
