"""Rows on disk with sizes so small that tests meet all borders."""

from __future__ import annotations

import pytest

from millrace.runtime.rows import row_runs, run_file


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows, batches and windows are few, so that all borders are met."""
    monkeypatch.setattr(row_runs, "LEAST_STEP", 5)
    monkeypatch.setattr(row_runs, "SLICE", 3)
    monkeypatch.setattr(run_file, "BATCH", 7)
    monkeypatch.setattr(run_file, "WINDOW", 2)
