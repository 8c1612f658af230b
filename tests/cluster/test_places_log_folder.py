"""Logs of a cluster in its own folder, and elsewhere."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from millrace.cluster.job_folder import place_logs
from millrace.util.folders import NotPrivateError


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    folder = tmp_path / "mine"
    folder.mkdir(mode=0o700)
    return folder


def test_they_lie_in_the_folder_unless_told_otherwise(cluster: Path) -> None:
    place_logs(str(cluster), None)
    place_logs(str(cluster), None)
    assert (cluster / "logs").stat().st_mode & 0o777 == 0o700 and not (cluster / "logs").is_symlink()


def test_they_move_to_a_folder_with_the_name_of_the_cluster(cluster: Path, tmp_path: Path) -> None:
    place_logs(str(cluster), None)
    (cluster / "logs" / "a.log").write_text("before")
    place_logs(str(cluster), str(tmp_path / "var" / "log"))
    there = tmp_path / "var" / "log" / "mine"
    assert (there / "a.log").read_text() == (cluster / "logs" / "a.log").read_text() == "before"
    assert there.stat().st_mode & 0o777 == 0o700
    place_logs(str(cluster), str(tmp_path / "var" / "log"))
    place_logs(str(cluster), str(tmp_path / "other"))
    assert os.listdir(cluster / "logs") == [] and (there / "a.log").exists()
    place_logs(str(cluster), None)
    assert not (cluster / "logs").is_symlink() and (cluster / "logs").is_dir()


def test_nobody_else_may_write_there(cluster: Path, tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    with pytest.raises(NotPrivateError):
        place_logs(str(cluster), str(tmp_path / "open"))
