"""The two clocks of timers, under PyFlink's path."""

from millrace.common.time_domain import *  # noqa: F403
from millrace.common.time_domain import __all__ as __all__
