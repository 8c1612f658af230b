"""Clocks that are set by days, before and behind each step: nothing of a job that lives is deleted."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyarrow.fs import LocalFileSystem

from millrace.checkpoint import directory, shared_folder
from millrace.checkpoint.folder import Folder, RemoteFolder, open_folder
from millrace.checkpoint.shared_folder import is_left_alone, living_driver
from millrace.runtime.state.disk import job_folder

DAY = 86_400
JUMPS = [3 * DAY, -5 * DAY, 1, -1, 400 * DAY, -400 * DAY, 2 * 3600, -2 * 3600]
ELSEWHERE = "0123abcd"
"""another machine"""


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_folder, "CONFIRM_SECONDS", 0.5)


@pytest.fixture
def jump(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Sets the clock of this machine by so many seconds."""
    real, off = time.time, [0.0]

    def by(seconds: float) -> None:
        off[0] += seconds

    monkeypatch.setattr(time, "time", lambda: real() + off[0])
    return by


def store_jumps(folder: Path, seconds: float) -> None:
    """The clock of the store is set: all that is there seems to be older, or of days to come."""
    for path in folder.rglob("*"):
        if path.is_file():
            try:
                written = path.stat().st_mtime - seconds
                os.utime(path, (written, written))
            except FileNotFoundError:
                continue  # replaced by the next beat


@contextmanager
def driven_elsewhere(job: Path) -> Iterator[None]:
    """A driver on another machine, which says every now and then that it lives."""
    over = threading.Event()
    folder, beats = open_folder(str(job)), 0

    def beat() -> None:
        nonlocal beats
        beats += 1
        said = {"machine": ELSEWHERE, "host": "h", "process": 1, "started": None, "beat": float(beats)}
        folder.write(shared_folder.DRIVER, [json.dumps(said).encode()])

    def run() -> None:
        while not over.wait(0.1):
            beat()

    beat()
    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@pytest.mark.parametrize("whose", ["machine", "store", "both"])
def test_a_job_that_is_driven_elsewhere_stays(tmp_path: Path, whose: str, jump: Callable[[float], None]) -> None:
    job, own = tmp_path / "job-theirs", tmp_path / "job-own"
    (job / "shared").mkdir(parents=True)
    own.mkdir()
    files = [job / "shared" / "state", job / "shared" / f"state2.{ELSEWHERE}-7-89abcdef.tmp"]
    for file in files:
        file.write_bytes(b"state")
    folder = open_folder(str(job))
    with driven_elsewhere(job):
        for seconds in JUMPS:
            if whose != "store":
                jump(seconds)
            if whose != "machine":
                store_jumps(tmp_path, seconds)
            assert not is_left_alone(folder)
            assert living_driver(folder) is not None
            directory._sweep(str(own))
            assert all(file.exists() for file in files)
    (own / "now").touch()
    silent = (own / "now").stat().st_mtime - 90
    os.utime(job / shared_folder.DRIVER, (silent, silent))
    directory._sweep(str(own))
    assert not job.exists()


@pytest.mark.parametrize("make", [open_folder, lambda path: RemoteFolder(f"x:{path}", LocalFileSystem(), path)])
def test_files_that_others_write_stay(
    tmp_path: Path, make: Callable[[str], Folder], jump: Callable[[float], None]
) -> None:
    """Their age is told by the clock of the store, and goes on whatever this machine's says."""
    growing = tmp_path / f"a.{ELSEWHERE}-7-89abcdef.tmp"
    growing.write_bytes(b"")
    for seconds in JUMPS:
        jump(seconds)
        make(str(tmp_path)).sweep()
        assert [each.name for each in tmp_path.iterdir()] == [growing.name]
    store_jumps(tmp_path, 3601)
    make(str(tmp_path)).sweep()
    assert list(tmp_path.iterdir()) == []


def test_state_on_disk_that_a_process_has_stays(tmp_path: Path, jump: Callable[[float], None]) -> None:
    """A process holds it by a lock."""
    held = Path(job_folder.job_folder(str(tmp_path), "held"))
    (held / "state").write_bytes(b"state")
    for number, seconds in enumerate(JUMPS):
        jump(seconds)
        store_jumps(held, seconds)
        job_folder.job_folder(str(tmp_path), f"other{number}")
        assert (held / "state").exists()
    for name in ["held", *(f"other{number}" for number in range(len(JUMPS)))]:
        job_folder.delete_job_folder(str(tmp_path), name)
