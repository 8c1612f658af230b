"""What the composer needs of a source."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from millrace.datastream import DataStream, StreamExecutionEnvironment


class PipelineSource(ABC):
    """A source as the file describes it."""

    @abstractmethod
    def attach(self, environment: StreamExecutionEnvironment, keyed: bool) -> DataStream:
        """A stream of elements: batches and changes of schemas.

        :param keyed: whether the sink keeps rows by their keys, and may have some that are gone by now.
        """

    parallelism: int | None = None
    """how many subtasks it has; None: as many as the pipeline"""

    @property
    def is_unbounded(self) -> bool:
        return True
