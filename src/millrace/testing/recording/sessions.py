"""Records a program's jobs, or replays them, one after the other as it executes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from millrace.runtime.jobs.job import JobGraph
from millrace.testing.local import LocalRun
from millrace.testing.recording.differences import differences
from millrace.testing.recording.folder import RecordedJob, Recording
from millrace.testing.recording.playing import ALL_AT_ONCE, Variant, play, record, sources_of


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
        """The sources run for real, sinks get nothing: their results are kept.

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
    """A run that gave something else."""

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
        """results that were compared"""

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
        """The program has ended: jobs that it did not execute are missed."""
        for recorded in self._recording.jobs[self._jobs :]:
            lines = ("recorded, but the program does not execute it now",)
            self.deviations.append(Deviation(recorded.name, ALL_AT_ONCE.name, lines))
