"""``millrace savepoint -d``: a savepoint is deleted, and nothing else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from millrace.checkpoint.folder import open_folder
from millrace.checkpoint.metadata import (
    CHECKPOINT,
    METADATA,
    SAVEPOINT,
    Metadata,
    SavedOperator,
    StateFile,
    write_metadata,
)
from millrace.cli.main import main


def call(*args: str | Path) -> Result:
    return CliRunner().invoke(main, ["savepoint", *map(str, args)])


def write(folder: Path, kind: str = SAVEPOINT) -> Path:
    """A savepoint with one file of state."""
    folder.mkdir(parents=True)
    (folder / "a").mkdir()
    (folder / "a" / "0.state").write_bytes(b"state")
    saved = {"a": SavedOperator((StateFile("a/0.state", "total", "keyed", "value", 0, 1, 5, 0),))}
    metadata = Metadata(kind, "job", "name", 7, 0, (), saved=saved)
    write_metadata(open_folder(str(folder)), metadata)
    return folder


@pytest.mark.parametrize("option", ["-d", "--dispose"])
@pytest.mark.parametrize("suffix", ["", "/", f"/{METADATA}"])
def test_a_savepoint_is_deleted(tmp_path: Path, option: str, suffix: str) -> None:
    folder = write(tmp_path / "sp")
    result = call(option, f"{folder}{suffix}")
    path = f"{folder}{suffix}"
    said = f"Disposing savepoint '{path}'.\nWaiting for response...\nSavepoint '{path}' disposed.\n"
    assert (result.exit_code, result.stdout) == (0, said)
    assert os.listdir(tmp_path) == []


def test_what_is_no_savepoint_stays(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("x")
    result = call("-d", tmp_path)
    assert result.exit_code == 1
    assert f"nothing is deleted: {tmp_path} is no checkpoint or savepoint: it has no file _metadata" in result.stderr
    assert os.listdir(tmp_path) == ["precious"]


def test_a_checkpoint_stays(tmp_path: Path) -> None:
    folder = write(tmp_path / "chk-7", CHECKPOINT)
    result = call("-d", folder)
    assert result.exit_code == 1
    assert f"nothing is deleted: {folder} is a checkpoint of job job, which shares files with others" in result.stderr
    assert (folder / METADATA).exists()


def test_a_savepoint_with_something_else_in_its_folder_stays(tmp_path: Path) -> None:
    folder = write(tmp_path / "sp")
    (folder / "notes.txt").write_text("x")
    result = call("-d", folder)
    assert result.exit_code == 1
    assert f"{folder} holds more than the savepoint (notes.txt): put that elsewhere first" in result.stderr
    assert (folder / "a" / "0.state").exists()


def test_a_savepoint_that_cannot_be_read_stays(tmp_path: Path) -> None:
    (tmp_path / METADATA).write_text("{")
    result = call("-d", tmp_path)
    assert result.exit_code == 1
    assert f"{tmp_path}/_metadata is corrupt" in result.stderr
