"""The builders of sources and sinks, and of what makes their records."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from millrace.common.serialization import DeserializationSchema, SerializationSchema
from millrace.connectors.base import DeliveryGuarantee
from millrace.connectors.kafka.offsets import KafkaOffsetsInitializer, KafkaTopicPartition
from millrace.connectors.kafka.properties import client_settings
from millrace.connectors.kafka.record import KafkaRecordDeserializationSchema, RecordDecoder, ValueOnly, WholeRecords
from millrace.connectors.kafka.serializing import (
    KafkaPartitioner,
    KafkaTopicSelector,
    RecordSerializer,
    SchemaSerializer,
)
from millrace.connectors.kafka.subscriber import Partitions, Subscriber, TopicPattern, Topics
from millrace.connectors.rate import RateLimiterStrategy

if TYPE_CHECKING:
    from typing_extensions import Self

    from millrace.connectors.kafka.sink import KafkaSink
    from millrace.connectors.kafka.source import KafkaSource

_MOST_PREFIX = 200


class ClientBuilder:
    """What is told to the builder of anything that has a client."""

    def __init__(self) -> None:
        self._properties: dict[str, str] = {}

    def set_property(self, key: str, value: str) -> Self:
        """A setting of the client, in the name that Java's clients have."""
        self._properties[key] = str(value)
        return self


class ReaderBuilder(ClientBuilder):
    """What is told to the builder of anything that reads."""

    def __init__(self) -> None:
        super().__init__()
        self._decoder: RecordDecoder[Any] | None = None
        self._start: KafkaOffsetsInitializer = KafkaOffsetsInitializer.earliest()
        self._stop: KafkaOffsetsInitializer | None = None

    def set_group_id(self, group_id: str) -> Self:
        """The consumer group that offsets are committed for with each checkpoint."""
        return self.set_property("group.id", group_id)

    def set_client_id_prefix(self, prefix: str) -> Self:
        """What the ids of clients begin with, which brokers show."""
        return self.set_property("client.id.prefix", prefix)

    def set_properties(self, props: Mapping[str, Any]) -> Self:
        """Several settings."""
        for key, value in props.items():
            self.set_property(key, value)
        return self

    def set_starting_offsets(self, starting_offsets_initializer: KafkaOffsetsInitializer) -> Self:
        """Where reading begins without a checkpoint; by default with the first record."""
        self._start = starting_offsets_initializer
        return self

    def set_value_only_deserializer(self, deserialization_schema: DeserializationSchema) -> Self:
        """Elements of the values alone; records without a value are left out."""
        self._decoder = ValueOnly(deserialization_schema)
        return self

    def set_deserializer(self, deserializer: KafkaRecordDeserializationSchema[Any]) -> Self:
        """Elements of whole records: keys, headers, offsets (our addition)."""
        if not isinstance(deserializer, KafkaRecordDeserializationSchema):
            raise TypeError(f"set_deserializer takes a KafkaRecordDeserializationSchema, not {deserializer!r}")
        self._decoder = WholeRecords(deserializer)
        return self


class KafkaSourceBuilder(ReaderBuilder):
    """Builds a ``KafkaSource``. At least needed: bootstrap servers, topics, a deserializer.

        >>> builder = KafkaSourceBuilder().set_bootstrap_servers("localhost:9092").set_topic_pattern("orders-.*")
        >>> builder = builder.set_bounded(KafkaOffsetsInitializer.latest())
        >>> builder.set_value_only_deserializer(SimpleStringSchema()).build().get_boundedness()
        <Boundedness.BOUNDED: 'BOUNDED'>
    """

    def __init__(self) -> None:
        super().__init__()
        self._subscriber: Subscriber | None = None
        self._bounded = False
        self._per_second: float | None = None
        self._dead_letters: str | None = None

    def set_bootstrap_servers(self, bootstrap_servers: str) -> KafkaSourceBuilder:
        """``host:port``, several with commas."""
        return self.set_property("bootstrap.servers", bootstrap_servers)

    def set_topics(self, *topics: str) -> KafkaSourceBuilder:
        """All partitions of these topics."""
        return self._subscribe(Topics(tuple(topics)))

    def set_topic_pattern(self, topic_pattern: str) -> KafkaSourceBuilder:
        """All partitions of the topics whose whole name fits a regular expression, of later ones, too."""
        return self._subscribe(TopicPattern(topic_pattern))

    def set_partitions(self, partitions: set[KafkaTopicPartition]) -> KafkaSourceBuilder:
        """These partitions alone."""
        return self._subscribe(Partitions(tuple(sorted(map(KafkaTopicPartition._of, partitions)))))

    def _subscribe(self, subscriber: Subscriber) -> KafkaSourceBuilder:
        if self._subscriber is not None:
            raise ValueError(f"what the Kafka source reads is set already, to {self._subscriber}")
        self._subscriber = subscriber
        return self

    def set_unbounded(self, stopping_offsets_initializer: KafkaOffsetsInitializer) -> KafkaSourceBuilder:
        """Read up to these offsets, in a streaming job that goes on."""
        self._stop, self._bounded = stopping_offsets_initializer, False
        return self

    def set_bounded(self, stopping_offsets_initializer: KafkaOffsetsInitializer) -> KafkaSourceBuilder:
        """Read up to these offsets, and end."""
        self._stop, self._bounded = stopping_offsets_initializer, True
        return self

    def set_rate_limiter_strategy(self, strategy: RateLimiterStrategy) -> KafkaSourceBuilder:
        """Read no faster than so many records a second, over all subtasks (our addition).

        :raises ValueError: a limit by checkpoint, which this source does not have.
        """
        if strategy.events_per_checkpoint is not None:
            raise ValueError(
                "KafkaSource has limits per second, none per checkpoint: use RateLimiterStrategy.per_second"
            )
        self._per_second = strategy.events_per_second
        return self

    def set_dead_letter_topic(self, topic: str) -> KafkaSourceBuilder:
        """Records that the deserializer raises an error for go to this topic, on the same brokers, with headers that
        say where they were and what was wrong; reading goes on (our addition). Without it they fail the job."""
        self._dead_letters = topic
        return self

    def build(self) -> KafkaSource[Any]:
        """:raises ValueError: something is missing, or a setting cannot be had."""
        from millrace.connectors.kafka.source import KafkaSource

        missing = [
            name
            for name, given in (
                ("set_bootstrap_servers", self._properties.get("bootstrap.servers")),
                ("set_topics, set_topic_pattern or set_partitions", self._subscriber),
                ("set_value_only_deserializer", self._decoder),
            )
            if not given
        ]
        if missing:
            raise ValueError(f"the Kafka source lacks {', '.join(missing)}")
        for which in (self._start, self._stop):
            if which is not None and which.needs_group and "group.id" not in self._properties:
                raise ValueError("committed offsets are those of a consumer group: set_group_id(...)")
        assert self._subscriber is not None and self._decoder is not None
        client_settings(self._properties)
        return KafkaSource(
            self._subscriber,
            self._decoder,
            dict(self._properties),
            self._start,
            self._stop,
            self._bounded,
            per_second=self._per_second,
            dead_letters=self._dead_letters,
        )


class KafkaSinkBuilder(ClientBuilder):
    """Builds a ``KafkaSink``. At least needed: bootstrap servers and a record serializer.

        >>> lines = KafkaRecordSerializationSchema.builder().set_topic("lines")
        >>> serializer = lines.set_value_serialization_schema(SimpleStringSchema()).build()
        >>> builder = KafkaSinkBuilder().set_bootstrap_servers("localhost:9092").set_record_serializer(serializer)
        >>> builder = builder.set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
        >>> sink = builder.set_transactional_id_prefix("shop").build()
    """

    def __init__(self) -> None:
        super().__init__()
        self._serializer: RecordSerializer[Any] | None = None
        self._guarantee = DeliveryGuarantee.NONE
        self._prefix: str | None = None

    def set_bootstrap_servers(self, bootstrap_servers: str) -> KafkaSinkBuilder:
        """``host:port``, several with commas."""
        return self.set_property("bootstrap.servers", bootstrap_servers)

    def set_delivery_guarantee(self, delivery_guarantee: DeliveryGuarantee) -> KafkaSinkBuilder:
        """By default NONE."""
        self._guarantee = delivery_guarantee
        return self

    def set_transactional_id_prefix(self, transactional_id_prefix: str) -> KafkaSinkBuilder:
        """What transactional ids begin with: no other application on the cluster may have it. EXACTLY_ONCE needs it.

        :raises ValueError: longer than 200 bytes.
        """
        if len(transactional_id_prefix.encode()) > _MOST_PREFIX:
            raise ValueError(f"a transactional id prefix has {_MOST_PREFIX} bytes at most")
        self._prefix = transactional_id_prefix
        return self

    def set_record_serializer(self, record_serializer: RecordSerializer[Any]) -> KafkaSinkBuilder:
        """What makes records: ``KafkaRecordSerializationSchema.builder()``, or a ``RecordSerializer`` of your own."""
        if not isinstance(record_serializer, RecordSerializer):
            raise TypeError(f"set_record_serializer takes what its builder gives, not {record_serializer!r}")
        self._serializer = record_serializer
        return self

    def build(self) -> KafkaSink[Any]:
        """:raises ValueError: something is missing, or a setting cannot be had."""
        from millrace.connectors.kafka.sink import KafkaSink

        if not self._properties.get("bootstrap.servers"):
            raise ValueError("the Kafka sink lacks set_bootstrap_servers")
        if self._serializer is None:
            raise ValueError("the Kafka sink lacks set_record_serializer")
        exactly = self._guarantee is DeliveryGuarantee.EXACTLY_ONCE
        if exactly and not self._prefix:
            raise ValueError(
                "EXACTLY_ONCE needs set_transactional_id_prefix: a text that no other application on the cluster has"
            )
        client_settings(self._properties)
        return KafkaSink(
            self._serializer, dict(self._properties), self._guarantee, self._prefix or uuid.uuid4().hex[:8]
        )


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
