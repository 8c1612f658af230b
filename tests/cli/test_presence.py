"""A program in the foreground: what it leaves behind for a history server."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.cluster.documents import id_of, job

from millrace.cli.run import Presence
from millrace.cluster import socket_control
from millrace.cluster.documents import JobDocument
from millrace.cluster.history import list_archives


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    class Here:
        def __init__(self, _: object) -> None: ...

        def documents(self) -> Sequence[JobDocument]:
            return [job(name="over", state="FINISHED"), job(name="other", state="RUNNING")]

    monkeypatch.setattr(socket_control, "JobsHere", Here)


def run(configuration: dict[str, str]) -> None:
    presence = Presence("job.py", {"rest.port": "none", **configuration}, None, lambda: None, threading.Event())
    client: Any = None
    presence._begun = True  # others need not find it
    presence.started(client)
    presence.close()


def test_jobs_that_have_ended_are_archived(jobs: None, tmp_path: Path) -> None:
    run({"jobmanager.archive.fs.dir": str(tmp_path / "archives")})
    assert [each.id for each in list_archives(str(tmp_path / "archives"))] == [id_of("over")]


def test_only_where_that_is_wanted(jobs: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run({})
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_is_not_there_hurts_no_program(
    jobs: None, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    with caplog.at_level(logging.WARNING, "millrace"):
        run({"jobmanager.archive.fs.dir": str(tmp_path / "file")})
    assert "the jobs are not archived in" in caplog.text
