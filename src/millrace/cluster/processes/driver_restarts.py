"""Decides whether a new driver starts after one has died: only if all of its jobs can be restored.

A module of its own: ``millrace run`` loads it in the process that watches the driver, which loads no engine.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from millrace.spark.job_records import JobRecord, RecoveredJob, read_jobs

if TYPE_CHECKING:
    from millrace.runtime.coordination.restart import RestartPolicy


LOST = "the driver has lost Spark's JVM"


@dataclass(frozen=True)
class Verdict:
    """The text to print (may be empty), and the delay before the restart in ms; None: no restart."""

    text: str
    delay_ms: int | None = None


class Restarts:
    """Decides after each death of a driver whether another starts. Each job's count of failures survives its
    drivers."""

    def __init__(self, path: str, input_is_lost: bool = False) -> None:
        """``path``: the recovery file of the drivers."""
        self._path = path
        self._input_is_lost = input_is_lost
        self._policies: dict[int, RestartPolicy] = {}
        """restart policy of each job, by the job's index"""
        self._count = 0

    def after(self, death: str | None, now_ms: int) -> Verdict:
        """The verdict after a driver's death. ``death`` says how it died; None: the driver has reported a lost JVM
        itself."""
        jobs = read_jobs(self._path)
        running = [job for job in jobs if job.end is None]
        if not running:
            return Verdict(f"{death}; no job was running" if death else "")
        refusal = self._refusal(jobs, running)
        delay = None if refusal else self._delay(running, now_ms)
        if delay is not None:
            self._count += 1
            seconds = f"{delay / 1000:.1f} s"
            return Verdict(f"{death or LOST}; restart {self._count} in {seconds}: {_prospects(running)}", delay)
        reason = refusal or "; ".join(f"{_name(job)} allows {self._policy(job).description}" for job in running)
        return Verdict(f"{death or LOST}; not restarted: {reason}{_way_out(running)}")

    def _refusal(self, jobs: Iterable[JobRecord], running: Iterable[JobRecord]) -> str | None:
        """Why no driver may be started; None if one may."""
        for job in running:
            if job.restart is None or job.recoverable is None:
                return f"{_name(job)} has no durable checkpoint to go on from (see execution.checkpointing.dir)"
        for job in jobs:
            if job.end is not None:
                return f"{_name(job)} of the program has already ended ({job.end}) and would run again"
        if self._input_is_lost:
            return (
                "standard input is a pipe, and what was read from it is gone (give the program < /dev/null if it does "
                "not read it)"
            )
        return None

    def _delay(self, running: Iterable[JobRecord], now_ms: int) -> int | None:
        """The longest delay that a job asks for; None if one of them allows no restart."""
        delays = [self._policy(job).on_failure(now_ms) for job in running]
        allowed = [delay for delay in delays if delay is not None]
        return max(allowed) if len(allowed) == len(delays) else None

    def _policy(self, job: JobRecord) -> RestartPolicy:
        from millrace.runtime.coordination.restart import restart_policy

        if job.index not in self._policies:
            self._policies[job.index] = restart_policy(job.restart or {}, checkpointing=True)
        return self._policies[job.index]


def _name(job: JobRecord) -> str:
    return f"job {job.job_id}"


def _prospects(running: Iterable[JobRecord]) -> str:
    return ", ".join(f"job {job.job_id} goes on from {job.checkpoint_dir}" for job in _recoverable(running))


def _way_out(running: Iterable[JobRecord]) -> str:
    return "".join(
        f"\nmillrace run -s goes on from a checkpoint of job {job.job_id} in {job.checkpoint_dir}"
        for job in _recoverable(running)
    )


def _recoverable(running: Iterable[JobRecord]) -> list[RecoveredJob]:
    return [job.recoverable for job in running if job.recoverable is not None]
