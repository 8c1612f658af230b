"""Checkpoint files of a user's own, where programs have always imported them from."""

from millrace.common.files.checkpoint_files import *  # noqa: F403
from millrace.common.files.checkpoint_files import __all__ as __all__
