# Written by `make tables` from millrace.pyflink_names: edit that, not this file.
"""The client of a job, under PyFlink's path."""

from __future__ import annotations

from millrace.common.jobs import JobClient

__all__ = [
    "JobClient",
]
