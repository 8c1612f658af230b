"""The outcome of a job, under PyFlink's path."""

from millrace.common.jobs.job_execution_result import *  # noqa: F403
from millrace.common.jobs.job_execution_result import __all__ as __all__
