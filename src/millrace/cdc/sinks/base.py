"""What the composer needs of a sink."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from millrace.datastream import DataStream


class PipelineSink(ABC):
    """A sink as the file describes it. Everything of one table comes to one of its subtasks, in order."""

    keeps_rows_by_keys = False
    """whether it may have rows of an attempt that failed, whose deletions must come once more"""

    @abstractmethod
    def attach(self, stream: DataStream) -> Any:
        """Let a stream of elements end here; gives what a name can be given to."""
