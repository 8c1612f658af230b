"""The state in savepoints as data: read it, change it, create it from other data. PyFlink has no counterpart."""

from __future__ import annotations

from millrace.checkpoint.inert import PickledObject
from millrace.state.bootstrap import BootstrapError, KeyedStateBootstrapFunction, OperatorTransformation
from millrace.state.entries import Slice, Timer
from millrace.state.open_savepoint import NotInSavepointError, OperatorEntry, StateEntry
from millrace.state.reader import SavepointMetadata, SavepointReader, SourcePosition, StateView
from millrace.state.writer import SavepointWriter

__all__ = [
    "BootstrapError",
    "KeyedStateBootstrapFunction",
    "NotInSavepointError",
    "OperatorEntry",
    "OperatorTransformation",
    "PickledObject",
    "SavepointMetadata",
    "SavepointReader",
    "SavepointWriter",
    "Slice",
    "SourcePosition",
    "StateEntry",
    "StateView",
    "Timer",
]
