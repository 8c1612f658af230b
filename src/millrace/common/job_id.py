"""A job's identifier, under PyFlink's path."""

from millrace.common.jobs.job_id import *  # noqa: F403
from millrace.common.jobs.job_id import __all__ as __all__
