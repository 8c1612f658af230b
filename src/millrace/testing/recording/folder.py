"""The files of a recording: what it has of each job of a program, in order."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from millrace.testing.recording.events import lines_of
from millrace.testing.recording.values import RecordingError

_INDEX = "recording.json"
_VERSION = 1


@dataclass
class RecordedJob:
    """Where the sources' elements and the sinks' results of one job are."""

    name: str
    sources: dict[str, str] = field(default_factory=dict)
    """name of the source -> its file"""
    sinks: dict[str, str] = field(default_factory=dict)
    """name of the sink -> its file"""


class Recording:
    """A folder with a file for each source and each sink, and an index of them."""

    def __init__(self, path: Path, jobs: list[RecordedJob]) -> None:
        self.path = path
        self.jobs = jobs

    @staticmethod
    def new(path: Path) -> Recording:
        """:raises RecordingError: there is something in that folder already."""
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise RecordingError(f"{path} is there and not empty: name another folder, or delete it")
        path.mkdir(parents=True, exist_ok=True)
        return Recording(path, [])

    @staticmethod
    def read(path: Path) -> Recording:
        """:raises RecordingError: there is none, or none of this version."""
        try:
            index = json.loads((path / _INDEX).read_text("utf-8"))
            jobs = [RecordedJob(**job) for job in index["jobs"]]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise RecordingError(f"{path} has no recording of `millrace test record`: {error}") from error
        if index.get("version") != _VERSION:
            raise RecordingError(f"{path} has a recording of version {index.get('version')}, not {_VERSION}")
        return Recording(path, jobs)

    def job(self, number: int) -> RecordedJob:
        """The job that the program executes as the one after ``number`` others.

        :raises RecordingError: the recording has fewer.
        """
        if number >= len(self.jobs):
            raise RecordingError(f"{self.path} has {len(self.jobs)} jobs, the program executes more: record it again")
        return self.jobs[number]

    def file_of(self, job: RecordedJob, source: str) -> Path:
        """:raises RecordingError: the job had no such source."""
        if source not in job.sources:
            known = ", ".join(job.sources) or "none"
            raise RecordingError(f"{self.path} has no source {source!r} (it has {known}): record the program again")
        return self.path / job.sources[source]

    def results(self, job: RecordedJob) -> dict[str, list[str]]:
        """What each sink was given.

        :raises RecordingError: a file is not there.
        """
        try:
            return {name: lines_of(self.path / file) for name, file in job.sinks.items()}
        except OSError as error:
            raise RecordingError(f"{self.path}: {error}") from error

    def write_results(self, number: int, results: dict[str, list[str]]) -> None:
        """Replace what the sinks of a job were given."""
        job = self.jobs[number]
        for file in job.sinks.values():
            (self.path / file).unlink(missing_ok=True)
        job.sinks = {name: f"job{number + 1}-sink{n}.jsonl" for n, name in enumerate(results, 1)}
        for name, lines in results.items():
            (self.path / job.sinks[name]).write_text("".join(f"{line}\n" for line in lines), "utf-8")

    def write_index(self) -> None:
        jobs: list[dict[str, Any]] = [vars(job) for job in self.jobs]
        text = json.dumps({"version": _VERSION, "jobs": jobs}, indent=2, ensure_ascii=False)
        (self.path / _INDEX).write_text(text + "\n", "utf-8")
