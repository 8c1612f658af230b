"""``DynamicKafkaSource``: reads streams whose topics and clusters may change while the job runs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from millrace.common.source import Boundedness, Source, SourceReaderContext, SplitEnumeratorContext
from millrace.connectors.kafka.builders import ReaderBuilder
from millrace.connectors.kafka.cluster import Cluster
from millrace.connectors.kafka.dynamic.enumerator import Discovered, DynamicEnumerator
from millrace.connectors.kafka.dynamic.metadata import (
    KafkaMetadataService,
    KafkaStreamSetSubscriber,
    KafkaStreamSubscriber,
    StreamPatternSubscriber,
)
from millrace.connectors.kafka.dynamic.reader import DynamicReader
from millrace.connectors.kafka.dynamic.split import DynamicSplit
from millrace.connectors.kafka.offsets import KafkaOffsetsInitializer, KafkaTopicPartition
from millrace.connectors.kafka.record import RecordDecoder
from millrace.connectors.kafka.source import consumer_settings
from millrace.connectors.kafka.split import KafkaSplit

T = TypeVar("T")

DISCOVERY = "stream-metadata-discovery-interval-ms"
FAILURES = "stream-metadata-discovery-failure-threshold"


@dataclass(frozen=True, eq=False)
class DynamicKafkaSource(Source[T, DynamicSplit], Generic[T]):
    """Records of all partitions of the streams that a subscriber picks; made by ``DynamicKafkaSource.builder()``.

    Clusters and topics that come are read from their beginning, those that go are not read any more; should one come
    back, it goes on where it was left.

        >>> service = SingleClusterTopicMetadataService("main", {"bootstrap.servers": "localhost:9092"})
        >>> builder = DynamicKafkaSource.builder().set_stream_ids({"orders"}).set_kafka_metadata_service(service)
        >>> source = builder.set_value_only_deserializer(SimpleStringSchema()).build()

    :ivar properties: of all clients; those of a cluster come first.
    """

    subscriber: KafkaStreamSubscriber
    service: KafkaMetadataService
    decoder: RecordDecoder[T]
    properties: Mapping[str, str] = field(repr=False)
    start: KafkaOffsetsInitializer
    stop: KafkaOffsetsInitializer | None = None

    @staticmethod
    def builder() -> DynamicKafkaSourceBuilder:
        """Begins a source; ``build()`` ends it."""
        return DynamicKafkaSourceBuilder()

    def get_boundedness(self) -> Boundedness:
        return Boundedness.CONTINUOUS_UNBOUNDED if self.stop is None else Boundedness.BOUNDED

    @property
    def discovery_ms(self) -> int:
        """how often the metadata service is asked; not above 0: once"""
        return int(self.properties.get(DISCOVERY, "60000"))

    @property
    def failures_allowed(self) -> int:
        """after so many failures in a row to ask the service the job fails"""
        return max(int(self.properties.get(FAILURES, "1")), 1)

    def _of_cluster(self, properties: Mapping[str, str]) -> dict[str, str]:
        own = {key: value for key, value in self.properties.items() if key not in (DISCOVERY, FAILURES)}
        return {**own, **properties}

    def cluster(self, properties: Mapping[str, str]) -> Cluster:
        """The client of one cluster."""
        return Cluster(self._of_cluster(properties))

    def settings(self, properties: Mapping[str, str], subtask: int) -> dict[str, Any]:
        """Of the consumer of a cluster."""
        return consumer_settings(self._of_cluster(properties), self.start.reset, subtask)

    @staticmethod
    def split(at: KafkaTopicPartition, offset: int, stop: int | None) -> KafkaSplit:
        """The split of a partition."""
        return KafkaSplit(at.topic, at.partition, offset, stop)

    def create_enumerator(
        self, context: SplitEnumeratorContext[DynamicSplit], checkpoint: Discovered | None = None
    ) -> DynamicEnumerator:
        return DynamicEnumerator(self, context, checkpoint)

    def create_reader(self, context: SourceReaderContext) -> DynamicReader:
        return DynamicReader(self, context)

    def get_produced_type(self) -> Any:
        return self.decoder.produced_type()


class DynamicKafkaSourceBuilder(ReaderBuilder):
    """Builds a ``DynamicKafkaSource``. Needed: streams, a metadata service, a deserializer.

        >>> service = SingleClusterTopicMetadataService("main", {"bootstrap.servers": "localhost:9092"})
        >>> builder = DynamicKafkaSourceBuilder().set_stream_pattern("orders-.*").set_kafka_metadata_service(service)
        >>> source = builder.set_value_only_deserializer(SimpleStringSchema()).build()
    """

    def __init__(self) -> None:
        super().__init__()
        self._subscriber: KafkaStreamSubscriber | None = None
        self._service: KafkaMetadataService | None = None

    def set_stream_ids(self, stream_ids: Collection[str]) -> DynamicKafkaSourceBuilder:
        """The streams to read, by their ids."""
        return self.set_kafka_stream_subscriber(KafkaStreamSetSubscriber(stream_ids))

    def set_stream_pattern(self, stream_pattern: str) -> DynamicKafkaSourceBuilder:
        """Streams whose whole id fits, later ones, too."""
        return self.set_kafka_stream_subscriber(StreamPatternSubscriber(stream_pattern))

    def set_kafka_stream_subscriber(self, kafka_stream_subscriber: KafkaStreamSubscriber) -> DynamicKafkaSourceBuilder:
        """What chooses the streams."""
        self._subscriber = kafka_stream_subscriber
        return self

    def set_kafka_metadata_service(self, kafka_metadata_service: KafkaMetadataService) -> DynamicKafkaSourceBuilder:
        """What says which topics and clusters a stream has."""
        self._service = kafka_metadata_service
        return self

    def set_bounded(self, stopping_offsets_initializer: KafkaOffsetsInitializer) -> DynamicKafkaSourceBuilder:
        """Read up to these offsets, and end; streams are then looked up once."""
        self._stop = stopping_offsets_initializer
        return self

    def build(self) -> DynamicKafkaSource[Any]:
        """:raises ValueError: something is missing."""
        if self._subscriber is None or self._service is None or self._decoder is None:
            raise ValueError("a DynamicKafkaSource needs streams, a metadata service and a deserializer")
        return DynamicKafkaSource(
            self._subscriber, self._service, self._decoder, self._properties, self._start, self._stop
        )
