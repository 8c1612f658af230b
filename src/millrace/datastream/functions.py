"""The functions that a user writes, under PyFlink's path."""

from millrace.common.functions import *  # noqa: F403
from millrace.common.functions import __all__ as __all__
