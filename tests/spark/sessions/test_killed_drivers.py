"""What a driver leaves behind that is killed while its JVM boots, waits or works: no process, and no open pipe.

All that it has started is known by a variable in its environment.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from millrace.util import system

pytestmark = pytest.mark.skipif(not system.has_parent_death_signal(), reason="nothing starts ahead on this system")

SECONDS = 120
MARK = "MILLRACE_TEST_MARK"
RUN = ("-m", "millrace", "run", "-t", "local")
KILLED = (128 + signal.SIGKILL, -signal.SIGKILL)
"""Exit codes: of a command whose driver was killed, of a driver without one."""
DIE = """
import os, signal

def die():
    os.kill(os.getpid(), signal.SIGKILL)
"""
JOB = """
from millrace.datastream import StreamExecutionEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(2)
"""
BEGUN = """
from millrace.spark.sessions import own_jvm

jvm = own_jvm._early.jvm
assert jvm.process.poll() is None
"""
BOOTS = f"{BEGUN}die()"
ANSWERS = f"{BEGUN}assert jvm.answers(); die()"
HAS_RUN_A_JOB = f"""
{JOB}
env.from_collection([1, 2, 3]).map(lambda v: v + 1).print()
env.execute("before")
die()
"""
RUNS_A_JOB = f"""
{JOB}
driver = os.getpid()

def kill_the_driver(value):
    os.kill(driver, signal.SIGKILL)
    return value

env.from_collection([1, 2, 3]).map(kill_the_driver).print()
env.execute("meanwhile")
"""


@pytest.fixture
def mark(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    name = uuid.uuid4().hex
    monkeypatch.setenv(MARK, name)
    monkeypatch.delenv("MILLRACE_START_AHEAD")
    # A session of earlier tests has left some here, and with them nothing starts ahead.
    for variable in [each for each in os.environ if each.startswith(("SPARK_", "PYSPARK_"))]:
        monkeypatch.delenv(variable)
    yield name
    for process in marked(name):
        process.kill()


def marked(name: str) -> list[psutil.Process]:
    """The processes that have it in their environment."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(MARK) == name:
                found.append(process)
        except psutil.Error:
            continue
    return found


@pytest.mark.parametrize(
    ("how", "program"),
    [
        pytest.param(RUN, BOOTS, id="while the JVM boots"),
        pytest.param(RUN, ANSWERS, id="while the JVM waits"),
        pytest.param(RUN, RUNS_A_JOB, id="while a job runs"),
        pytest.param(RUN, HAS_RUN_A_JOB, id="after a job", marks=pytest.mark.slow),
        pytest.param((), RUNS_A_JOB, id="without the command", marks=pytest.mark.slow),
    ],
)
def test_nothing_is_left(tmp_path: Path, mark: str, how: tuple[str, ...], program: str) -> None:
    (tmp_path / "program.py").write_text(DIE + program)
    with subprocess.Popen(
        [sys.executable, *how, "program.py"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as run:
        _, err = run.communicate(timeout=SECONDS)  # it returns when nobody has the pipes any more
        assert run.returncode in KILLED, err
    assert psutil.wait_procs(marked(mark), timeout=SECONDS)[1] == []
