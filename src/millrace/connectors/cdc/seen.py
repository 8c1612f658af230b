"""``Seen``: which changes of the log are already in rows that were read from the table itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

__all__ = ["Seen", "UpTo"]


class Seen(ABC):
    """Belongs to the rows of a chunk. Picklable."""

    @abstractmethod
    def contains(self, mark: Any) -> bool:
        """Whether the rows have the change with this ``Change.mark``."""

    @abstractmethod
    def passed(self, position: Any) -> bool:
        """Whether nothing behind this position of the log is in the rows: there is nothing to ask any more."""


@dataclass(frozen=True)
class UpTo(Seen):
    """All changes up to a position are in the rows, and none behind it: positions are marks, and have an order."""

    high: Any

    def contains(self, mark: Any) -> bool:
        return bool(mark <= self.high)

    def passed(self, position: Any) -> bool:
        return bool(position >= self.high)
