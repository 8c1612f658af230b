"""Workers that are killed at any moment: the environment is never taken for what it is not."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

from tests.runtime.state.backend_suite import Copy
from tests.runtime.state.copies import JOB, TASK
from tests.runtime.state.disk.killed_worker import KEYS, history

from millrace.checkpoint.folder import open_folder
from millrace.checkpoint.task_storage import FolderStorage
from millrace.runtime.state.disk.plan import OnDisk
from millrace.runtime.state.working import InMemory, StatePlan

ROUNDS = 4


def lines(directory: Path) -> int:
    return len((directory / "history").read_text().splitlines())


def run_and_kill(directory: Path, draw: random.Random) -> None:
    """Start a worker, and kill it some time after its first epochs."""
    before = lines(directory)
    worker = subprocess.Popen([sys.executable, "-m", "tests.runtime.state.disk.killed_worker", str(directory)])
    try:
        until = time.monotonic() + 60
        while lines(directory) < before + 2:
            assert worker.poll() is None, "the worker failed"
            assert time.monotonic() < until
            time.sleep(0.01)
        time.sleep(draw.random() * 0.2)
        assert worker.poll() is None, "the worker failed"
    finally:
        worker.kill()
        worker.wait()


def content(plan: StatePlan, directory: Path) -> dict[int, object]:
    """What a new copy finds at the end of the history; timers are taken out."""
    copy = Copy(plan.state_of(JOB, TASK, dict))
    copy.load(history(directory), FolderStorage(open_folder(str(directory / "files"))))
    found: dict[int, object] = {key: copy.content(key) for key in range(KEYS)}
    timers = []
    while (timer := copy.backend.event_timers.pop_due(2**40)) is not None:
        timers.append(timer)
    found[-1] = timers
    copy.working.close()
    return found


def test_the_state_is_that_of_the_files(tmp_path: Path) -> None:
    (tmp_path / "history").touch()
    draw, plan = random.Random(7), OnDisk((str(tmp_path / "local"),))
    for _ in range(ROUNDS):
        run_and_kill(tmp_path, draw)
        on_disk = content(plan, tmp_path)
        assert on_disk == content(InMemory(), tmp_path)
    for key in range(KEYS):
        row = on_disk[key]
        assert isinstance(row, dict)
        assert row["list"] == list(range(1, (row["value"] or 0) + 1))
    [job] = next((tmp_path / "local").iterdir()).iterdir()
    environments = [path for path in (job / "0-0").iterdir() if path.is_dir()]
    assert len(environments) <= 1, "what killed workers left is deleted"
