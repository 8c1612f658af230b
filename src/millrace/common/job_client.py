"""The client of a job, under PyFlink's path."""

from millrace.common.jobs import JobClient

__all__ = ["JobClient"]
