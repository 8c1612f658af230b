"""The state of an operator under test, as it would lie in a checkpoint."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from dataclasses import dataclass, field

from millrace.runtime.pickling import dumps
from millrace.runtime.tasks.member import OperatorDeltas


@dataclass(frozen=True)
class Snapshot:
    """State between two epochs, whole or as a change. Held as bytes, so nothing is shared with the operator.

        >>> Snapshot.of([], epoch=3, processing_time=0, whole=True).epoch
        3
    """

    payload: bytes = field(repr=False)
    epoch: int
    """the epoch that comes next"""
    processing_time: int
    whole: bool
    """whether it is all state, rather than changes"""

    @staticmethod
    def of(pieces: Iterable[OperatorDeltas], epoch: int, processing_time: int, whole: bool) -> Snapshot:
        """Raises what pickle raises for state that cannot be stored."""
        return Snapshot(dumps(list(pieces)), epoch, processing_time, whole)

    def pieces(self) -> list[OperatorDeltas]:
        """A new copy of the state, to be taken over piece by piece."""
        pieces: list[OperatorDeltas] = pickle.loads(self.payload)
        return pieces
