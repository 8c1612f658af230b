"""Daemons of other machines: an ``ssh`` that runs everything here, and a daemon that only sleeps."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cluster.processes import fake_ssh
from tests.cluster.processes.running import ROOT, wait_for

from millrace.cluster.processes import remote_daemons, spark_daemons
from millrace.cluster.processes.remote_daemons import LOOK, START, STOP, Answer, Request, daemon_statuses
from millrace.cluster.processes.services import RemoteService, end_remote
from millrace.cluster.processes.spark_daemons import Logging, Order, orders, read_record, recorded, write_record
from millrace.cluster.processes.spark_layout import Host, HostsError, Layout, folder_of, write_layout
from millrace.cluster.run_folder import end, process_of

SECRET = "a-secret-of-the-cluster"
CLUSTER = "0123abcd"
SLEEPER = """\
#!/bin/sh
echo "$@" > "$0.arguments"
exec sleep 600
"""


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Other machines are this one, with a Spark that does nothing."""
    home = tmp_path / "python" / "pyspark"
    (home / "bin").mkdir(parents=True)
    (home / "__init__.py").touch()
    script = home / "bin" / "spark-class"
    script.write_text(SLEEPER)
    script.chmod(0o700)
    run = tmp_path / "run"
    run.mkdir(mode=0o700)
    monkeypatch.setenv("MILLRACE_RUN_DIR", str(run))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(home.parent), str(ROOT / "src")]))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    yield fake_ssh.install(tmp_path / "bin")
    for folder in run.iterdir():
        for name in recorded(str(folder)):
            record = read_record(str(folder), name)
            if record is not None and record.process.is_alive:
                os.kill(record.process.pid, signal.SIGKILL)


def layout(*workers: str) -> Layout:
    return Layout("127.0.0.1", 1, Host("localhost"), tuple(map(Host, workers)), 2, 700, SECRET)


def an_order(host: str = "ann@node7") -> Order:
    found = orders(layout(host), Logging(1000, 2), "/nowhere")[1]
    # It would wait for its master.
    return Order(found.name, found.daemon, found.host, found.settings, found.logging)


def ask(host: str, request: Request, options: str = "", seconds: float = 60.0) -> Answer:
    return remote_daemons.RemoteCall(host, request, options, seconds).wait()


def test_the_command_line_asks_nobody_and_shows_no_secret(calls: Path) -> None:
    answer = ask("ann@node7", Request(START, CLUSTER, "worker-1", an_order()), "-p 2222 -o 'User Known=a b'")
    assert answer.alive and answer.record is not None
    words = json.loads(calls.read_text())
    assert words[:4] == ["-o", "BatchMode=yes", "-o", "ConnectTimeout=10"]
    assert words[-7:-3] == ["-p", "2222", "-o", "User Known=a b"]
    assert words[-3:-1] == ["--", "ann@node7"]
    assert shlex.split(words[-1]) == [sys.executable, "-m", "millrace.cluster.processes.remote_daemons"]
    assert SECRET not in calls.read_text()
    with open(f"/proc/{answer.record.process.pid}/cmdline") as file:
        assert SECRET not in file.read()


def test_a_daemon_is_started_once_and_ended_once(calls: Path, tmp_path: Path) -> None:
    started = ask("node7", Request(START, CLUSTER, "worker-1", an_order()))
    again = ask("node7", Request(START, CLUSTER, "worker-1", an_order()))
    assert started.record is not None and again == started
    assert ask("node7", Request(LOOK, CLUSTER, "worker-1")) == started
    words = (tmp_path / "python" / "pyspark" / "bin" / "spark-class.arguments").read_text().split()
    assert words[0] == "org.apache.spark.deploy.worker.Worker"
    assert words[-9:] == ["--port", "0", "--webui-port", "0", "--cores", "2", "--memory", "700m", "spark://127.0.0.1:1"]
    folder = tmp_path / "run" / f"spark-{CLUSTER}"
    assert SECRET in (folder / "worker-1.conf").read_text()
    assert {path.stat().st_mode & 0o077 for path in [folder, *folder.glob("worker*")]} == {0}
    # Whoever names another process ends none.
    other = process_of(os.getpid())
    assert ask("node7", Request(STOP, CLUSTER, "worker-1", process=other)).alive
    stopped = ask("node7", Request(STOP, CLUSTER, "worker-1", process=started.record.process))
    assert not stopped.alive and not started.record.process.is_alive
    assert [path.name for path in folder.iterdir()] == ["logs"]  # nothing secret is left
    assert ask("node7", Request(LOOK, CLUSTER, "worker-1")) == Answer()


def test_an_error_says_which_machine_and_why(calls: Path) -> None:
    answer = ask("unreachable", Request(LOOK, CLUSTER, "worker-1"))
    assert answer == Answer(
        error="unreachable: ssh has ended with exit code 255: "
        "ssh: connect to host unreachable port 22: No route to host"
    )
    assert ask("silent", Request(LOOK, CLUSTER, "worker-1"), seconds=0.3).error == "silent has not answered for 0.3 s"


@pytest.mark.parametrize("name", ["../worker-1", "worker-1/x", "", "worker 1"])
def test_names_lead_nowhere_else(calls: Path, name: str) -> None:
    assert remote_daemons.answer(Request(LOOK, CLUSTER, name)).error == f"no such daemon: {name!r}"
    assert remote_daemons.answer(Request(LOOK, "../x", "worker-1")).error


def test_a_host_that_is_an_option_is_refused_once_more() -> None:
    with pytest.raises(HostsError):
        remote_daemons.ssh_command("-oProxyCommand=reboot")


def test_clusters_of_one_machine_are_told_apart(tmp_path: Path) -> None:
    assert remote_daemons.cluster_id(str(tmp_path / "a")) != remote_daemons.cluster_id(str(tmp_path / "b"))
    assert remote_daemons.cluster_id(str(tmp_path / "a")) == remote_daemons.cluster_id(str(tmp_path / "x" / ".." / "a"))


def test_the_supervisor_starts_and_ends_it_without_waiting(calls: Path, tmp_path: Path) -> None:
    cluster = str(tmp_path / "cluster")
    os.mkdir(cluster, 0o700)
    write_layout(cluster, layout("node7"))
    folder, id = folder_of(cluster), remote_daemons.cluster_id(cluster)
    service = RemoteService(an_order("node7"), folder, id, "")
    service.look(0.0)
    assert service.pid is None  # it is under way
    wait_for(lambda: service.look(time.monotonic()) or service.pid, "the daemon")
    record = read_record(folder, "worker-1")
    assert record is not None and record.host == "node7" and record.process.is_alive
    master, worker = daemon_statuses(cluster)
    assert (master.text, worker.text) == ("not there", f"process {record.process.pid}")
    os.kill(record.process.pid, signal.SIGKILL)
    wait_for(lambda: not record.process.is_alive, "its end")
    assert daemon_statuses(cluster)[1].text == "not there"
    service.end(5.0)
    assert recorded(folder) == []
    assert end_remote(folder, "worker-1", id, "", 5.0) == ""


def test_a_machine_that_is_not_reached_is_tried_again(
    calls: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    service = RemoteService(an_order("unreachable"), str(tmp_path), CLUSTER, "")
    service.look(0.0)
    said = ""

    def heard() -> bool:
        nonlocal said
        service.look(0.0)
        said += capfd.readouterr().err
        return "next attempt in 2 s: unreachable: ssh has ended with exit code 255" in said

    wait_for(heard, "the failure")
    service.look(1.0)
    assert len(calls.read_text().splitlines()) == 1
    service.look(3.0)
    wait_for(lambda: len(calls.read_text().splitlines()) == 2, "another attempt")
    service.end(5.0)


def test_a_process_with_the_number_of_a_dead_one_is_left_alone(tmp_path: Path) -> None:
    other = subprocess.Popen(["sleep", "60"])
    try:
        taken = process_of(other.pid)
        stale = type(taken)(taken.pid, taken.started + 1, taken.machine)
        assert end(stale, 1.0)
        assert other.poll() is None
        assert end(taken, 5.0) or other.wait(5) is not None
    finally:
        other.kill()
        other.wait()


def test_a_record_that_is_torn_counts_for_none(tmp_path: Path) -> None:
    (tmp_path / "master.process.json").write_text('{"process":')
    assert read_record(str(tmp_path), "master") is None
    write_record(str(tmp_path), "master", spark_daemons.Record(process_of(os.getpid()), 1))
    assert recorded(str(tmp_path)) == ["master"]
