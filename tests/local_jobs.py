"""Programs run to their end in this process, without Spark: what they would submit is run by the local engine."""

from __future__ import annotations

import pytest

from millrace.datastream import StreamExecutionEnvironment
from millrace.runtime.failure import JobFailedError
from millrace.spark.jobs.java_error import as_java_error
from millrace.testing import run_locally
from millrace.testing.local import FinishedJob


def run_jobs_locally(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every program of this test run without Spark; what it prints goes to standard output."""
    monkeypatch.setattr(StreamExecutionEnvironment, "_submit", _submit)


def _submit(environment: StreamExecutionEnvironment, job_name: str | None, collect: int | None = None) -> FinishedJob:
    try:
        run = run_locally(environment)
    except JobFailedError as error:
        raise as_java_error(error) from error
    for line in run.printed:
        print(line)
    return FinishedJob(run)
