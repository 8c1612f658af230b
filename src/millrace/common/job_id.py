# Written by `make tables` from millrace.pyflink_names: edit that, not this file.
"""A job's identifier, under PyFlink's path."""

from __future__ import annotations

from millrace.common.jobs import JobID

__all__ = [
    "JobID",
]
