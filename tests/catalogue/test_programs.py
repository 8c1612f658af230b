"""The documents' programs that stand nowhere else give what the documents say, without Spark."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests import local_jobs
from tests.catalogue import streams, tables
from tests.local_jobs import run_jobs_locally

from millrace.testing import run_locally


@pytest.mark.parametrize("program", streams.EXPECTED, ids=lambda program: program.__name__)
def test_streams(program: Callable[[], Any]) -> None:
    assert program() == streams.EXPECTED[program]


@pytest.mark.parametrize("program", tables.EXPECTED, ids=lambda program: program.__name__)
def test_tables(program: Callable[[Path], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_jobs_locally(monkeypatch)
    if program in tables.RECORD_BY_RECORD:
        monkeypatch.setattr(local_jobs, "run_locally", partial(run_locally, epoch_records=1))
    assert program(tmp_path) == tables.EXPECTED[program]
