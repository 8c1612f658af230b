"""When a job entered its states."""

from __future__ import annotations

from millrace.common.jobs.job_status import JobStatus
from millrace.runtime.coordination.history import JobHistory


def timestamps(history: JobHistory) -> dict[str, int]:
    """Name of each state -> when the job entered it last (ms), 0 if never."""
    entered = history.entered()
    return {"INITIALIZING": history.created, **{status.name: entered.get(status, 0) for status in JobStatus}}


def ended(history: JobHistory) -> int:
    """When the job ended (ms), -1 if it has not."""
    status = history.status
    return history.entered()[status] if status.is_globally_terminal_state() else -1
