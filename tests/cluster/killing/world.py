"""A cluster whose processes are killed: who they are, how they come back, what they answer and leave behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import httpx
from tests.cluster.processes.running import ROOT, environment, wait_for

from millrace.cluster import job_folder, run_folder, submissions
from millrace.cluster.run_folder import describe_engine, describe_server
from millrace.util.system import is_alive

OVER = ("FINISHED", "CANCELED", "FAILED")
SETTLED = ("RUNNING", *OVER)


class World:
    """To be used in a ``with``.

    :param command: of the supervisor of the cluster in a folder.
    """

    seconds = 60.0
    """how long it is waited for anything"""

    def __init__(self, place: Path, command: Callable[[str], Sequence[str]], configuration: dict[str, str]) -> None:
        self.place = place
        self.run = place / "run"
        self.folder = str(self.run / "cluster")
        self.environment = {**environment(), run_folder.RUN_DIRECTORY: str(self.run)}
        self._command = command
        self._supervisor: subprocess.Popen[bytes] | None = None
        self.run.mkdir(mode=0o700)
        Path(self.folder).mkdir(mode=0o700)
        job_folder.make_folders(self.folder)
        job_folder.write_configuration(self.folder, configuration)
        Path(self.folder, "token").write_text("secret")

    def __enter__(self) -> World:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(TimeoutError):
            self.stop()
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def start(self) -> None:
        """Start a supervisor, as who operates the cluster does when there is none."""
        with open(os.path.join(self.folder, job_folder.LOGS, "supervisor.log"), "ab") as log:
            self._supervisor = subprocess.Popen(
                self._command(self.folder),
                cwd=ROOT,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        wait_for(lambda: run_folder.read_entry(self.folder), "the supervisor begins", self.seconds, self.logs)

    def stop(self) -> None:
        """End all in good order."""
        if self._supervisor is not None and self._supervisor.poll() is None:
            self._supervisor.send_signal(signal.SIGTERM)
            self._supervisor.wait(self.seconds)
        wait_for(lambda: not self.processes(), "all processes end", self.seconds, lambda: str(self.processes()))

    def restore(self) -> None:
        """Start the supervisor if it was killed, and wait until all processes are there again."""
        assert self._supervisor is not None
        if run_folder.read_entry(self.folder) is None:
            self._supervisor.wait(self.seconds)
            self.start()
        there = lambda: describe_engine(self.folder) and describe_server(self.folder)
        wait_for(there, "all is there", self.seconds, self.logs)
        wait_for(lambda: self.ask("GET", "/config") is not None, "the server answers", self.seconds, self.logs)

    # -- its processes --------------------------------------------------------------------------------------------

    def victims(self, name: str, job: str | None) -> list[int]:
        """The processes of a kind that live now."""
        if name == "supervisor":
            found = run_folder.read_entry(self.folder)
            return [] if found is None else [found.entry.process.pid]
        if name == "server":
            server = describe_server(self.folder)
            return [] if server is None else [server.process.pid]
        if name == "engine":
            engine = describe_engine(self.folder)
            return [] if engine is None else [engine.process.pid]
        assert name == "job", name
        driver = self.driver(job) if job is not None else None
        return [] if driver is None else [driver]

    def driver(self, job: str) -> int | None:
        """The process of a job's program, if it lives."""
        begun = submissions.attempts(os.path.join(self.folder, job_folder.JOBS, job))
        return begun[-1].pid if begun and begun[-1].is_alive else None

    def processes(self) -> list[int]:
        """All processes that live and belong to this cluster, by their environment."""
        wanted = f"{run_folder.RUN_DIRECTORY}={self.run}".encode()
        found = []
        for name in os.listdir("/proc"):
            if name.isdecimal() and int(name) != os.getpid():
                with contextlib.suppress(OSError):
                    has = wanted in Path("/proc", name, "environ").read_bytes().split(b"\0")
                    if has and is_alive(int(name)):
                        found.append(int(name))
        return found

    # -- its answers ----------------------------------------------------------------------------------------------

    def ask(self, method: str, path: str, **options: Any) -> httpx.Response | None:
        """What the server answers; None: it was not there, or died before it answered."""
        server = describe_server(self.folder)
        if server is None:
            return None
        try:
            return httpx.request(
                method, server.url + path, headers={"Authorization": "Bearer secret"}, timeout=self.seconds,
                trust_env=False, **options,
            )  # fmt: skip
        except httpx.HTTPError:
            return None

    def insist(self, method: str, path: str, **options: Any) -> httpx.Response:
        """Ask until there is an answer."""
        found: list[httpx.Response] = wait_for(
            lambda: [each for each in [self.ask(method, path, **options)] if each is not None],
            f"an answer to {method} {path}", self.seconds, self.logs,
        )  # fmt: skip
        return found[0]

    def states(self) -> dict[str, str]:
        """What the overview says of each job."""
        return {each["jid"]: each["state"] for each in self.insist("GET", "/jobs/overview").json()["jobs"]}

    def wait_until(self, job: str, *states: str) -> None:
        wait_for(lambda: self.states().get(job) in states, f"job {job[:6]} is {states}", self.seconds, self._where(job))

    def _where(self, job: str) -> Callable[[], str]:
        return lambda: f"but {self.states().get(job)}\n{self.logs()}"

    def logs(self) -> str:
        base = Path(self.folder, job_folder.LOGS)
        return "\n".join(f"== {path.name}\n{path.read_text()[-1500:]}" for path in sorted(base.iterdir()))

    def place_of(self, job: str) -> str | None:
        """Where a program is: the name of the folder."""
        found = job_folder.place_of(self.folder, job)
        return None if found is None else os.path.basename(os.path.dirname(found))
