"""Jobs with everything in an object store or on HDFS: killed, resumed, saved; their state read as data."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import uuid
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.common.files.stores.counting_job import KEYS
from tests.common.files.stores.test_s3 import lines

from millrace.checkpoint.folder import open_folder
from millrace.state import SavepointReader
from millrace.testing.services import S3

pytestmark = [pytest.mark.services, pytest.mark.slow, pytest.mark.connectors]

PROGRAM = Path(__file__).with_name("counting_job.py")
COUNT = 600
START_SECONDS, RUN_SECONDS = 180, 240
CONFIGURATION = {
    "millrace.master": "local[2]",
    "millrace.epoch.max-records": "10",
    "execution.checkpointing.interval": "300 ms",
    "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
}


class Job:
    """The program with its files below a URI. :param configuration: of the store."""

    def __init__(self, base: str, configuration: dict[str, str], folder: Path) -> None:
        self.base = base
        self._folder = folder
        self._configuration = {
            **CONFIGURATION,
            **configuration,
            "execution.checkpointing.dir": f"{base}/checkpoints",
        }

    def start(self, rate: int, savepoint: str | None = None, **more: str) -> subprocess.Popen[bytes]:
        given = {"base": self.base, "count": COUNT, "rate": rate, "savepoint": savepoint}
        settings = self._folder / f"{uuid.uuid4().hex}.json"
        settings.write_text(json.dumps({**given, "configuration": {**self._configuration, **more}}))
        with self.said.open("ab") as said:
            return subprocess.Popen(
                [sys.executable, str(PROGRAM), str(settings)], stdout=said, stderr=said, start_new_session=True
            )

    @property
    def said(self) -> Path:
        return self._folder / "said"

    def newest(self) -> tuple[int, str]:
        """The number of the last checkpoint, and its URI."""
        folder = open_folder(f"{self.base}/checkpoints")
        found = [re.match(r"(.*/chk-(\d+))/_metadata$", each) for each in folder.files()]
        return max(((int(each[2]), f"{folder.uri}/{each[1]}") for each in found if each), default=(0, ""))

    def wait_for(self, number: int, process: subprocess.Popen[bytes]) -> str:
        until = time.monotonic() + START_SECONDS
        while (newest := self.newest())[0] < number:
            assert process.poll() is None, self.said.read_text()
            assert time.monotonic() < until, f"no checkpoint {number} in {START_SECONDS} s: {self.said.read_text()}"
            time.sleep(0.1)
        return newest[1]

    def end(self, process: subprocess.Popen[bytes]) -> None:
        assert process.wait(RUN_SECONDS) == 0, self.said.read_text()


def kill(process: subprocess.Popen[bytes]) -> None:
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def expected() -> list[str]:
    """What a plain loop says of each number: it, and how many of its key have come by then, in any order."""
    return sorted(str(number) for number in range(1, COUNT + 1))


def check(found: list[str]) -> None:
    assert sorted(line.split()[0] for line in found) == expected()
    counts: dict[int, list[int]] = {}
    for number, count in (map(int, line.split()) for line in found):
        counts.setdefault(number % KEYS, []).append(count)
    for key, of_key in counts.items():
        assert sorted(of_key) == list(range(1, len(of_key) + 1)), f"key {key}"


@pytest.fixture(params=["s3", "hdfs"])
def job(request: pytest.FixtureRequest, tmp_path: Path) -> Job:
    server: Any = request.getfixturevalue(request.param)
    root = "s3://mill" if isinstance(server, S3) else server.url
    return Job(f"{root}/{uuid.uuid4().hex}", server.configuration(), tmp_path)


def test_a_job_is_killed_and_resumed(job: Job) -> None:
    process = job.start(rate=100)
    try:
        job.wait_for(4, process)
    finally:
        kill(process)
    _, newest = job.newest()
    resumed = job.start(rate=5_000, **{"execution.savepoint.path": newest})
    try:
        job.end(resumed)
    finally:
        if resumed.poll() is None:
            kill(resumed)
    check(lines(f"{job.base}/out"))


def test_a_savepoint_is_read_as_data_and_resumed(job: Job) -> None:
    process = job.start(rate=100, savepoint=f"{job.base}/savepoints")
    try:
        job.end(process)
    finally:
        if process.poll() is None:
            kill(process)
    path = re.search(r"^savepoint (\S+)$", job.said.read_text(), re.MULTILINE)
    assert path is not None, job.said.read_text()
    state = dict(SavepointReader.read(path[1]).keyed_state("counted", "seen").items())
    before = Counter(int(line.split()[0]) % KEYS for line in lines(f"{job.base}/out"))
    assert state == dict(before) and 0 < sum(state.values()) < COUNT
    resumed = job.start(rate=5_000, **{"execution.savepoint.path": path[1]})
    try:
        job.end(resumed)
    finally:
        if resumed.poll() is None:
            kill(resumed)
    check(lines(f"{job.base}/out"))
