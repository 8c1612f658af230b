"""The folder of state on disk: what Spark was given, else the system's, never memory if there is a choice."""

from __future__ import annotations

import logging
import tempfile
from pathlib import Path

import pytest

from millrace.runtime.state.disk import local_folder
from millrace.runtime.state.disk.local_folder import file_system, local_folders, warn_of_memory

ID = "0a1b2c3d-0000-1111-2222-333344445555"


@pytest.fixture
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A temporary directory of the system's, on a disk as everything is."""
    (tmp_path / "system").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "system"))
    monkeypatch.setattr(local_folder, "file_system", lambda folder: "ext4")
    for variable in ("LOCAL_DIRS", "SPARK_LOCAL_DIRS"):
        monkeypatch.delenv(variable, raising=False)
    return tmp_path / "system"


def test_the_system_has_one(system: Path) -> None:
    assert local_folders() == (str(system),)


def test_those_of_spark_come_first(system: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b"):
        (tmp_path / name / f"spark-{ID}" / f"executor-{ID}" / f"blockmgr-{ID}").mkdir(parents=True)
    inner = [tmp_path / name / f"spark-{ID}" / f"executor-{ID}" / f"blockmgr-{ID}" for name in ("a", "b")]
    monkeypatch.setenv("SPARK_LOCAL_DIRS", ",".join(map(str, [*inner, tmp_path / "missing"])))
    assert local_folders() == (str(tmp_path / "a"), str(tmp_path / "b"))


def test_memory_is_the_last_choice(system: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "memory").mkdir()
    monkeypatch.setenv("LOCAL_DIRS", str(tmp_path / "memory"))
    kinds = {str(tmp_path / "memory"): "tmpfs", str(system): "tmpfs"}
    monkeypatch.setattr(local_folder, "file_system", lambda folder: kinds.get(folder, "ext4"))
    assert local_folders() == ("/var/tmp",)
    monkeypatch.setattr(local_folder, "file_system", lambda folder: "tmpfs")
    assert local_folders() == (str(system),)


def test_memory_is_named(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(local_folder, "file_system", lambda folder: "tmpfs" if folder == "/b" else "xfs")
    with caplog.at_level(logging.WARNING):
        warn_of_memory(["/a", "/b"])
    assert [record.getMessage().partition(",")[0] for record in caplog.records] == ["state on disk would lie in /b"]


def test_the_deepest_mount_counts(tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(
        "disk / ext4 rw 0 0\nmem /memory tmpfs rw 0 0\nd2 /memory/disk xfs rw 0 0\nmem /with\\040blank ramfs rw 0 0\n"
    )
    kinds = {
        "/x": "ext4", "/memory": "tmpfs", "/memory/disk/y": "xfs", "/memoryx": "ext4", "/with blank": "ramfs"
    }  # fmt: skip
    assert {path: file_system(path, str(mounts)) for path in kinds} == kinds
    assert file_system("/", str(tmp_path / "none")) == ""
