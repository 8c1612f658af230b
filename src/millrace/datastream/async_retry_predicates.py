"""Conditions for retries of async calls, under PyFlink's path."""

from millrace.common.functions.async_retry_predicates import *  # noqa: F403
from millrace.common.functions.async_retry_predicates import __all__ as __all__
