"""What a stream keeps of the partitions between two batches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from millrace.runtime.cep.backtracking import Row
from millrace.runtime.elements import MAX_WATERMARK
from millrace.runtime.tables.columns.keys import Key


class MatchStates(ABC):
    """The states of all partitions of a subtask."""

    ENDLESS: ClassVar[int] = MAX_WATERMARK

    @abstractmethod
    def search(self, key: Key, new: Sequence[Row], horizon: int | None, ended: bool) -> int | None:
        """Take rows of a partition that follow. Parameters as those of ``Machine.search``.

        :return: when (ms) time alone decides something: no row comes any more that is before. ``ENDLESS``: at the end
            of the input; None: nothing is open.
        """
