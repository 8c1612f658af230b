"""``pyflink`` is Millrace for these programs, and nothing needs Spark."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.local_jobs import run_jobs_locally

import millrace


@pytest.fixture(autouse=True)
def pyflink(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    run_jobs_locally(monkeypatch)
    millrace.activate()
    yield
    millrace.deactivate()
