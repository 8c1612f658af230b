"""Records or replays a program's jobs, one after the other as the program executes them, and reports differences.

A recording is a folder with the files of each job, in order.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from millrace.runtime.operators.job_graph import JobGraph
from millrace.testing.local import LocalRun
from millrace.testing.recording.events import RecordingError, lines_of
from millrace.testing.recording.playing import ALL_AT_ONCE, Variant, play, record, sources_of

SHOWN = 10
"""Number of differing lines of a sink that are shown on either side."""


def differences(wanted: Mapping[str, Sequence[str]], found: Mapping[str, Sequence[str]]) -> list[str]:
    """Lines that name the sinks that differ, and the differences; empty if none does."""
    lines: list[str] = []
    for name in dict.fromkeys((*wanted, *found)):
        if name not in found:
            lines.append(f"{name}: recorded, but the program has no such sink now")
        elif name not in wanted:
            lines.append(f"{name}: the recording has no such sink")
        elif Counter(wanted[name]) != Counter(found[name]):
            lines += _of_sink(name, Counter(wanted[name]), Counter(found[name]))
    return lines


def _of_sink(name: str, wanted: Counter[str], found: Counter[str]) -> list[str]:
    missing, added = wanted - found, found - wanted
    sizes = f"{wanted.total()} recorded, {found.total()} now"
    return [f"{name}: {sizes}", *_signed("-", missing), *_signed("+", added)]


def _signed(sign: str, lines: Counter[str]) -> list[str]:
    shown = sorted(lines.elements())
    more = [f"  {sign} and {len(shown) - SHOWN} more"] if len(shown) > SHOWN else []
    return [*(f"  {sign} {line}" for line in shown[:SHOWN]), *more]


_INDEX = "recording.json"
_VERSION = 1


@dataclass
class RecordedJob:
    """The files of one job in a recording."""

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
        """The recorded input of each sink.

        :raises RecordingError: a file is not there.
        """
        try:
            return {name: lines_of(self.path / file) for name, file in job.sinks.items()}
        except OSError as error:
            raise RecordingError(f"{self.path}: {error}") from error

    def write_results(self, number: int, results: dict[str, list[str]]) -> None:
        """Replace the recorded input of a job's sinks."""
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


class Recorder:
    """Records what sources give, and what sinks get of that when it is played.

    :param records: of each subtask of a source, at most; None: all.
    :param seconds: after so long a job's recording ends; None: when its sources have given enough.
    """

    def __init__(self, recording: Recording, records: int | None, seconds: float | None) -> None:
        self._recording = recording
        self._records = records
        self._seconds = seconds

    def run(self, job: JobGraph) -> LocalRun:
        """Run the sources for real, and record the input of the sinks, which do not write.

        :raises JobFailedError: a function or a source failed.
        """
        number = len(self._recording.jobs)
        sources = sources_of(job)
        files = {name: f"job{number + 1}-source{n}.jsonl" for n, name in enumerate(sources, 1)}
        self._recording.jobs.append(RecordedJob(job.name, files))
        paths = {info.id: self._recording.path / files[name] for name, info in sources.items()}
        if sources:
            record(job, {paths[info.id]: info for info in sources.values()}, self._records, self._seconds)
        played = play(job, paths, ALL_AT_ONCE)
        self._recording.write_results(number, played.results)
        self._recording.write_index()
        return played.run


@dataclass(frozen=True)
class Deviation:
    """A run whose results differ from the recording's."""

    job: str
    variant: str
    lines: tuple[str, ...]


class Replayer:
    """Plays a recording, in all variants, and compares.

    :param more: variants besides ``ALL_AT_ONCE``, which is compared with the recording; they are compared with it.
    :param update: what is found becomes what is wanted from now on.
    """

    def __init__(self, recording: Recording, more: Sequence[Variant] = (), update: bool = False) -> None:
        self._recording = recording
        self._more = more
        self._update = update
        self._jobs = 0
        self.deviations: list[Deviation] = []
        self.lines = 0
        """number of results that were compared"""

    def run(self, job: JobGraph) -> LocalRun:
        """:raises RecordingError: the recording does not fit the program.
        :raises JobFailedError: a function failed."""
        number, self._jobs = self._jobs, self._jobs + 1
        recorded = self._recording.job(number)
        paths = {info.id: self._recording.file_of(recorded, name) for name, info in sources_of(job).items()}
        first = play(job, paths, ALL_AT_ONCE)
        self.lines += sum(map(len, first.results.values()))
        if self._update:
            self._recording.write_results(number, first.results)
            self._recording.write_index()
        else:
            self._note(job, ALL_AT_ONCE, differences(self._recording.results(recorded), first.results))
        for variant in self._more:
            self._note(job, variant, differences(first.results, play(job, paths, variant).results))
        return first.run

    def _note(self, job: JobGraph, variant: Variant, lines: list[str]) -> None:
        if lines:
            self.deviations.append(Deviation(job.name, variant.name, tuple(lines)))

    def finish(self) -> None:
        """Check, after the program has ended, that it has executed all recorded jobs."""
        for recorded in self._recording.jobs[self._jobs :]:
            lines = ("recorded, but the program does not execute it now",)
            self.deviations.append(Deviation(recorded.name, ALL_AT_ONCE.name, lines))
