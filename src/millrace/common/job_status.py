# Written by `make tables` from millrace.pyflink_names: edit that, not this file.
"""The states of a job, under PyFlink's path."""

from __future__ import annotations

from millrace.common.jobs import JobStatus

__all__ = [
    "JobStatus",
]
