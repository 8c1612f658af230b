"""What makes records of elements."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, TypeVar

from millrace.common.serialization import SerializationSchema
from millrace.connectors.kafka.record import ProducerRecord

T = TypeVar("T")

Partitions = Callable[[str], int]
"""topic -> how many partitions it has"""


class KafkaPartitioner(ABC):
    """Picks the partition of a record, in place of Kafka's own choice by key.

        >>> class First(KafkaPartitioner):
        ...     def partition(self, record, key, value, topic, partitions):
        ...         return partitions[0]
        >>> First().partition("a", None, b"a", "lines", [0, 1])
        0
    """

    def open(self, parallel_instance_id: int, parallel_instances: int) -> None:
        """Called once in each subtask, with its number and how many there are."""

    @abstractmethod
    def partition(self, record: Any, key: bytes | None, value: bytes | None, topic: str, partitions: int) -> int:
        """
        :param record: the element.
        :param partitions: how many the topic has.
        """


class FlinkFixedPartitioner(KafkaPartitioner):
    """Every subtask writes into one partition.

        >>> isinstance(FlinkFixedPartitioner(), KafkaPartitioner)
        True
    """

    def open(self, parallel_instance_id: int, parallel_instances: int) -> None:
        self._subtask = parallel_instance_id

    def partition(self, record: Any, key: bytes | None, value: bytes | None, topic: str, partitions: int) -> int:
        return self._subtask % partitions


class RoundRobinPartitioner(KafkaPartitioner):
    """Record after record goes into the next partition.

        >>> isinstance(RoundRobinPartitioner(), KafkaPartitioner)
        True
    """

    def open(self, parallel_instance_id: int, parallel_instances: int) -> None:
        self._next = parallel_instance_id

    def partition(self, record: Any, key: bytes | None, value: bytes | None, topic: str, partitions: int) -> int:
        self._next += 1
        return self._next % partitions


class KafkaTopicSelector(ABC, Generic[T]):
    """Says which topic an element goes to.

        >>> class ByFirst(KafkaTopicSelector):
        ...     def apply(self, data):
        ...         return f"words-{data[0]}"
        >>> ByFirst().apply("ink")
        'words-i'
    """

    @abstractmethod
    def apply(self, data: T) -> str:
        """The topic of an element."""


class RecordSerializer(ABC, Generic[T]):
    """Makes records of an element. Pickled into the tasks.

        >>> class Twice(RecordSerializer):
        ...     def records(self, element, timestamp):
        ...         yield ProducerRecord("lines", element.encode())
        ...         yield ProducerRecord("copies", element.encode())
    """

    def open(self, subtask: int, subtasks: int, partitions: Partitions) -> None:
        """Called once in each subtask."""

    @abstractmethod
    def records(self, element: T, timestamp: int | None) -> Iterable[ProducerRecord]:
        """The records of an element, in their order."""


class SchemaSerializer(RecordSerializer[Any]):
    """Records by schemas for key and value, with a topic for each element."""

    def __init__(
        self,
        topic_of: Callable[[Any], str],
        value: SerializationSchema,
        key: SerializationSchema | None = None,
        partitioner: KafkaPartitioner | None = None,
        headers: Callable[[Any], Sequence[tuple[str, bytes | None]]] | None = None,
        with_time: bool = True,
    ) -> None:
        self._topic_of, self._value, self._key = topic_of, value, key
        self._partitioner, self._headers, self._with_time = partitioner, headers, with_time

    def open(self, subtask: int, subtasks: int, partitions: Partitions) -> None:
        self._partitions = partitions
        if self._partitioner is not None:
            self._partitioner.open(subtask, subtasks)

    def records(self, element: Any, timestamp: int | None) -> Iterable[ProducerRecord]:
        topic = self._topic_of(element)
        value = self._value.serialize(element)
        key = None if self._key is None else self._key.serialize(element)
        partition = None
        if self._partitioner is not None:
            partition = self._partitioner.partition(element, key, value, topic, self._partitions(topic))
        headers = () if self._headers is None else tuple(self._headers(element))
        time = timestamp if self._with_time and timestamp is not None and timestamp >= 0 else None
        return (ProducerRecord(topic, value, key, partition, time, headers),)
