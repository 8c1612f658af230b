"""Stores of state of a user's own, where programs have always imported them from."""

from millrace.common.state.store import *  # noqa: F403
from millrace.common.state.store import __all__ as __all__
