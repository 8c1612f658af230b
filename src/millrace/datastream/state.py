"""State descriptors and handles, under PyFlink's path."""

from millrace.common.state import *  # noqa: F403
from millrace.common.state import AppendingState, MergingState, State, StateDescriptor
from millrace.common.state import __all__ as _listed

__all__ = [*_listed, "AppendingState", "MergingState", "State", "StateDescriptor"]
