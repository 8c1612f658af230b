"""A job's identifier, under PyFlink's path."""

from millrace.common.jobs import JobID

__all__ = ["JobID"]
