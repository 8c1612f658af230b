"""Which partitions a source reads: those of topics, of all topics whose names fit, or a given set."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from millrace.connectors.kafka.offsets import KafkaTopicPartition


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
