"""Documents of jobs that have ended, kept elsewhere for a history server."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.cluster.documents import id_of, job
from tests.cluster.processes.running import wait_for

from millrace.cluster import job_folder, retention
from millrace.cluster.history import list_archives
from millrace.cluster.retention import ArchiveWriter


@pytest.fixture
def cluster(tmp_path: Path) -> str:
    folder = str(tmp_path / "cluster")
    os.mkdir(folder, 0o700)
    job_folder.make_folders(folder)
    return folder


def ended(cluster: str, name: str) -> str:
    job_folder.archive(cluster, job(name=name, state="FINISHED"))
    return id_of(name)


def test_each_is_written_once(cluster: str, tmp_path: Path) -> None:
    there = tmp_path / "archives"
    one, keeper = ended(cluster, "one"), ArchiveWriter(cluster, str(there))
    keeper.look()
    assert {each.id for each in list_archives(str(there))} == {one}
    os.unlink(there / f"{one}.json")  # a history server has deleted it: it does not come back
    other = ended(cluster, "other")
    ArchiveWriter(cluster, str(there)).look()
    assert {each.id for each in list_archives(str(there))} == {other}


def test_a_place_that_is_not_there_is_tried_again(
    cluster: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(retention, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(retention, "PATIENCE_SECONDS", 0.01)
    there = tmp_path / "archives"
    there.touch()  # a file, where a folder should be
    id, keeper = ended(cluster, "one"), ArchiveWriter(cluster, str(there))
    keeper.start()
    try:
        wait_for(lambda: caplog.messages, "the warning")
        os.unlink(there)
        wait_for(lambda: there.is_dir() and list(list_archives(str(there))), "the archive")
    finally:
        keeper.close()
    assert [each.id for each in list_archives(str(there))] == [id]
    assert len(caplog.messages) == 1 and "which is tried again" in caplog.messages[0]
