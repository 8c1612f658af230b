"""Jobs in the cells of a notebook: what all of them share is told by the first."""

from __future__ import annotations

import pytest

from millrace.notebook import cells
from millrace.spark.jobs.listeners import JobStarted


def test_the_log_is_named_by_the_first_cell_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cells, "_named", set())
    shown = []
    for number, log in enumerate(("/logs/a", "/logs/a", "/logs/b")):
        listener = cells.bar()
        listener.started(JobStarted(f"job{number}", "clicks", None, log))
        listener._ended.set()  # its thread
        shown.append(listener._screen._said)  # type: ignore[attr-defined]
    assert shown == [["log: /logs/a"], [], ["log: /logs/b"]]
