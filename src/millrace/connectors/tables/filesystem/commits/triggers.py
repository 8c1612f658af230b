"""When a partition counts as complete."""

from __future__ import annotations

import datetime as dt
from abc import ABC, abstractmethod
from dataclasses import dataclass

from millrace.connectors.tables.filesystem.commits.partition_time import PartitionTimeExtractor
from millrace.connectors.tables.filesystem.layout.partitions import texts_of

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)


class CommitTrigger(ABC):
    """Pickled into the tasks: writers finish their part files of a partition before it is complete."""

    @abstractmethod
    def is_due(self, folder: str, created: int, watermark: int, now: int) -> bool:
        """Whether a partition may be committed.

        :param created: when the first row came that is not committed (ms).
        :param watermark: ms.
        :param now: the clock, ms.
        """


@dataclass(frozen=True)
class AtProcessingTime(CommitTrigger):
    """So long after the first row; without delay with the next checkpoint."""

    delay: int

    def is_due(self, folder: str, created: int, watermark: int, now: int) -> bool:
        return not self.delay or now > created + self.delay


@dataclass(frozen=True)
class AtPartitionTime(CommitTrigger):
    """When the watermark has passed the time in the partition's name, and the delay."""

    delay: int
    keys: tuple[str, ...]
    extractor: PartitionTimeExtractor
    zone: dt.tzinfo
    """of the time in the partition's name"""

    def is_due(self, folder: str, created: int, watermark: int, now: int) -> bool:
        texts = texts_of(folder)
        local = self.extractor.extract(self.keys, [texts[key] for key in self.keys])
        begins = (local.replace(tzinfo=self.zone) - _EPOCH) // dt.timedelta(milliseconds=1)
        return watermark > begins + self.delay
