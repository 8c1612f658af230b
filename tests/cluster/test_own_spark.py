"""A cluster with Spark's master and workers of its own, as its user operates it, while processes are killed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cluster.operating import SECONDS, Operated
from tests.cluster.processes.running import wait_for

from millrace.cluster.processes.spark_daemons import Record, read_record
from millrace.cluster.processes.spark_layout import folder_of, read_layout
from millrace.cluster.run_folder import read_entry

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(1_200)]

PROGRAM = """\
from pyflink.datastream import StreamExecutionEnvironment
import os
env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(2)
env.from_collection(list(range(100))).key_by(lambda n: n).map(lambda n: f"{os.getppid()} {n}").print()
env.execute("numbers")
"""


class OnOwnSpark(Operated):
    """With two workers here."""

    def __enter__(self) -> OnOwnSpark:
        try:
            self.start()
        except BaseException:
            self("cluster", "stop")
            raise
        return self

    def start(self) -> None:
        words = ("--workers", "2", "-D", "spark.ui.enabled=false", "-D", "taskmanager.memory.process.size=1200m")
        done = subprocess.run(
            [sys.executable, "-m", "millrace", "cluster", "start", *words],
            cwd=self.place, env=self.environment, capture_output=True, text=True, timeout=2 * SECONDS,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr

    def record(self, name: str) -> Record:
        found: Record = wait_for(lambda: read_record(folder_of(self.folder), name), name)
        return found


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[OnOwnSpark]:
    (tmp_path / "counted.py").write_text(PROGRAM)
    with OnOwnSpark(tmp_path) as made:
        yield made


NAMES = ("master", "worker-1", "worker-2")


def test_it_goes_on_whatever_is_killed(cluster: OnOwnSpark) -> None:
    layout = read_layout(cluster.folder)
    assert layout is not None
    before = {name: cluster.record(name) for name in NAMES}
    shown = cluster("cluster", "status").stdout
    for name, record in before.items():
        assert f"  {name} (localhost): process {record.process.pid}\n" in shown
    assert f"Spark: {layout.url}, 2 slots" in shown
    assert_secret_is_kept(layout.secret, cluster)
    assert numbers(cluster) == list(range(100))

    os.kill(before["worker-1"].process.pid, signal.SIGKILL)
    wait_for(lambda: cluster.record("worker-1").starts == 2, "another worker", SECONDS, cluster.logs)
    again = cluster.record("worker-1").process
    assert again != before["worker-1"].process
    assert f"worker-1 (localhost): process {again.pid}, started 2 times" in cluster("cluster", "status").stdout
    assert numbers(cluster) == list(range(100))

    cluster.kill("server")
    cluster.ask("/overview")  # there is another one
    entry = read_entry(cluster.folder)
    assert entry is not None
    os.kill(entry.entry.process.pid, signal.SIGKILL)
    wait_for(lambda: not entry.entry.process.is_alive, "the end of the supervisor")
    cluster.start()
    after = {name: cluster.record(name).process for name in NAMES}
    assert after == {**{name: record.process for name, record in before.items()}, "worker-1": again}

    assert cluster("cluster", "stop").returncode == 0
    assert [name for name, process in after.items() if process.is_alive] == []
    wait_for(lambda: left(cluster) == [], "the end of all processes", SECONDS, lambda: str(left(cluster)))


def numbers(cluster: OnOwnSpark) -> list[int]:
    done = cluster("run", "--pyflink", "counted.py")
    assert done.returncode == 0, done.stdout + done.stderr + cluster.logs()
    found = [re.fullmatch(r"(?:\d+> )?\d+ (\d+)", line) for line in done.stdout.splitlines()]
    return sorted(int(each[1]) for each in found if each)


def assert_secret_is_kept(secret: str, cluster: OnOwnSpark) -> None:
    """It is in files that only this user reads, and neither in logs nor in command lines."""
    for folder, _, names in os.walk(cluster.run):
        for name in names:
            path = Path(folder, name)
            if path.is_file() and secret.encode() in path.read_bytes():
                assert path.stat().st_mode & 0o077 == 0
                assert path.suffix in (".conf", ".json")
    lines = [command_line(pid) for pid in os.listdir("/proc") if pid.isdecimal()]
    assert any("deploy.worker.Worker" in line for line in lines)
    assert not [line for line in lines if secret in line]


def left(cluster: OnOwnSpark) -> list[str]:
    """Processes that have to do with the cluster."""
    lines = (command_line(pid) for pid in os.listdir("/proc") if pid.isdecimal())
    return [line for line in lines if cluster.folder in line]


def command_line(pid: str) -> str:
    try:
        return Path("/proc", pid, "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""
