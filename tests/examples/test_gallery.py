"""Every program of examples/gallery gives what is expected; what that is was worked out by hand."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.examples.conftest import EXAMPLES
from tests.local_jobs import run_jobs_locally

from millrace.datastream import StreamExecutionEnvironment
from millrace.table import EnvironmentSettings
from millrace.testing import run_locally

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STREAMS = {
    "card_fraud": [
        "card A: 501.00 at 189.999 s, 59.999 s after a small one",
        "card A: 510.00 at 30 s, 30 s after a small one",
    ],
    "model_broadcast": ["ann: 1.00 by version 2", "ann: 3.25 by version 2", "bob: 1.00 by version 2"],
    "reconcile": [
        "o1: ordered and paid within 4 s",
        "o2: no payment within 10 s",
        "o3: no order within 10 s",
        "o3: no payment within 10 s",
        "o4: no order within 10 s",
    ],
    "top_speed": [
        "car 1: 90 km/h at 3 s (told at 3 s)",
        "car 1: 90 km/h at 3 s (told at 9 s)",
        "car 2: 80 km/h at 0 s (told at 3 s)",
    ],
    "traffic": ["MR 12: 71 instead of 50 at the bridge", "square has no limit"],
}
LOG_ANALYTICS = [
    "10:00: 1 of 3 failed",
    "10:01: 2 of 3 failed",
    "/home: up to 15 ms",
    "/cart: up to 340 ms",
    "/order: up to 2100 ms",
]
FEATURES = [
    "ann 5: mean 5, 1 payments, 0% large",
    "ann 10: mean 10, 1 payments, 0% large",
    "ann 30: mean 20, 2 payments, 0% large",
    "ann 200: mean 115, 2 payments, 50% large",
    "bob 99: mean 99, 1 payments, 100% large",
    "bob 1: mean 50, 2 payments, 50% large",
]


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES / "gallery"))


def test_every_program_has_a_stated_result() -> None:
    names = {path.stem for path in (EXAMPLES / "gallery").glob("*.py")} - {"show"}
    assert names == STREAMS.keys() | {"features", "inference", "log_analytics"}


@pytest.mark.parametrize("epoch_records", [None, 1])
@pytest.mark.parametrize("name", STREAMS)
def test_streams(name: str, epoch_records: int | None) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    run = run_locally(import_module(name).build(env), epoch_records=epoch_records)
    found = sorted(run.collected)
    if name == "model_broadcast" and epoch_records:  # in small epochs events come between the models
        assert [line.split(" by ")[0].split(":")[0] for line in found] == ["ann", "ann", "bob"]
        return
    assert found == STREAMS[name]


def test_log_analytics(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    run_jobs_locally(monkeypatch)
    program = import_module("log_analytics")
    (tmp_path / "access.log").write_text(program.LOG)
    assert program.main(EnvironmentSettings.in_streaming_mode(), tmp_path) == LOG_ANALYTICS


def test_inference(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sklearn")
    run_jobs_locally(monkeypatch)
    program = import_module("inference")
    predicted = program.MODEL.predict(program.IRIS.data)
    right = [sum(predicted[program.IRIS.target == kind] == kind) for kind in range(3)]
    assert program.main(EnvironmentSettings.in_streaming_mode()) == list(zip(program.NAMES, right))


def test_features_on_spark(spark: SparkSession) -> None:
    assert import_module("features").main(EnvironmentSettings.in_batch_mode()) == FEATURES


@pytest.mark.slow
@pytest.mark.parametrize("name", [*STREAMS, "features", "inference", "log_analytics"])
def test_the_command_on_spark(name: str) -> None:
    command = [sys.executable, str(EXAMPLES / "gallery" / f"{name}.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    if name == "inference":
        assert [line.split(":")[0] for line in lines] == ["setosa", "versicolor", "virginica"]
        return
    assert sorted(lines) == sorted({**STREAMS, "features": FEATURES, "log_analytics": LOG_ANALYTICS}[name])
