"""The state of an operator under test, as it would lie in a checkpoint."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field
from typing import Any

from millrace.runtime.pickling import dumps


@dataclass(frozen=True)
class Snapshot:
    """State between two epochs, whole or as a change. Held as bytes, so nothing is shared with the operator."""

    payload: bytes = field(repr=False)
    epoch: int
    """the epoch that comes next"""
    processing_time: int

    @staticmethod
    def of(state: Any, epoch: int, processing_time: int) -> Snapshot:
        """Raises what pickle raises for state that cannot be stored."""
        return Snapshot(dumps(state), epoch, processing_time)

    def state(self) -> Any:
        """A new copy of the state."""
        return pickle.loads(self.payload)
