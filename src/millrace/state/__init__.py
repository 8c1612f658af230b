"""The state in savepoints as data: read it, change it, create it from other data. PyFlink has no counterpart."""

from __future__ import annotations

from millrace.checkpoint.inert import PickledObject
from millrace.state.bootstrap import BootstrapError, KeyedStateBootstrapFunction, OperatorTransformation
from millrace.state.open_savepoint import NotInSavepointError, OperatorEntry, StateEntry
from millrace.state.query_tables import NotATableError, StateTableView, TableColumn
from millrace.state.reader import SavepointMetadata, SavepointReader, SourcePosition, StateView
from millrace.state.state_columns import Slice, Timer
from millrace.state.writer import SavepointWriter

__all__ = [
    "BootstrapError",
    "KeyedStateBootstrapFunction",
    "NotATableError",
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
    "StateTableView",
    "StateView",
    "TableColumn",
    "Timer",
]
