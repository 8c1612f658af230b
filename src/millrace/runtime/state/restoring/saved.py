"""The state of one operator's subtask on its way to a savepoint and back."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from millrace.runtime.state.info import StateInfo
from millrace.runtime.state.operator_state import OperatorDelta

KeyedPieces = Iterable[dict[str, Any]]
"""Keyed state as changes onto an empty backend, to be applied one after the other"""


@dataclass(frozen=True)
class SubtaskState:
    """All that one subtask of an operator keeps."""

    keyed: KeyedPieces | None
    shared: OperatorDelta | None
    """its operator state as a whole"""
    small: Any
    """what ``Operator.snapshot`` gave"""
    watermark: int


@dataclass(frozen=True)
class EarlierState:
    """What a subtask begins with: its share of the state of all earlier subtasks, of which there may be another
    number."""

    keyed: KeyedPieces
    """only key groups of this subtask"""
    shared: OperatorDelta
    smalls: tuple[Any, ...]
    """of all earlier subtasks, in their order"""
    watermark: int
    """the lowest of all of them (ms)"""
    watermarks: tuple[int, ...] = ()
    """of all earlier subtasks, in their order, if there was another number of them"""
    adapt: Callable[[StateInfo, Any], Any] | None = None
    """(an operator state that is wanted now, its entry in ``shared``) -> the entry with values of the wanted type"""
    may_drop: bool = False
    """whether what does not fit may be dropped (``--allowNonRestoredState``)"""
