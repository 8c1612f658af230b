"""Windows, triggers and evictors, under PyFlink's path."""

from millrace.common.window import *  # noqa: F403
from millrace.common.window import __all__ as __all__
