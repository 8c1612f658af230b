"""The base of the state of partitions between two batches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from millrace.runtime.cep.backtracking import Row
from millrace.runtime.elements import MAX_WATERMARK
from millrace.runtime.tables.columns.keys import Key


class MatchStates(ABC):
    """The state of all partitions of a subtask."""

    ENDLESS: ClassVar[int] = MAX_WATERMARK

    @abstractmethod
    def search(self, key: Key, new: Sequence[Row], horizon: int | None, ended: bool) -> int | None:
        """Process the next rows of a partition. Parameters as those of ``Machine.search``.

        :return: the time (ms) at which something is decided without further rows. ``ENDLESS``: at the end of the input;
            None: nothing is open.
        """
