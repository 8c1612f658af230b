"""``millrace run`` as two processes: signals, exit codes, and drivers that die. The programs here need no Spark."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest
from click.testing import CliRunner
from tests.forks import Forked

import millrace.cli.live  # noqa: F401  what the processes need, imported once
from millrace.cli.main import main

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the driver is a fork")

PROLOGUE = """\
import os, signal, sys, time
from millrace.spark import job_records as file
from millrace.spark.errors import DriverLostError

def fixed(attempts, delay):
    name = "restart-strategy.fixed-delay"
    return {"restart-strategy.type": "fixed-delay", name + ".attempts": str(attempts), name + ".delay": delay}

with open("lives", "a") as lives:
    lives.write("x")
life = os.path.getsize("lives")

def die():
    os.kill(os.getpid(), signal.SIGKILL)

def job(attempts=9, delay="1 ms"):
    found = file.recoverable_job(file.begin_job(f"job-{life}", fixed(attempts, delay)))
    if found is None:
        file.record_job(0, f"job-{life}", f"/chk/{life}")
    return found

def tell(*values):
    # A signal can arrive inside print, which refuses to be called again by the handler.
    os.write(1, (" ".join(map(str, values)) + "\\n").encode())
"""
KILLED = "the driver was killed by SIGKILL (kill -9, or the machine ran out of memory)"


def _heed_signals() -> None:
    """Whatever runs the tests may ignore Ctrl-C or a terminal that closes (nohup), and that would be inherited."""
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)


def start(tmp_path: Path, body: str, *options: str, **more: Any) -> subprocess.Popen[str]:
    (tmp_path / "program.py").write_text(PROLOGUE + body)
    (tmp_path / "temporary").mkdir()
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return Forked(
        partial(main, ["run", *options, "program.py"]),
        cwd=tmp_path,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path / "temporary")},
        preexec_fn=_heed_signals,
        **{**streams, **more},
    )


def end(process: subprocess.Popen[str]) -> tuple[int, list[str], list[str]]:
    out, err = process.communicate(timeout=100)
    return process.returncode, out.splitlines(), err.splitlines()


def run(tmp_path: Path, body: str, *options: str, **more: Any) -> tuple[int, list[str], list[str]]:
    return end(start(tmp_path, body, *options, **more))


def first_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


@pytest.mark.parametrize(
    ("body", "code", "err"),
    [
        ("tell('done')", 0, []),
        ("tell('done'); sys.exit(3)", 3, []),
        ("tell('done'); sys.exit(70)", 70, []),
        ("tell('done'); job(); raise SystemExit('no')", 1, ["no"]),
        ("tell('done'); raise DriverLostError(\"Spark's JVM is gone\")", 70, ["Spark's JVM is gone"]),
        ("tell('done'); die()", 137, [f"{KILLED}; no job was running"]),
        ("tell('done'); os.abort()", 134, ["the driver was killed by SIGABRT; no job was running"]),
    ],
)
def test_the_exit_code_is_that_of_the_driver(tmp_path: Path, body: str, code: int, err: list[str]) -> None:
    assert run(tmp_path, body) == (code, ["done"], err)
    assert (tmp_path / "lives").read_text() == "x"


def test_a_program_that_fails_is_not_started_again(tmp_path: Path) -> None:
    code, _, err = run(tmp_path, "job()\nraise ValueError('as any program may')")
    assert (code, err[-1]) == (1, "ValueError: as any program may")
    assert (tmp_path / "lives").read_text() == "x"


def test_a_driver_that_died_is_started_again_and_finds_its_checkpoints(tmp_path: Path) -> None:
    code, out, err = run(tmp_path, "found = job()\ntell(life, found)\nif life < 3: die()")
    assert out == [
        "1 None",
        "2 RecoveredJob(index=0, job_id='job-1', checkpoint_dir='/chk/1')",
        "3 RecoveredJob(index=0, job_id='job-1', checkpoint_dir='/chk/1')",
    ]
    assert err == [
        f"{KILLED}; restart 1 in 0.0 s: job job-1 goes on from /chk/1",
        f"{KILLED}; restart 2 in 0.0 s: job job-1 goes on from /chk/1",
    ]
    assert code == 0


def test_a_driver_without_its_jvm_is_started_again(tmp_path: Path) -> None:
    body = 'job()\ntell(life)\nif life == 1: raise DriverLostError("Spark\'s JVM is gone")'
    code, out, err = run(tmp_path, body)
    assert (code, out) == (0, ["1", "2"])
    assert err == [
        "Spark's JVM is gone",
        "the driver has lost Spark's JVM; restart 1 in 0.0 s: job job-1 goes on from /chk/1",
    ]


def test_restarts_end_when_the_strategy_says_so(tmp_path: Path) -> None:
    code, out, err = run(tmp_path, "job(attempts=2)\ntell(life)\ndie()")
    assert (code, out) == (137, ["1", "2", "3"])
    assert err[2:] == [
        f"{KILLED}; not restarted: job job-1 allows 2 restarts at most, each after 0.001 s",
        "millrace run -s goes on from a checkpoint of job job-1 in /chk/1",
    ]


def test_a_job_that_had_ended_does_not_run_twice(tmp_path: Path) -> None:
    code, out, _ = run(tmp_path, "job()\nfile.record_end('job-1', 'FINISHED')\njob()\ntell(life)\ndie()")
    assert (code, out) == (137, ["1"])


def test_supervision_can_be_switched_off(tmp_path: Path) -> None:
    code, out, err = run(tmp_path, "job()\ntell(os.getppid())\ndie()", "--no-restart")
    assert (code, out, err) == (-signal.SIGKILL, [str(os.getpid())], [])


def test_inside_another_program_there_is_one_process(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("import os\nprint(os.getpid())")
    assert CliRunner().invoke(main, ["run", str(program)]).stdout == f"{os.getpid()}\n"


# Many short waits: a signal that comes just before a wait begins is heeded after it.
WAITING = "try:\n    tell('ready')\n    for _ in range(600): time.sleep(0.1)\nfinally:\n    tell('cleaned up')"


@pytest.mark.parametrize("to_both", [False, True])
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_stops_the_driver_once(tmp_path: Path, number: int, code: int, to_both: bool) -> None:
    process = start(tmp_path, f"job()\n{WAITING}", start_new_session=True)
    assert first_line(process) == "ready"
    (os.killpg if to_both else os.kill)(process.pid, number)
    assert end(process) == (code, ["cleaned up"], ["cancelled"])
    assert (tmp_path / "lives").read_text() == "x"


def test_the_second_signal_does_not_wait_for_anything(tmp_path: Path) -> None:
    process = start(tmp_path, "try:\n    tell('ready')\n    time.sleep(60)\nfinally:\n    tell('busy'); time.sleep(60)")
    for line in ("ready", "busy"):
        assert first_line(process) == line
        process.terminate()
    assert end(process) == (143, [], [])


@pytest.mark.parametrize(("number", "code"), [(signal.SIGHUP, 129), (signal.SIGQUIT, 131)])
def test_a_terminal_that_closes_ends_the_driver_as_any_program(tmp_path: Path, number: int, code: int) -> None:
    process = start(tmp_path, f"job()\n{WAITING}")
    assert first_line(process) == "ready"
    process.send_signal(number)
    assert end(process) == (code, [], [])
    assert (tmp_path / "lives").read_text() == "x"


def test_who_was_told_to_stop_is_not_started_again(tmp_path: Path) -> None:
    body = "job()\nsignal.signal(signal.SIGTERM, lambda *_: tell('not yet'))\ntell(os.getpid())\n"
    process = start(tmp_path, body + "while True: time.sleep(60)")
    driver = int(first_line(process))
    process.terminate()
    assert first_line(process) == "not yet"
    os.kill(driver, signal.SIGKILL)
    assert end(process) == (137, [], [])


def test_a_signal_ends_the_wait_for_a_restart(tmp_path: Path) -> None:
    process = start(tmp_path, "job(delay='1 h')\ndie()")
    assert process.stderr is not None
    assert "restart 1 in 3600.0 s" in process.stderr.readline()
    process.terminate()
    assert end(process) == (143, [], ["cancelled"])


def test_the_watching_process_imports_next_to_nothing() -> None:
    modules = "{'pyspark', 'pyarrow', 'numpy', 'pandas', 'cloudpickle', 'ctypes'}"
    started = "millrace.cli.main, millrace.datastream.settings"
    code = f"import {started}, sys; print({modules} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "set()\n"


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not tell a process that its parent has died")
def test_nothing_is_left_of_a_command_that_is_killed(tmp_path: Path) -> None:
    process = start(tmp_path, "tell(os.getpid())\ntime.sleep(60)")
    driver = psutil.Process(int(first_line(process)))
    process.kill()
    assert psutil.wait_procs([driver], timeout=30)[1] == []
    process.communicate()


def test_nothing_is_left_in_the_temporary_directory(tmp_path: Path) -> None:
    body = "job()\ntell(os.listdir('temporary'))\nif life == 1: die()"
    code, out, _ = run(tmp_path, body)
    assert code == 0
    assert "millrace-run-" in out[1]
    assert os.listdir(tmp_path / "temporary") == []


READ = "job()\ntell(sys.stdin.read().split())\nif life == 1: die()"


def test_a_second_driver_reads_the_input_from_its_beginning(tmp_path: Path) -> None:
    (tmp_path / "input").write_text("to be or not")
    with open(tmp_path / "input") as file:
        assert run(tmp_path, READ, stdin=file)[:2] == (0, ["['to', 'be', 'or', 'not']"] * 2)


def test_what_came_through_a_pipe_cannot_be_read_again(tmp_path: Path) -> None:
    process = start(tmp_path, READ, stdin=subprocess.PIPE)
    out, err = process.communicate("to be", timeout=100)
    assert (process.returncode, out) == (137, "['to', 'be']\n")
    assert "not restarted: standard input is a pipe, and what was read from it is gone" in err


def test_an_interrupted_restart_leaves_the_live_line(tmp_path: Path) -> None:
    """On a terminal the line that the dead driver drew is erased first."""
    import pty

    terminal, side = pty.openpty()
    process = start(tmp_path, "job()\nif life == 1: die()", "--quiet", stderr=side)
    process.communicate(timeout=100)
    os.close(side)
    shown = b""
    while b"restart 1" not in shown:
        shown += os.read(terminal, 1000)
    os.close(terminal)
    assert shown.startswith(b"\r\x1b[Kthe driver was killed")


SAVEPOINTS = """
from concurrent.futures import Future
from millrace.common.jobs import CompletableFuture
from millrace.common.jobs import JobStatus
from millrace.datastream.settings import Submission, get_submitter

class Client:
    status = JobStatus.RUNNING
    def get_job_id(self):
        return "a"
    def get_job_status(self):
        return CompletableFuture.of(self.status)
    def trigger_savepoint(self, directory=None):
        assert directory is None
        return CompletableFuture.of("/sp/1")
    def cancel(self):
        self.status = JobStatus.CANCELED
        return CompletableFuture.of(None)

get_submitter()(Submission(str, Client, False))
"""


def test_sigusr1_asks_the_driver_for_a_savepoint(tmp_path: Path) -> None:
    process = start(tmp_path, f"{SAVEPOINTS}\n{WAITING}")
    assert first_line(process) == "ready"
    process.send_signal(signal.SIGUSR1)
    assert process.stderr is not None
    assert process.stderr.readline() == "savepoint of job a: /sp/1\n"
    process.terminate()
    assert end(process) == (143, ["cleaned up"], ["cancelled"])
