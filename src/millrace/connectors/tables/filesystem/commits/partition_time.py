"""The time that a partition stands for, from its values."""

from __future__ import annotations

import datetime as dt
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from millrace.relational.functions.times.parsing import strict_parser

_TIMESTAMP = re.compile(r"(\d{1,4})-(\d{1,2})-(\d{1,2})(?: (\d{1,2}):(\d{1,2}):(\d{1,2})(?:\.(\d{1,9}))?)?")


class PartitionTimeExtractor(ABC):
    """Tells a partition's time; subclass it for ``'partition.time-extractor.kind' = 'custom'``."""

    @abstractmethod
    def extract(self, partition_keys: Sequence[str], partition_values: Sequence[str]) -> dt.datetime:
        """The time, without zone, of the partition with these values, as they stand in its path."""


@dataclass(frozen=True)
class DefaultTimeExtractor(PartitionTimeExtractor):
    """By a pattern such as ``$dt $hour:00:00``; without one the first value is the time."""

    pattern: str | None = None
    formatter: str | None = None
    """a pattern of Java's ``DateTimeFormatter``; None: ``yyyy-MM-dd HH:mm:ss``, or without the time of day"""

    def extract(self, partition_keys: Sequence[str], partition_values: Sequence[str]) -> dt.datetime:
        """:raises ValueError: the values make no time."""
        text = partition_values[0] if self.pattern is None else self.pattern
        if self.pattern is not None:
            # As in Flink: one key after the other, also where a name is the beginning of another one.
            for key, value in zip(partition_keys, partition_values):
                text = text.replace(f"${key}", value)
        if self.formatter is not None:
            found = strict_parser(self.formatter)(text)
            if found is None:
                raise ValueError(f"'{text}' is no time of the form {self.formatter}")
            return found
        match = _TIMESTAMP.fullmatch(text)
        if match is None:
            spec = ", ".join(f"{key}={value}" for key, value in zip(partition_keys, partition_values))
            raise ValueError(
                f"'{text}' is no time of the form yyyy-MM-dd HH:mm:ss (partition {spec}): set "
                f"'partition.time-extractor.timestamp-pattern'"
            )
        year, month, day, hour, minute, second = (int(part or 0) for part in match.groups()[:6])
        micros = int((match[7] or "").ljust(6, "0")[:6])
        # Hour 24 is the next day, the 31st of a short month the first of the next one.
        start = dt.datetime(year + (month - 1) // 12, (month - 1) % 12 + 1, 1)
        return start + dt.timedelta(day - 1, second, micros, minutes=minute, hours=hour)
