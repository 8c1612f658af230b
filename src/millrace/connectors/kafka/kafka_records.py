"""Records of Kafka: the schemas that turn records into elements and elements into records, with topics and
partitions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from millrace.common.serialization import DeserializationSchema, SerializationSchema
from millrace.common.typeinfo import TypeInformation

T = TypeVar("T")

EXCERPT = 100
"""bytes of a record that an error shows"""
TimestampType = ("NoTimestampType", "CreateTime", "LogAppendTime")
"""Names of the types of timestamp, by librdkafka's number."""


@dataclass(frozen=True)
class ConsumerRecord:
    """A record as it was read.

        >>> record = ConsumerRecord("orders", 0, 5, b"a", b"1")
        >>> record.topic, record.value
        ('orders', b'1')

    :ivar timestamp: ms; -1: it has none.
    :ivar timestamp_type: NoTimestampType, CreateTime or LogAppendTime.
    :ivar leader_epoch: -1: not known.
    """

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    timestamp: int = -1
    timestamp_type: str = "NoTimestampType"
    headers: tuple[tuple[str, bytes | None], ...] = ()
    leader_epoch: int = -1


class ProducerRecord(NamedTuple):
    """A record to be written.

        >>> ProducerRecord("lines", b"value", key=b"a").key
        b'a'

    :ivar partition: None: found by the key, or any.
    :ivar timestamp: ms; None or 0: the time when it is sent.
    """

    topic: str
    value: bytes | None
    key: bytes | None = None
    partition: int | None = None
    timestamp: int | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()


class RecordError(ValueError):
    """A record cannot be read: says which one, and what it begins with."""

    def __init__(self, message: Any, cause: Exception) -> None:
        self.record = record_of(message)
        self.at = (message.topic(), message.partition(), message.offset())
        content = message.value()
        shown = "no value" if content is None else repr(bytes(content[:EXCERPT])) + ("..." * (len(content) > EXCERPT))
        place = f"topic {self.at[0]!r}, partition {self.at[1]}, offset {self.at[2]}"
        super().__init__(f"{place} cannot be read: {cause}; record: {shown}")

    def __reduce__(self) -> tuple[Any, ...]:
        return ValueError, (str(self),)


class RecordDecoder(ABC, Generic[T]):
    """Elements of the messages of one partition. Pickled into the tasks."""

    @abstractmethod
    def decode(self, messages: Sequence[Any]) -> tuple[list[T], list[int] | None]:
        """
        :param messages: librdkafka's.
        :return: the elements, and their times (ms) if they have any.
        :raises RecordError: one cannot be read.
        """

    def produced_type(self) -> TypeInformation | None:
        """The type of the elements, if it is known."""
        return None

    def close(self) -> None:
        """Release resources; no more records are decoded."""


class ValueOnly(RecordDecoder[T]):
    """Deserialises values; a record without a value (a tombstone) is left out."""

    def __init__(self, schema: DeserializationSchema) -> None:
        self._schema = schema

    def decode(self, messages: Sequence[Any]) -> tuple[list[T], list[int] | None]:
        deserialize = self._schema.deserialize
        elements: list[T] = []
        times: list[int] = []
        add, add_time = elements.append, times.append
        message = None
        try:
            for message in messages:
                value = message.value()
                if value is None:
                    continue
                element = deserialize(value)
                if element is not None:
                    add(element)
                    add_time(message.timestamp()[1])
        except Exception as error:
            raise RecordError(message, error) from error
        return elements, times if not times or min(times) >= 0 else None

    def produced_type(self) -> TypeInformation | None:
        return self._schema.get_produced_type()


class KafkaRecordDeserializationSchema(ABC, Generic[T]):
    """Elements of whole records: with keys, headers, offsets (our addition: PyFlink's takes Java objects only).

    >>> class Keys(KafkaRecordDeserializationSchema):
    ...     def deserialize(self, record):
    ...         yield record.key, record.offset
    ...     def get_produced_type(self):
    ...         return Types.PICKLED_BYTE_ARRAY()
    >>> list(Keys().deserialize(ConsumerRecord("orders", 0, 5, b"a", b"1")))
    [(b'a', 5)]
    """

    @abstractmethod
    def deserialize(self, record: ConsumerRecord) -> Iterable[T]:
        """The elements of a record, none or many."""

    def get_produced_type(self) -> TypeInformation | None:
        """The type of the elements."""
        return None

    @staticmethod
    def value_only(deserialization_schema: DeserializationSchema) -> KafkaRecordDeserializationSchema[Any]:
        """The values alone."""
        return _Values(deserialization_schema)


class _Values(KafkaRecordDeserializationSchema[Any]):
    def __init__(self, schema: DeserializationSchema) -> None:
        self.schema = schema

    def deserialize(self, record: ConsumerRecord) -> Iterable[Any]:
        element = None if record.value is None else self.schema.deserialize(record.value)
        return () if element is None else (element,)

    def get_produced_type(self) -> TypeInformation | None:
        return self.schema.get_produced_type()


class WholeRecords(RecordDecoder[T]):
    """Elements by a ``KafkaRecordDeserializationSchema``."""

    def __init__(self, schema: KafkaRecordDeserializationSchema[T]) -> None:
        self._schema = schema

    def decode(self, messages: Sequence[Any]) -> tuple[list[T], list[int] | None]:
        elements: list[T] = []
        times: list[int] = []
        for message in messages:
            try:
                made = list(self._schema.deserialize(record_of(message)))
            except Exception as error:
                raise RecordError(message, error) from error
            elements += made
            times += [message.timestamp()[1]] * len(made)
        return elements, times if not times or min(times) >= 0 else None

    def produced_type(self) -> TypeInformation | None:
        return self._schema.get_produced_type()


def record_of(message: Any) -> ConsumerRecord:
    """librdkafka's message as a record."""
    kind, time = message.timestamp()
    epoch = message.leader_epoch()
    return ConsumerRecord(
        message.topic(),
        message.partition(),
        message.offset(),
        message.key(),
        message.value(),
        time if kind else -1,
        TimestampType[kind],
        tuple(message.headers() or ()),
        -1 if epoch is None else epoch,
    )


PartitionCount = Callable[[str], int]
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

    def open(self, subtask: int, subtasks: int, partitions: PartitionCount) -> None:
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

    def open(self, subtask: int, subtasks: int, partitions: PartitionCount) -> None:
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


class KafkaRecordSerializationSchema:
    """Makes records of elements; ``builder()`` makes one.

    >>> builder = KafkaRecordSerializationSchema.builder().set_topic("lines")
    >>> serializer = builder.set_value_serialization_schema(SimpleStringSchema()).build()
    """

    @staticmethod
    def builder() -> KafkaRecordSerializationSchemaBuilder:
        """Begins a schema; ``build()`` ends it."""
        return KafkaRecordSerializationSchemaBuilder()


class KafkaRecordSerializationSchemaBuilder:
    """Builds what a ``KafkaSink`` makes records with. At least needed: a topic and a schema of values.

    >>> builder = KafkaRecordSerializationSchemaBuilder().set_topic_selector(lambda word: f"words-{word[0]}")
    >>> serializer = builder.set_value_serialization_schema(SimpleStringSchema()).build()
    """

    def __init__(self) -> None:
        self._topic: Callable[[Any], str] | None = None
        self._key: SerializationSchema | None = None
        self._value: SerializationSchema | None = None
        self._partitioner: KafkaPartitioner | None = None
        self._headers: Callable[[Any], Sequence[tuple[str, bytes | None]]] | None = None

    def set_topic(self, topic: str) -> KafkaRecordSerializationSchemaBuilder:
        """One topic for all."""
        return self._select(_Always(topic))

    def set_topic_selector(
        self, topic_selector: Callable[[Any], str] | KafkaTopicSelector[Any]
    ) -> KafkaRecordSerializationSchemaBuilder:
        """A topic for each element."""
        chosen = topic_selector.apply if isinstance(topic_selector, KafkaTopicSelector) else topic_selector
        if not callable(chosen):
            raise TypeError(f"a topic selector is a function or a KafkaTopicSelector, not {topic_selector!r}")
        return self._select(chosen)

    def _select(self, topic: Callable[[Any], str]) -> KafkaRecordSerializationSchemaBuilder:
        if self._topic is not None:
            raise ValueError("the topic of the records is set already")
        self._topic = topic
        return self

    def set_key_serialization_schema(
        self, key_serialization_schema: SerializationSchema
    ) -> KafkaRecordSerializationSchemaBuilder:
        """Keys; without it records have none."""
        self._key = key_serialization_schema
        return self

    def set_value_serialization_schema(
        self, value_serialization_schema: SerializationSchema
    ) -> KafkaRecordSerializationSchemaBuilder:
        """How the value of a record is made."""
        self._value = value_serialization_schema
        return self

    def set_partitioner(self, partitioner: KafkaPartitioner) -> KafkaRecordSerializationSchemaBuilder:
        """Partitions, in place of Kafka's choice by key (in Python; PyFlink lacks it)."""
        self._partitioner = partitioner
        return self

    def set_header_provider(
        self, headers: Callable[[Any], Sequence[tuple[str, bytes | None]]]
    ) -> KafkaRecordSerializationSchemaBuilder:
        """Headers of the record of an element (PyFlink lacks it)."""
        self._headers = headers
        return self

    def build(self) -> SchemaSerializer:
        """:raises ValueError: the topic or the schema of values is missing."""
        if self._topic is None or self._value is None:
            lacks = "set_topic or set_topic_selector" if self._topic is None else "set_value_serialization_schema"
            raise ValueError(f"the records of the Kafka sink lack {lacks}")
        return SchemaSerializer(self._topic, self._value, self._key, self._partitioner, self._headers)


class _Always:
    def __init__(self, topic: str) -> None:
        self._topic = topic

    def __call__(self, element: Any) -> str:
        return self._topic
