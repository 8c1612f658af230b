"""``millrace savepoint``, and savepoints on SIGUSR1."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from millrace.checkpoint.files.folder import open_folder
from millrace.checkpoint.savepoints.metadata import (
    CHECKPOINT,
    METADATA,
    SAVEPOINT,
    Metadata,
    SavedOperator,
    write_metadata,
)
from millrace.checkpoint.savepoints.state_file import StateFile
from millrace.cli.jobs import Jobs
from millrace.cli.main import main
from millrace.cli.savepoint_signal import savepoints_on_signal
from millrace.common.jobs.completable_future import CompletableFuture
from millrace.common.jobs.job_status import JobStatus
from millrace.datastream.settings.defaults import Submission


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
    assert (result.exit_code, result.stdout) == (0, f"deleted the savepoint {folder}\n")
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


@pytest.mark.parametrize(
    ("args", "text"),
    [
        (("0123abcd",), "JobClient.trigger_savepoint() in its program"),
        (("0123abcd", "/sp"), "kill -USR1 PID of its `millrace run`"),
        (("-d", "/sp", "0123abcd"), "takes no job"),
        ((), "Give its path with --dispose PATH"),
    ],
)
def test_what_cannot_be_done_is_refused_with_a_way_out(args: tuple[str, ...], text: str) -> None:
    result = call(*args)
    assert result.exit_code == 2
    assert text in " ".join(result.stderr.split())


class FakeClient:
    """A job whose savepoints succeed or fail."""

    def __init__(self, name: str, outcome: str | Exception, status: JobStatus = JobStatus.RUNNING) -> None:
        self.name, self.outcome, self.status = name, outcome, status

    def get_job_id(self) -> str:
        return self.name

    def get_job_status(self) -> CompletableFuture[JobStatus]:
        return CompletableFuture.of(self.status)

    def trigger_savepoint(self, directory: str | None = None) -> CompletableFuture[str]:
        assert directory is None
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return CompletableFuture.of(self.outcome)


def said_after_a_signal(*clients: FakeClient, lines: int) -> list[str]:
    jobs = Jobs(lambda submission: submission.start())
    for client in clients:
        start: Any = lambda client=client: client
        jobs.submit(Submission(str, start, False))
    said: list[str] = []
    enough = threading.Event()

    def say(line: str) -> None:
        said.append(line)
        if len(said) == lines:
            enough.set()

    with savepoints_on_signal(jobs, say):
        os.kill(os.getpid(), signal.SIGUSR1)
        assert enough.wait(30)
    return said


def test_each_running_job_gets_a_savepoint_and_one_that_fails_hinders_none() -> None:
    clients = (
        FakeClient("a", "/sp/a"),
        FakeClient("b", ValueError("no directory is set")),
        FakeClient("c", "/sp/c", JobStatus.FINISHED),
        FakeClient("d", "/sp/d"),
    )
    assert said_after_a_signal(*clients, lines=3) == [
        "savepoint of job a: /sp/a",
        "no savepoint of job b: ValueError: no directory is set",
        "savepoint of job d: /sp/d",
    ]


def test_without_a_job_there_is_no_savepoint() -> None:
    assert said_after_a_signal(lines=1) == ["no savepoint: no job is running"]


def test_the_handler_of_before_comes_back() -> None:
    before = signal.getsignal(signal.SIGUSR1)
    with savepoints_on_signal(Jobs(lambda submission: submission.start()), print):
        assert signal.getsignal(signal.SIGUSR1) is not before
    assert signal.getsignal(signal.SIGUSR1) is before
