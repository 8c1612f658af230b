"""Retries of async calls, under PyFlink's path."""

from millrace.common.functions.async_retry_strategies import *  # noqa: F403
from millrace.common.functions.async_retry_strategies import __all__ as __all__
