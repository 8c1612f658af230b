"""A daemon that waits for its place, and the command that gives it: with processes, without Spark."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from millrace.spark.sessions.early_daemon import VARIABLE
from millrace.spark.workers import processes

TIMEOUT = 120
"""Seconds; they take one."""
WAITING = """
import os, sys
from millrace.spark.workers import daemon
if daemon.wait_for_place(lambda: print("prepared", flush=True)):
    # what a daemon does: it reads what Spark sends, and writes where Spark listens
    heard = sys.stdin.readline().strip()
    print("daemon", heard, os.environ["MINE"], os.getcwd(), sys.argv[1:], os.getpid(), flush=True)
    sys.stdin.readline()
else:
    print("not wanted", flush=True)
"""
COMMAND = f"""
import os, sys
from millrace.spark.workers import daemon
print("took over" if daemon.hand_over(int(os.environ.pop({VARIABLE!r}))) else "by itself", flush=True)
"""

BEGINS = f"""
import os, subprocess, sys, time
waiting = subprocess.Popen([sys.executable, "-c", {WAITING!r}], stdin=subprocess.PIPE)
fork = os.fork()
if fork == 0:
    time.sleep(600)
print(waiting.pid, fork, flush=True)
time.sleep(600)
"""


class Waiting:
    """The process that waits."""

    def __init__(self, **environment: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", WAITING],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1", **environment},
        )
        self.place = Path(processes.folder_of(self.process.pid))
        assert self.line() == "prepared"

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()


def command(waiting: int, folder: Path, **environment: str) -> subprocess.Popen[str]:
    """What Spark starts."""
    given = {"PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1", "MINE": "given", VARIABLE: str(waiting)}
    return subprocess.Popen(
        [sys.executable, "-c", COMMAND, "pyspark.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=folder,
        env={**os.environ, **given, **environment},
    )


def test_it_gets_the_streams_and_the_surroundings_of_the_command(tmp_path: Path) -> None:
    waiting = Waiting()
    run = command(waiting.process.pid, tmp_path)
    assert run.stdin is not None and run.stdout is not None
    print("hello", file=run.stdin, flush=True)
    *said, number = run.stdout.readline().split()
    assert said == ["daemon", "hello", "given", str(tmp_path), "['pyspark.worker']"]
    assert int(number) == waiting.process.pid
    assert run.poll() is None, "the command stays as long as its daemon"
    print("end", file=run.stdin, flush=True)
    assert waiting.process.wait(TIMEOUT) == 0
    assert run.communicate(timeout=TIMEOUT)[0] == "took over\n"
    assert not (waiting.place / "d").exists()
    waiting.end()


def test_the_command_of_another_environment_does_not_wait_for_one_that_has_its_place(tmp_path: Path) -> None:
    waiting = Waiting()
    first = command(waiting.process.pid, tmp_path)
    assert first.stdin is not None and first.stdout is not None
    print("hello", file=first.stdin, flush=True)
    assert first.stdout.readline().startswith("daemon hello")
    (waiting.place / processes.SOCKET).touch()  # as its keeper does
    second = command(waiting.process.pid, tmp_path, MINE="another")
    assert second.communicate(timeout=30)[0] == "by itself\n", "it would wait for a minute"
    waiting.end()
    first.communicate(timeout=TIMEOUT)


def test_a_signal_to_the_command_is_one_to_the_daemon(tmp_path: Path) -> None:
    waiting = Waiting()
    run = command(waiting.process.pid, tmp_path)
    assert run.stdin is not None and run.stdout is not None
    print("hello", file=run.stdin, flush=True)
    assert run.stdout.readline().startswith("daemon hello")
    run.terminate()
    assert waiting.process.wait(TIMEOUT) == -signal.SIGTERM
    run.communicate(timeout=TIMEOUT)
    waiting.end()


@pytest.mark.parametrize("variable", ["PYTHONHASHSEED", "OMP_NUM_THREADS"])
def test_what_a_process_cannot_change_must_be_the_same(tmp_path: Path, variable: str) -> None:
    waiting = Waiting()
    run = command(waiting.process.pid, tmp_path, **{variable: "7"})
    assert run.communicate(timeout=TIMEOUT)[0] == "by itself\n"
    assert waiting.line() == "not wanted"
    waiting.end()


def test_it_ends_with_the_process_that_began_it(tmp_path: Path) -> None:
    waiting = Waiting()
    assert waiting.process.stdin is not None
    waiting.process.stdin.close()
    assert waiting.line() == "not wanted"
    assert waiting.process.wait(TIMEOUT) == 0
    assert not waiting.place.exists()
    assert waiting.process.stdout is not None
    waiting.process.stdout.close()


def test_a_fork_of_that_process_does_not_hold_it() -> None:
    with subprocess.Popen([sys.executable, "-c", BEGINS], stdout=subprocess.PIPE, text=True) as begins:
        assert begins.stdout is not None
        said = {begins.stdout.readline() for _ in range(2)} - {"prepared\n"}
        waiting, fork = map(int, said.pop().split())
        process, folder = psutil.Process(waiting), Path(processes.folder_of(waiting))
        try:
            begins.kill()
            assert begins.stdout.readline() == "not wanted\n"
            assert psutil.wait_procs([process], timeout=TIMEOUT)[1] == []
            assert not folder.exists()
        finally:
            os.kill(fork, signal.SIGKILL)


def test_where_nobody_waits_the_command_goes_on_by_itself(tmp_path: Path) -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    run = command(ended.pid, tmp_path)
    assert run.communicate(timeout=TIMEOUT)[0] == "by itself\n"
