"""The client of a job, under PyFlink's path."""

from millrace.common.jobs.job_client import *  # noqa: F403
from millrace.common.jobs.job_client import __all__ as __all__
