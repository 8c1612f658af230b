"""State of user functions: handles, descriptors, time-to-live, and stores of a user's own."""

from millrace.common.state.handles import *  # noqa: F403
from millrace.common.state.handles import AppendingState as AppendingState
from millrace.common.state.handles import MergingState as MergingState
from millrace.common.state.handles import State as State
from millrace.common.state.handles import StateDescriptor as StateDescriptor
from millrace.common.state.handles import __all__ as __all__
