"""The state of savepoints as data: read it, change it, make it from data of your own. PyFlink has no such thing."""

from __future__ import annotations

from millrace.checkpoint.values.pickled_object import PickledObject
from millrace.state.bootstrap import KeyedStateBootstrapFunction, OperatorTransformation
from millrace.state.entries import Slice, Timer
from millrace.state.keyed_bootstrap import BootstrapError
from millrace.state.listing import OperatorEntry, StateEntry
from millrace.state.opened import NotInSavepointError
from millrace.state.reader import SavepointMetadata, SavepointReader, SourcePosition
from millrace.state.view import StateView
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
