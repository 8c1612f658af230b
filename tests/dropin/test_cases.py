"""Programs that pass on PyFlink pass here."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.dropin.finding import PASSED, Case, answers, cases, mark_of
from tests.dropin.known import KNOWN
from tests.local_jobs import run_jobs_locally

import millrace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RECORD = "run `make flink RECORD=1`"
LOCAL = [case for case in cases() if not case.needs_spark]
BATCH = [case for case in cases() if case.needs_spark]


@pytest.fixture
def pyflink(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    millrace.activate()
    yield
    millrace.deactivate()


def check(case: Case) -> None:
    if str(case) in KNOWN:
        with pytest.raises(Exception, match=""):
            case.load()()
    else:
        case.load()()


@pytest.mark.usefixtures("pyflink")
@pytest.mark.parametrize("case", LOCAL, ids=str)
def test_a_case(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    run_jobs_locally(monkeypatch)
    check(case)


@pytest.mark.usefixtures("pyflink")
@pytest.mark.parametrize("case", BATCH, ids=str)
def test_a_case_on_spark(case: Case, spark: SparkSession) -> None:
    check(case)


@pytest.mark.parametrize("module", sorted({case.module for case in cases()}))
def test_pyflink_passes_too(module: str) -> None:
    answer = answers(module)
    assert answer.get("text") == mark_of(module), f"PyFlink never ran {module} as it is now: {RECORD}"
    assert answer["cases"] == {case.name: PASSED for case in cases() if case.module == module}, RECORD


def test_what_is_to_differ_is_a_case() -> None:
    assert set(KNOWN) <= {str(case) for case in cases()}
