"""The timer service, under PyFlink's path."""

from millrace.common.timerservice import *  # noqa: F403
from millrace.common.timerservice import __all__ as __all__
