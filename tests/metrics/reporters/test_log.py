"""Reports in the log."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path

import pytest
from tests.metrics.reporters.samples import ALL, opened

ROOT = Path(__file__).parents[3]
AT = "h.taskmanager.spark.my job.Map.0"


def test_one_entry_with_all(caplog: pytest.LogCaptureFixture) -> None:
    one, reporter = opened("slf4j.Slf4jReporterFactory")
    with caplog.at_level(logging.INFO, "millrace.metrics"):
        reporter.report(one.select(ALL))
    (message,) = caplog.messages
    lines = message.splitlines()
    assert lines[:2] == ["metrics", "-- Counters " + "-" * 67]
    assert f"{AT}.numRecordsIn: 7" in lines
    assert f"{AT}.perSecond: 2.5/s, 120 in all" in lines
    assert f"{AT}.last: a b\\n" in lines
    assert f"{AT}.lengths: count=3, sum=6, min=1, max=3, mean=2" in lines
    assert len(lines) == 1 + 4 + len(ALL)


def test_it_is_seen_without_any_configuration() -> None:
    program = """
from tests.metrics.reporters.samples import EPOCHS, opened
one, reporter = opened("slf4j.Slf4jReporter")
reporter.report(one.select([EPOCHS]))
"""
    found = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=120, check=True
    )
    assert "h.jobmanager.my job.numEpochs: 4" in found.stderr


def test_a_level_that_is_set_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    logger = logging.getLogger("millrace.metrics")
    monkeypatch.setattr(logger, "level", logging.ERROR)
    opened("slf4j.Slf4jReporter")
    assert logger.level == logging.ERROR
