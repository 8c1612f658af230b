"""What requests are about: jobs in each state, their vertices and checkpoints, files to upload."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from tests.flink.rest.ask import Request
from tests.flink.rest.programs import STATES
from tests.flink.rest.send import Answered, at, send

SECONDS = 120
METRICS_SECONDS = 60
"""Flink looks for them every ten seconds."""
ENDED = ("FINISHED", "FAILED", "CANCELED")


class Jobs(Protocol):
    """How a server of a kind gets jobs and files; the comparer and the recording know no more of it."""

    def submit(self, name: str) -> str:
        """Run the script of ``programs`` with this name; the id of the new job."""

    def file(self, name: str) -> tuple[str, bytes]:
        """Name and content of an upload: "program" can be run, "broken" only has such a name, "text" not even that."""

    @property
    def arguments(self) -> str:
        """What the uploaded program is started with to run ``finished.sql``, joined by commas."""

    @property
    def folder(self) -> Path:
        """An existing folder for savepoints, which the server may write to."""


class NoValue(Exception):
    """The world has no such value: an answer before did not bring it."""


class World:
    """Values for the references of requests, found by asking the server itself; each is found once."""

    def __init__(self, base: str, jobs: Jobs) -> None:
        self.base, self.jobs = base, jobs
        self.known: dict[str, str] = {}
        self._missing: dict[str, str] = {}
        self._getters: dict[str, Callable[[], str]] = {
            "folder": lambda: str(jobs.folder),
            "arguments": lambda: jobs.arguments,
        }

    def value(self, name: str) -> str:
        """The value of a reference: "running", "running#second", "running.vertex", "taskmanager", "kept.trigger"."""
        if name in self.known:
            return self.known[name]
        if name in self._missing:
            raise NoValue(self._missing[name])
        job, _, part = name.partition(".")
        if name in self._getters:
            found = self._getters[name]()
        elif name == "taskmanager":
            found = str(self._get("/taskmanagers", "taskmanagers/0/id"))
        elif job.partition("#")[0] in STATES:
            found = self._part(job, part) if part else self._checked_job(job)
        else:
            raise NoValue(name)
        if part != "checkpoint":  # a server keeps but the latest
            self.known[name] = found
        return found

    def keep(self, name: str, value: Any) -> None:
        self.known.pop(f"kept.{name}", None)
        if value is not None:
            self.known[f"kept.{name}"] = str(value)

    def file(self, name: str) -> tuple[str, bytes]:
        return self.jobs.file(name)

    def _checked_job(self, name: str) -> str:
        """A job, or why there is none: waited for once, not by each request about it."""
        try:
            return self._job(name)
        except (RuntimeError, TimeoutError) as error:
            self._missing[name] = f"{name}: {error}"
            raise NoValue(self._missing[name]) from error

    def _job(self, name: str) -> str:
        kind = name.partition("#")[0]
        job = self.jobs.submit(kind)
        if kind == "canceled":
            self.wait("its tasks run", lambda: self._all_run(job))
            self.wait("a checkpoint", lambda: bool(self._get(f"/jobs/{job}/checkpoints", "latest/completed")))
            send(self.base, Request("PATCH", f"/jobs/{job}?mode=cancel", None, ""))
        wanted = STATES[kind]
        self.wait(f"{name} is {wanted}", lambda: self._is(job, wanted))
        if kind in ("running", "plain"):
            self.wait("its tasks run", lambda: self._all_run(job))
        if kind == "running":
            self.wait("two checkpoints", lambda: int(self._get(f"/jobs/{job}/checkpoints", "counts/completed")) > 1)
        if name in ("running", "plain"):
            self._wait_for_metrics(job)
        if kind == "restarting":
            self.wait("a second failure", lambda: self._failures(job) > 1)
        return job

    def _wait_for_metrics(self, job: str) -> None:
        """Metrics come a while after the job; a server that has none is to be asked for the rest all the same."""
        sink = self._get(f"/jobs/{job}", "vertices/-1/id")
        path = f"/jobs/{job}/vertices/{sink}/watermarks"
        with contextlib.suppress(TimeoutError):
            self.wait("its metrics", lambda: isinstance(self._get(path, "0/id"), str), METRICS_SECONDS)

    def _is(self, job: str, wanted: str) -> bool:
        state = self._get(f"/jobs/{job}", "state")
        if state in ENDED and state != wanted:
            raise RuntimeError(f"job {job} is {state} and was to be {wanted}")
        return bool(state == wanted)

    def _all_run(self, job: str) -> bool:
        counts = self._get(f"/jobs/{job}", "status-counts") or {}
        return bool(counts.get("RUNNING", 0) == sum(counts.values()) > 0)

    def _failures(self, job: str) -> int:
        entries = self._get(f"/jobs/{job}/exceptions", "exceptionHistory/entries") or []
        return len(entries) if self._get(f"/jobs/{job}", "state") == "RESTARTING" else 0

    def _part(self, job: str, part: str) -> str:
        found = self.value(job)
        if part == "vertex":
            return str(self._get(f"/jobs/{found}", "vertices/0/id"))
        if part == "sink":
            return str(self._get(f"/jobs/{found}", "vertices/-1/id"))
        if part == "checkpoint":
            return str(self._get(f"/jobs/{found}/checkpoints", "latest/completed/id"))
        raise NoValue(f"{job}.{part}")

    def _get(self, path: str, place: str) -> Any:
        answered: Answered = send(self.base, Request("GET", path, None, ""))
        return at(answered.body, place)

    @staticmethod
    def wait(what: str, done: Callable[[], bool], seconds: float = SECONDS) -> None:
        end = time.monotonic() + seconds
        while True:
            with contextlib.suppress(TypeError):  # what an answer does not have yet
                if done():
                    return
            if time.monotonic() > end:
                raise TimeoutError(f"waited {seconds} s until {what}")
            time.sleep(0.2)
