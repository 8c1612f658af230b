"""Records of Kafka, and what makes elements of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from millrace.common.serialization import DeserializationSchema
from millrace.common.typeinfo import TypeInformation

T = TypeVar("T")

EXCERPT = 100
"""bytes of a record that an error shows"""
TimestampType = ("NoTimestampType", "CreateTime", "LogAppendTime")
"""by librdkafka's number"""


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
        """Nothing more is decoded."""


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
