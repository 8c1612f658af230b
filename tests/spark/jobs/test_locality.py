"""A cluster whose settings let tasks leave their state is told of, once a job."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.spark.conftest import MakeEnvironment

from millrace.metrics.report import CounterSnapshot
from millrace.spark.jobs.carriers import warning_about

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOCALITY = "spark.shuffle.reduceLocality.enabled"


@pytest.mark.parametrize(
    ("settings", "exchanges", "remedies"),
    [
        ({}, True, [f"{LOCALITY}=false"]),
        ({LOCALITY: "true"}, True, [f"{LOCALITY}=false"]),
        ({LOCALITY: "false"}, True, []),
        ({}, False, []),
        ({LOCALITY: "false", "spark.locality.wait": "3s"}, True, []),
        ({"spark.locality.wait": "0"}, False, ["spark.locality.wait=3s"]),
        ({"spark.locality.wait": "0ms"}, True, [f"{LOCALITY}=false", "spark.locality.wait=3s"]),
        ({"spark.locality.wait": "10s"}, False, []),
        ({"spark.locality.wait": "0s", "spark.locality.wait.process": "1s"}, False, []),
        ({"spark.locality.wait": "3s", "spark.locality.wait.process": "0s"}, False, ["spark.locality.wait.process=3s"]),
    ],
)
def test_what_is_amiss_is_named_with_its_remedy(settings: dict[str, str], exchanges: bool, remedies: list[str]) -> None:
    text = warning_about(settings.get, exchanges)
    if not remedies:
        assert text is None
    else:
        assert text is not None
        assert f"begin the Spark application with {' and '.join(remedies)}, or" in text


def run(environment: MakeEnvironment, folder: Path) -> int:
    """How often a task has moved."""
    env = environment(2, **{
        "millrace.state.directory": folder, "millrace.epoch.max-records": 10, "millrace.epoch.execution": "spark-jobs"
    })  # fmt: skip
    numbers = env.from_sequence(0, 99).set_parallelism(1)
    numbers.key_by(lambda number: number % 5).map(lambda number: number).print()
    moves = env.execute("mine").get_metrics().job("numTaskMoves")
    assert isinstance(moves, CounterSnapshot)
    return moves.count


def test_a_cluster_with_sparks_defaults_is_warned_of_once_a_job(
    spark: SparkSession,
    environment: MakeEnvironment,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    tmp_path: Path,
) -> None:
    """The session of the tests passes for one on a cluster; tasks stay where they are, since there is one executor."""
    defaults = spark.sparkContext.getConf().set(LOCALITY, "true")
    monkeypatch.setattr(type(spark.sparkContext), "getConf", lambda context: defaults)
    monkeypatch.setattr("millrace.spark.sessions.session.one_process", lambda master: False)
    with caplog.at_level(logging.WARNING, logger="millrace"):
        assert run(environment, tmp_path) == 0
    (warning,) = [record.getMessage() for record in caplog.records if "reduceLocality" in record.getMessage()]
    assert warning.startswith(f"job 'mine': {LOCALITY} is true")


def test_one_machine_and_the_sessions_that_we_make_are_not(
    environment: MakeEnvironment,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    tmp_path: Path,
) -> None:
    with caplog.at_level(logging.WARNING, logger="millrace"):
        assert run(environment, tmp_path / "local") == 0
        monkeypatch.setattr("millrace.spark.sessions.session.one_process", lambda master: False)
        assert run(environment, tmp_path / "cluster") == 0
    assert not [record for record in caplog.records if "reduceLocality" in record.getMessage()]
