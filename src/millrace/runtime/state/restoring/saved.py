"""The state of one operator's subtask in the form in which savepoints are written and read."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from millrace.runtime.state.info import StateInfo
from millrace.runtime.state.operator_state import OperatorDelta

KeyedPieces = Iterable[dict[str, Any]]
"""keyed state as changes onto an empty backend, to be applied one after the other"""


@dataclass(frozen=True)
class SubtaskState:
    """The state of one operator's subtask."""

    keyed: KeyedPieces | None
    shared: OperatorDelta | None
    """the whole operator state"""
    small: Any
    """the value of ``Operator.snapshot``"""
    watermark: int


@dataclass(frozen=True)
class EarlierState:
    """The state that a subtask starts from: its share of the state of all earlier subtasks, whose number may differ."""

    keyed: KeyedPieces
    """keyed state of this subtask's key groups only"""
    shared: OperatorDelta
    smalls: tuple[Any, ...]
    """the small states of all earlier subtasks, in their order"""
    watermark: int
    """the lowest watermark of all earlier subtasks (ms)"""
    watermarks: tuple[int, ...] = ()
    """watermarks (ms) of all earlier subtasks, in their order, if their number differs; else empty"""
    adapt: Callable[[StateInfo, Any], Any] | None = None
    """(an operator state as it is requested now, its entry in ``shared``) -> the entry with values of the requested
    type"""
    may_drop: bool = False
    """whether state that does not fit may be dropped (``--allowNonRestoredState``)"""
