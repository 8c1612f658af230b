"""Children that end with their parent, with processes."""

from __future__ import annotations

import signal
import subprocess
import sys

import psutil
import pytest

from millrace.util import system

pytestmark = pytest.mark.skipif(not system.has_parent_death_signal(), reason="this system does not tell")

SECONDS = 60
PARENT = """
import os, signal, subprocess, time
from functools import partial
from millrace.util import system

assert system.has_parent_death_signal()
child = subprocess.Popen(
    ["cat"], stdin=subprocess.PIPE, preexec_fn=partial(system.signal_when_parent_dies, os.getpid(), signal.SIGTERM)
)
fork = os.fork()
if fork == 0:  # holds the standard input of the child open
    time.sleep(600)
print(child.pid, fork, flush=True)
time.sleep(600)
"""
LATE = """
import os, signal
from millrace.util import system

system.signal_when_parent_dies(os.getpid(), signal.SIGTERM)  # which is not the parent
print("still here")
"""


def test_a_child_ends_when_its_parent_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child, fork = map(psutil.Process, map(int, parent.stdout.readline().split()))
        try:
            assert child.is_running()
            parent.kill()
            assert psutil.wait_procs([child], timeout=SECONDS)[1] == []
            assert fork.is_running()
        finally:
            fork.kill()


def test_a_child_whose_parent_is_gone_already_ends_at_once() -> None:
    done = subprocess.run([sys.executable, "-c", LATE], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (-signal.SIGTERM, "")
