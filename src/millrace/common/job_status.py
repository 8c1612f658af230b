"""The states of a job, under PyFlink's path."""

from millrace.common.jobs import JobStatus

__all__ = ["JobStatus"]
