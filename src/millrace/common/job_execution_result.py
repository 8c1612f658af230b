# Written by `make tables` from millrace.pyflink_names: edit that, not this file.
"""The outcome of a job, under PyFlink's path."""

from __future__ import annotations

from millrace.common.jobs import DetachedJobExecutionResult, JobExecutionResult

__all__ = [
    "DetachedJobExecutionResult",
    "JobExecutionResult",
]
