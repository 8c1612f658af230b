"""The state of savepoints as data: read it, change it, make it from data of your own. PyFlink has no such thing."""

from __future__ import annotations

from millrace.state.entries import Timer
from millrace.state.listing import OperatorEntry, StateEntry
from millrace.state.opened import NotInSavepointError
from millrace.state.reader import SavepointMetadata, SavepointReader, SourcePosition
from millrace.state.view import StateView

__all__ = [
    "NotInSavepointError",
    "OperatorEntry",
    "SavepointMetadata",
    "SavepointReader",
    "SourcePosition",
    "StateEntry",
    "StateView",
    "Timer",
]
