"""Starts supervisors without Spark for tests, and waits for what they do."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from tests.cluster.processes.small import serve
from tests.forks import Forked

from millrace.cluster import job_folder, rpc, submissions
from millrace.cluster.rpc import NotThereError, ask
from millrace.cluster.submissions import Outcome, SubmittedProgram

ROOT = Path(__file__).parents[3]
SECONDS = 60.0


def wait_for(condition: Callable[[], Any], what: str, seconds: float = SECONDS, more: Callable[[], str] = str) -> Any:
    """What the condition gives when it is true. ``more`` is said in vain."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if found := condition():
            return found
        time.sleep(0.02)
    raise TimeoutError(f"{what}: not after {seconds} s {more()}")


class Small:
    """A cluster without engine and server; use it in a ``with``."""

    def __init__(self, folder: Path) -> None:
        self.folder = str(folder)
        self.process: subprocess.Popen[bytes] | None = None
        folder.mkdir(mode=0o700, exist_ok=True)
        job_folder.make_folders(self.folder)
        job_folder.write_configuration(self.folder, {})

    def __enter__(self) -> Small:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(SECONDS)
        for name in job_folder.names(self.folder, job_folder.JOBS):  # of a supervisor that was killed
            for each in submissions.attempts(os.path.join(self.folder, job_folder.JOBS, name)):
                if each.is_alive:
                    os.kill(each.pid, signal.SIGKILL)

    def start(self, point: str | None = None) -> None:
        """A supervisor; with a point one that dies there."""
        log = os.path.join(self.folder, job_folder.LOGS, "supervisor.log")
        with open(log, "ab") as file:
            self.process = Forked(
                partial(serve, self.folder, point), cwd=ROOT, env=environment(), stdout=file, stderr=file
            )

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def submit(self, *words: str, attached: bool = False) -> str:
        """A program with these words; its id."""
        id = submissions.new_id()
        now = time.time_ns() // 1_000_000
        options = {"words": list(words)}
        submissions.submit(
            self.folder,
            SubmittedProgram(
                id, self.folder, "small", options, environment=environment(), isolated=True, attached=attached,
                submitted=now,
            ),
        )  # fmt: skip
        return id

    @property
    def socket(self) -> str:
        return rpc.socket_path(self.folder, rpc.SUPERVISOR)

    def ask(self, call: str, **arguments: Any) -> Any:
        def asked() -> list[Any] | None:
            try:
                return [ask(self.socket, "the supervisor", call, **arguments)]
            except NotThereError:
                return None

        return wait_for(asked, f"an answer to {call}")[0]

    def outcome(self, id: str) -> Outcome:
        """How a program has ended, when it has."""
        done = os.path.join(self.folder, job_folder.DONE, id)
        found: Outcome = wait_for(lambda: os.path.isdir(done) and submissions.read_outcome(done), f"the end of {id}")
        return found

    def begun(self, id: str) -> int:
        """The pid of the process of a program, when there is one."""
        program = os.path.join(self.folder, job_folder.JOBS, id)
        found: int = wait_for(lambda: submissions.attempts(program), f"the beginning of {id}")[-1].pid
        return found

    def ran(self, id: str) -> int:
        """How often it ran."""
        try:
            return len(Path(self.folder, f"ran-{id}").read_text().splitlines())
        except FileNotFoundError:
            return 0

    def output(self, id: str, suffix: str = "out") -> str:
        return Path(self.folder, job_folder.LOGS, f"{id}.{suffix}").read_text()


def environment() -> dict[str, str]:
    source = str(ROOT / "src")
    return {**os.environ, "PYTHONPATH": os.pathsep.join([source, str(ROOT), os.environ.get("PYTHONPATH", "")])}
