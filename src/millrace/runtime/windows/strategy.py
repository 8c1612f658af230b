"""What a window operator does, as the user put it together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from millrace.common.state import StateDescriptor
from millrace.common.window import Evictor, MergingWindowAssigner, Trigger, WindowAssigner

CONTENTS = "window-contents"
"""name of the state that holds the elements of the windows, or what they were folded into"""


@dataclass(frozen=True)
class WindowStrategy:
    """Assigner, trigger and evictor, how contents are kept, and what happens to late elements."""

    assigner: WindowAssigner[Any, Any]
    trigger: Trigger[Any, Any]
    contents: StateDescriptor
    """a list state of the elements, or the reducing or aggregating state that they are folded into"""
    evictor: Evictor[Any, Any] | None = None
    allowed_lateness: int = 0
    """ms"""
    late_tag: str | None = None
    """side output for late elements; None: they are counted and dropped"""
    late_element: Callable[[Any], Any] | None = None
    """what of a late element goes to the side output; None: all of it"""
    in_memory: bool = True
    """whether all windows may be kept in tables that are in memory as a whole"""

    @property
    def is_event_time(self) -> bool:
        return self.assigner.is_event_time()

    @property
    def is_merging(self) -> bool:
        return isinstance(self.assigner, MergingWindowAssigner)
