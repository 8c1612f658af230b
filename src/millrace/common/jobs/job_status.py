"""The states of a job."""

from __future__ import annotations

import enum

__all__ = ["JobStatus"]


class JobStatus(enum.Enum):
    """States of a job once it has been accepted.

        >>> JobStatus.FINISHED.is_globally_terminal_state()
        True
    """

    CREATED = 0
    RUNNING = 1
    FAILING = 2
    """Failed, clean-up under way."""
    FAILED = 3
    CANCELLING = 4
    CANCELED = 5
    FINISHED = 6
    RESTARTING = 7
    SUSPENDED = 8
    """Stopped here, but still recoverable elsewhere."""
    RECONCILING = 9

    def is_globally_terminal_state(self) -> bool:
        """Whether the job is over for good: nothing will restart or recover it."""
        return self in (JobStatus.FAILED, JobStatus.CANCELED, JobStatus.FINISHED)

    def is_terminal_state(self) -> bool:
        """Whether the job is over for the process that ran it (adds ``SUSPENDED``)."""
        return self is JobStatus.SUSPENDED or self.is_globally_terminal_state()
