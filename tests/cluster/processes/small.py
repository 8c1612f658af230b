"""A supervisor without Spark, whose programs write down that they ran.

With a point the process that reaches it is killed with -9 there, once.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from millrace.cluster import durable_files, job_folder, submissions
from millrace.cluster.processes import supervisor
from millrace.cluster.processes.job_process import ProgramRun
from millrace.cluster.socket_control import JobsHere

IDLE = "SMALL_IDLE"
"""Environment variable: after how many seconds without a program it ends."""
POINTS: dict[str, tuple[Any, str, bool]] = {
    "before a submission is taken up": (submissions, "take_up", False),
    "after a submission is taken up": (submissions, "take_up", True),
    "before a fork": (os, "fork", False),
    "after a fork": (os, "fork", True),
    "before an attempt": (submissions, "begin", False),
    "after an attempt has begun": (submissions, "begin", True),
    "before the outcome": (submissions, "write_outcome", False),
    "after the outcome": (submissions, "write_outcome", True),
    "before a program is settled": (supervisor.Watched, "settle", False),
    "after a program is settled": (supervisor.Watched, "settle", True),
    "before a program is done": (supervisor, "move", False),
    "after a program is done": (supervisor, "move", True),
}
CLIENT_POINTS: dict[str, tuple[Any, str, bool]] = {
    "before a file": (durable_files, "_write", False),
    "after a file": (durable_files, "_write", True),
    "before the submission is there": (os, "rename", False),
    "after the submission is there": (os, "rename", True),
}


def install(point: str, folder: str) -> None:
    """Let the first process die that reaches the point."""
    owner, name, after = {**POINTS, **CLIENT_POINTS}[point]
    marker = os.path.join(folder, "killed")
    real: Callable[..., Any] = getattr(owner, name)

    def die() -> None:
        try:
            os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return
        os.kill(os.getpid(), signal.SIGKILL)

    def wrapped(*arguments: Any, **named: Any) -> Any:
        if not after:
            die()
        result = real(*arguments, **named)
        if after and not (name == "fork" and result == 0):
            die()
        return result

    setattr(owner, name, wrapped)


def entry(run: ProgramRun, _: JobsHere) -> int:
    """Write down that the program ran; then what its words say: exit with a code, sleep, or be killed."""
    with open(os.path.join(os.path.dirname(run.work), "..", "..", f"ran-{run.submission.id}"), "a") as file:
        file.write("ran\n")
    words = list(run.submission.options.get("words", ()))
    print("said", *words, flush=True)
    for word in words:
        if word.startswith("sleep="):
            time.sleep(float(word[6:]))
        if word == "wait":
            signal.signal(signal.SIGINT, lambda *_: sys.exit(130))
            signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
            print("waiting", flush=True)
            signal.pause()
        if word == "stuck":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            child = subprocess.Popen(["sleep", "1000"])
            print("child", child.pid, flush=True)
            time.sleep(1000)
        if word == "echo":
            print(sys.stdin.readline().strip(), flush=True)
        if word.startswith("os._exit="):
            os._exit(int(word[9:]))
        if word.startswith("exit="):
            return int(word[5:])
    return 0


def serve(folder: str, point: str | None) -> None:
    """Be the supervisor of a folder."""
    if point is not None:
        install(point, folder)
    job_folder.make_folders(folder)
    supervisor.STARTING_SECONDS = 1.0
    idle = os.environ.get(IDLE)
    supervisor.Supervisor(folder, [], entry, None if idle is None else float(idle)).run()


def submit(folder: str, id: str, point: str | None) -> None:
    """Be a command that submits a program, and print whether it is new; with a point it dies there."""
    if point is not None:
        install(point, folder)
    print(submissions.submit(folder, submissions.SubmittedProgram(id, folder, isolated=True)))
