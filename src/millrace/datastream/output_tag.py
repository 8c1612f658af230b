"""Side outputs, under PyFlink's path."""

from millrace.common.output_tag import *  # noqa: F403
from millrace.common.output_tag import __all__ as __all__
