"""``FlinkKafkaConsumer`` and ``FlinkKafkaProducer``: the source and the sink under the names of older programs."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from typing import Any

from millrace.common.serialization import DeserializationSchema, SerializationSchema
from millrace.common.sink import Committer, NamedSink, SinkWriter, WriterInitContext
from millrace.connectors.kafka.kafka_offsets import KafkaOffsetResetStrategy, KafkaOffsetsInitializer
from millrace.connectors.kafka.kafka_records import (
    FlinkFixedPartitioner,
    KafkaRecordSerializationSchema,
    SchemaSerializer,
)
from millrace.connectors.kafka.kafka_sink import KafkaSink
from millrace.connectors.kafka.kafka_source import COMMIT, KafkaSource
from millrace.connectors.sink_base import DeliveryGuarantee
from millrace.connectors.source_base import DelegatingSource

_RESETS = {"earliest": "EARLIEST", "latest": "LATEST", "none": "NONE"}
_DISCOVERY = "flink.partition-discovery.interval-millis"


class FlinkKafkaConsumerBase(DelegatingSource):
    """A ``KafkaSource`` by older methods; it begins where its consumer group is.

    >>> issubclass(FlinkKafkaConsumer, FlinkKafkaConsumerBase)
    True
    """

    def __init__(
        self, topics: str | Sequence[str], deserialization_schema: DeserializationSchema, properties: Mapping[str, Any]
    ) -> None:
        self._topics = [topics] if isinstance(topics, str) else list(topics)
        self._schema = deserialization_schema
        self._properties = {key: str(value) for key, value in properties.items()}
        strategy = _RESETS.get(self._properties.get("auto.offset.reset", "latest").lower(), "LATEST")
        self._start = KafkaOffsetsInitializer.committed_offsets(KafkaOffsetResetStrategy[strategy])
        self._commits = True
        self._made: KafkaSource[Any] | None = None

    def set_commit_offsets_on_checkpoints(self, commit_on_checkpoints: bool) -> FlinkKafkaConsumerBase:
        """Whether the group's offsets are committed with each checkpoint; they are by default."""
        self._commits = commit_on_checkpoints
        return self

    def set_start_from_earliest(self) -> FlinkKafkaConsumerBase:
        """Begin with the oldest record of each partition."""
        return self._from(KafkaOffsetsInitializer.earliest())

    def set_start_from_latest(self) -> FlinkKafkaConsumerBase:
        """Begin behind the newest record of each partition."""
        return self._from(KafkaOffsetsInitializer.latest())

    def set_start_from_timestamp(self, startup_offsets_timestamp: int) -> FlinkKafkaConsumerBase:
        """ms since the epoch"""
        return self._from(KafkaOffsetsInitializer.timestamp(startup_offsets_timestamp))

    def set_start_from_group_offsets(self) -> FlinkKafkaConsumerBase:
        """Where the group is; ``auto.offset.reset`` says where to begin without: latest if it is not set."""
        strategy = _RESETS.get(self._properties.get("auto.offset.reset", "latest").lower(), "LATEST")
        return self._from(KafkaOffsetsInitializer.committed_offsets(KafkaOffsetResetStrategy[strategy]))

    def disable_filter_restored_partitions_with_subscribed_topics(self) -> FlinkKafkaConsumerBase:
        """Partitions of a checkpoint are always gone on with; nothing changes."""
        return self

    def _from(self, start: KafkaOffsetsInitializer) -> FlinkKafkaConsumerBase:
        self._start = start
        return self

    @property
    def _source(self) -> KafkaSource[Any]:
        if self._made is None:
            properties = {**self._properties, COMMIT: str(self._commits).lower()}
            # Off unless it is asked for, as it was.
            properties["partition.discovery.interval.ms"] = self._properties.get(_DISCOVERY, "-1")
            start = self._start
            if start.needs_group and "group.id" not in properties:
                start = getattr(KafkaOffsetsInitializer, start.reset.name.lower())()
            builder = KafkaSource.builder().set_properties(properties).set_topics(*self._topics)
            self._made = builder.set_starting_offsets(start).set_value_only_deserializer(self._schema).build()
        return self._made


class FlinkKafkaConsumer(FlinkKafkaConsumerBase):
    """Reads topics: ``env.add_source(FlinkKafkaConsumer("topic", schema, {"bootstrap.servers": ...}))``.

    >>> properties = {"bootstrap.servers": "localhost:9092", "group.id": "shop"}
    >>> consumer = FlinkKafkaConsumer("orders", SimpleStringSchema(), properties)
    >>> orders = env.add_source(consumer.set_start_from_earliest())
    """


class Semantic(enum.Enum):
    """What a ``FlinkKafkaProducer`` promises.

    >>> Semantic.EXACTLY_ONCE.name
    'EXACTLY_ONCE'
    """

    EXACTLY_ONCE = (0,)
    AT_LEAST_ONCE = (1,)
    NONE = 2


class FlinkKafkaProducerBase(NamedSink[Any]):
    """A ``KafkaSink`` by older methods.

    >>> issubclass(FlinkKafkaProducer, FlinkKafkaProducerBase)
    True
    """

    def __init__(
        self,
        topic: str,
        serialization_schema: SerializationSchema,
        producer_config: Mapping[str, Any],
        semantic: Semantic = Semantic.AT_LEAST_ONCE,
    ) -> None:
        self._topic, self._schema, self._semantic = topic, serialization_schema, semantic
        self._properties = {key: str(value) for key, value in producer_config.items()}
        self._flushes, self._with_time = True, False

    def set_log_failures_only(self, log_failures_only: bool) -> FlinkKafkaProducerBase:
        """:raises NotImplementedError: for True: a record that cannot be written fails the job."""
        if log_failures_only:
            raise NotImplementedError(
                "FlinkKafkaProducer.set_log_failures_only(True) would lose records; nearest: Semantic.NONE, which does "
                "not wait for the brokers"
            )
        return self

    def set_flush_on_checkpoint(self, flush_on_checkpoint: bool) -> FlinkKafkaProducerBase:
        """Whether an epoch waits until its records are acknowledged."""
        self._flushes = flush_on_checkpoint
        return self

    def set_write_timestamp_to_kafka(self, write_timestamp_to_kafka: bool) -> FlinkKafkaProducerBase:
        """Whether records have the event time of their elements."""
        self._with_time = write_timestamp_to_kafka
        return self

    @property
    def _sink(self) -> KafkaSink[Any]:
        made = KafkaRecordSerializationSchema.builder().set_topic(self._topic)
        made = made.set_value_serialization_schema(self._schema).set_partitioner(FlinkFixedPartitioner())
        serializer: SchemaSerializer = made.build()
        serializer._with_time = self._with_time
        guarantee = DeliveryGuarantee[self._semantic.name]
        if guarantee is DeliveryGuarantee.AT_LEAST_ONCE and not self._flushes:
            guarantee = DeliveryGuarantee.NONE
        builder = KafkaSink.builder().set_record_serializer(serializer).set_delivery_guarantee(guarantee)
        for key, value in self._properties.items():
            builder.set_property(key, value)
        return builder.set_transactional_id_prefix(f"flink-{self._topic}").build().for_operator(self._uid)

    def create_writer(self, context: WriterInitContext) -> SinkWriter[Any]:
        return self._sink.create_writer(context)

    def create_committer(self) -> Committer[Any] | None:
        return self._sink.create_committer()


class FlinkKafkaProducer(FlinkKafkaProducerBase):
    """Writes a topic: ``stream.add_sink(FlinkKafkaProducer("topic", schema, {"bootstrap.servers": ...}))``.

    >>> producer = FlinkKafkaProducer("lines", SimpleStringSchema(), {"bootstrap.servers": "localhost:9092"})
    >>> sink = env.from_collection(["a"]).add_sink(producer)
    """

    def __init__(
        self,
        topic: str,
        serialization_schema: SerializationSchema,
        producer_config: Mapping[str, Any],
        kafka_producer_pool_size: int = 5,
        semantic: Semantic = Semantic.AT_LEAST_ONCE,
    ) -> None:
        """:param kafka_producer_pool_size: without effect, there are as many as are needed."""
        super().__init__(topic, serialization_schema, producer_config, semantic)

    def ignore_failures_after_transaction_timeout(self) -> FlinkKafkaProducer:
        """:raises NotImplementedError: records that are lost are never passed over in silence."""
        raise NotImplementedError(
            "FlinkKafkaProducer.ignore_failures_after_transaction_timeout would lose records in silence; nearest: a "
            "longer 'transaction.timeout.ms'"
        )
