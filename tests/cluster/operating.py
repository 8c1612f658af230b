"""A cluster with Spark for tests, operated by the command line."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
from tests.cluster.processes.running import environment, wait_for

from millrace.cluster import job_folder, submissions
from millrace.cluster.run_folder import describe_engine, describe_server

SECONDS = 240
JOB = re.compile(r"[0-9a-f]{32}")


class Operated:
    """To be used in a ``with``."""

    def __init__(self, place: Path, *configuration: str) -> None:
        self.place = place
        self._configuration = configuration
        self.run = place / "run"
        self.folder = str(self.run / "cluster")
        self.environment = {**environment(), "MILLRACE_RUN_DIR": str(self.run)}
        self.run.mkdir(mode=0o700)

    def __enter__(self) -> Operated:
        given = [word for each in ("spark.ui.enabled=false", *self._configuration) for word in ("-D", each)]
        started = self("cluster", "start", *given)
        assert started.returncode == 0, started.stderr + self.logs()
        return self

    def __exit__(self, *_: object) -> None:
        self("cluster", "stop")

    def __call__(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command."""
        return subprocess.run(
            [sys.executable, "-m", "millrace", *words],
            cwd=self.place,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )

    def begin(self, *words: str) -> subprocess.Popen[str]:
        """Begin to run a command."""
        return subprocess.Popen(
            [sys.executable, "-m", "millrace", *words],
            cwd=self.place,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def logs(self) -> str:
        base = Path(self.folder, job_folder.LOGS)
        return "\n".join(f"== {path.name}\n{path.read_text()[-3000:]}" for path in sorted(base.iterdir()))

    def detached(self, *words: str) -> str:
        """Run a program with -d; the id of its job."""
        done = self("run", "-d", *words)
        assert done.returncode == 0, done.stderr + self.logs()
        found = re.fullmatch(r"Job has been submitted with JobID ([0-9a-f]{32})\n", done.stdout)
        assert found, done.stdout
        return found[1]

    @property
    def url(self) -> str:
        server = wait_for(lambda: describe_server(self.folder), "the server")
        found: str = server.url
        return found

    def ask(self, path: str) -> Any:
        def asked() -> Any:
            try:
                return httpx.get(self.url + path, timeout=20, trust_env=False)
            except httpx.HTTPError:
                return None  # it is just being started again

        return wait_for(asked, f"an answer to {path}").json()

    def state(self, job: str) -> str:
        return str(self.ask(f"/jobs/{job}").get("state"))

    def wait_until(self, job: str, *states: str) -> str:
        """Wait for a state of a job."""
        reached = lambda: (now := self.state(job)) in states and now
        return str(wait_for(reached, f"job {job} is {states}", SECONDS, self.logs))

    def driver(self, job: str) -> int:
        """The pid of the process that drives it."""
        return submissions.attempts(os.path.join(self.folder, job_folder.JOBS, job))[-1].pid

    def kill(self, what: str) -> int:
        """Kill engine or server with -9; the pid that it had."""
        described: Any = describe_engine(self.folder) if what == "engine" else describe_server(self.folder)
        os.kill(described.process.pid, signal.SIGKILL)
        pid: int = described.process.pid
        return pid

    def lines(self, job: str) -> list[str]:
        """What a detached program has printed."""
        return Path(self.folder, job_folder.LOGS, f"{job}.out").read_text().splitlines()
