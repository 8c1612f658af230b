"""``KafkaSplit``: what of a partition is left to be read."""

from __future__ import annotations

from dataclasses import dataclass

from millrace.connectors.kafka.offsets import KafkaTopicPartition


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
