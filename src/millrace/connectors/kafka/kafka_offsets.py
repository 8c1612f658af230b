"""Which partitions a source reads, and where reading each begins and ends."""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol


class KafkaTopicPartition(NamedTuple):
    """A partition of a topic.

    >>> offsets = {KafkaTopicPartition("orders", 0): 42}
    >>> initializer = KafkaOffsetsInitializer.offsets(offsets)
    """

    topic: str
    partition: int

    @staticmethod
    def _of(value: KafkaTopicPartition | tuple[str, int]) -> KafkaTopicPartition:
        return value if isinstance(value, KafkaTopicPartition) else KafkaTopicPartition(*value)

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class KafkaOffsetResetStrategy(enum.Enum):
    """Where to go on if an offset is not there (any more).

    >>> initializer = KafkaOffsetsInitializer.committed_offsets(KafkaOffsetResetStrategy.EARLIEST)
    """

    LATEST = 0
    EARLIEST = 1
    NONE = 2
    """fail"""


class Offsets(Protocol):
    """Answers about partitions, from the brokers. Offsets of several partitions are asked for at once."""

    def earliest(self, partitions: Sequence[KafkaTopicPartition]) -> dict[KafkaTopicPartition, int]: ...

    def latest(self, partitions: Sequence[KafkaTopicPartition]) -> dict[KafkaTopicPartition, int]: ...

    def at_time(self, partitions: Sequence[KafkaTopicPartition], ms: int) -> dict[KafkaTopicPartition, int]:
        """The first record of this time or later; the end of a partition that has none."""

    def committed(self, partitions: Sequence[KafkaTopicPartition]) -> dict[KafkaTopicPartition, int]:
        """Of the consumer group; partitions without a committed offset are left out."""


class KafkaOffsetsInitializer:
    """Where every partition of a source begins, or ends; made by the static methods.

        >>> KafkaOffsetsInitializer.earliest() == KafkaOffsetsInitializer.earliest()
        True

    :ivar reset: what is done with an offset that is not there.
    """

    reset = KafkaOffsetResetStrategy.EARLIEST
    needs_group = False

    def find(self, partitions: Sequence[KafkaTopicPartition], offsets: Offsets) -> dict[KafkaTopicPartition, int]:
        """The offsets of partitions."""
        raise NotImplementedError

    @staticmethod
    def committed_offsets(
        offset_reset_strategy: KafkaOffsetResetStrategy = KafkaOffsetResetStrategy.NONE,
    ) -> KafkaOffsetsInitializer:
        """What the consumer group has committed; a partition without goes by the strategy."""
        return _Committed(offset_reset_strategy)

    @staticmethod
    def timestamp(timestamp: int) -> KafkaOffsetsInitializer:
        """The first record whose timestamp (ms) is not before this; the end of a partition that has none."""
        return _Time(timestamp)

    @staticmethod
    def earliest() -> KafkaOffsetsInitializer:
        """The first record that is there."""
        return _Earliest()

    @staticmethod
    def latest() -> KafkaOffsetsInitializer:
        """The end of every partition, as it is when the source finds it."""
        return _Latest()

    @staticmethod
    def offsets(
        offsets: Mapping[KafkaTopicPartition, int],
        offset_reset_strategy: KafkaOffsetResetStrategy = KafkaOffsetResetStrategy.EARLIEST,
    ) -> KafkaOffsetsInitializer:
        """Offsets by partition; one that is not named goes by the strategy.

        :raises ValueError: a negative offset.
        """
        known = {KafkaTopicPartition._of(each): offset for each, offset in offsets.items()}
        for partition, offset in known.items():
            if offset < 0:
                raise ValueError(f"the offset of {partition} is {offset}, which is negative")
        return _Given(known, offset_reset_strategy)


@dataclass(frozen=True)
class _Earliest(KafkaOffsetsInitializer):
    def find(self, partitions: Sequence[KafkaTopicPartition], offsets: Offsets) -> dict[KafkaTopicPartition, int]:
        return offsets.earliest(partitions)


@dataclass(frozen=True)
class _Latest(KafkaOffsetsInitializer):
    reset = KafkaOffsetResetStrategy.LATEST

    def find(self, partitions: Sequence[KafkaTopicPartition], offsets: Offsets) -> dict[KafkaTopicPartition, int]:
        return offsets.latest(partitions)


@dataclass(frozen=True)
class _Time(KafkaOffsetsInitializer):
    ms: int
    reset = KafkaOffsetResetStrategy.LATEST

    def find(self, partitions: Sequence[KafkaTopicPartition], offsets: Offsets) -> dict[KafkaTopicPartition, int]:
        return offsets.at_time(partitions, self.ms)


@dataclass(frozen=True)
class _Committed(KafkaOffsetsInitializer):
    reset: KafkaOffsetResetStrategy
    needs_group = True

    def find(self, partitions: Sequence[KafkaTopicPartition], offsets: Offsets) -> dict[KafkaTopicPartition, int]:
        found = offsets.committed(partitions)
        return found | _reset([each for each in partitions if each not in found], self.reset, offsets, "committed")


@dataclass(frozen=True)
class _Given(KafkaOffsetsInitializer):
    known: dict[KafkaTopicPartition, int] = field(hash=False)
    reset: KafkaOffsetResetStrategy = KafkaOffsetResetStrategy.EARLIEST

    def find(self, partitions: Sequence[KafkaTopicPartition], offsets: Offsets) -> dict[KafkaTopicPartition, int]:
        found = {each: self.known[each] for each in partitions if each in self.known}
        return found | _reset([each for each in partitions if each not in found], self.reset, offsets, "given")


def _reset(
    partitions: Sequence[KafkaTopicPartition], strategy: KafkaOffsetResetStrategy, offsets: Offsets, what: str
) -> dict[KafkaTopicPartition, int]:
    if not partitions:
        return {}
    if strategy is KafkaOffsetResetStrategy.NONE:
        shown = ", ".join(map(str, partitions[:5]))
        raise ValueError(
            f"no offset is {what} for {shown}{' and others' if len(partitions) > 5 else ''}, and the reset strategy is "
            "NONE: give KafkaOffsetResetStrategy.EARLIEST or LATEST"
        )
    return offsets.earliest(partitions) if strategy is KafkaOffsetResetStrategy.EARLIEST else offsets.latest(partitions)


@dataclass(frozen=True)
class KafkaSplit:
    """A partition from an offset on.

    :ivar offset: of the next record.
    :ivar stop: the offset where reading ends, which is not read; None: never.
    """

    topic: str
    partition: int
    offset: int
    stop: int | None = None

    @property
    def split_id(self) -> str:
        return f"{self.topic}-{self.partition}"

    @property
    def at(self) -> KafkaTopicPartition:
        return KafkaTopicPartition(self.topic, self.partition)


class Subscriber(Protocol):
    """Picks partitions."""

    def partitions(self, topics: Mapping[str, int]) -> list[KafkaTopicPartition]:
        """
        :param topics: all of the cluster, with their numbers of partitions.
        :raises ValueError: what is wanted is not there.
        """


def _all_of(topics: Mapping[str, int], names: list[str]) -> list[KafkaTopicPartition]:
    return [KafkaTopicPartition(name, number) for name in names for number in range(topics[name])]


@dataclass(frozen=True)
class Topics:
    """All partitions of some topics."""

    names: tuple[str, ...]

    def partitions(self, topics: Mapping[str, int]) -> list[KafkaTopicPartition]:
        missing = [name for name in self.names if name not in topics]
        if missing:
            shown = ", ".join(map(repr, missing))
            raise ValueError(f"there is no Kafka topic {shown}: create it before the job starts")
        return _all_of(topics, list(dict.fromkeys(self.names)))


@dataclass(frozen=True)
class TopicPattern:
    """All partitions of the topics whose whole name fits a regular expression."""

    pattern: str

    def partitions(self, topics: Mapping[str, int]) -> list[KafkaTopicPartition]:
        return _all_of(topics, sorted(name for name in topics if re.fullmatch(self.pattern, name)))


@dataclass(frozen=True)
class Partitions:
    """Some partitions."""

    wanted: tuple[KafkaTopicPartition, ...]

    def partitions(self, topics: Mapping[str, int]) -> list[KafkaTopicPartition]:
        missing = [each for each in self.wanted if each.partition >= topics.get(each.topic, 0)]
        if missing:
            raise ValueError(f"there is no Kafka partition {', '.join(map(str, missing))}")
        return sorted(self.wanted)
