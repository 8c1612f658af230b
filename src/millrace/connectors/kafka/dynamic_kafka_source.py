"""``DynamicKafkaSource``: reads streams whose topics and clusters may change while the job runs, with a consumer for
each cluster.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from millrace.common.source import Boundedness, Source, SourceEvent, SourceReaderContext, SplitEnumeratorContext
from millrace.common.typeinfo import TypeInformation
from millrace.connectors.kafka.dynamic_kafka_enumerator import (
    Discovered,
    DynamicEnumerator,
    DynamicSplit,
    KafkaMetadataService,
    KafkaStreamSetSubscriber,
    KafkaStreamSubscriber,
    Parked,
    Place,
    Removed,
    StreamPatternSubscriber,
    subscribed,
)
from millrace.connectors.kafka.kafka_admin import Cluster
from millrace.connectors.kafka.kafka_offsets import KafkaOffsetsInitializer, KafkaSplit, KafkaTopicPartition
from millrace.connectors.kafka.kafka_reader import KafkaSplitReader
from millrace.connectors.kafka.kafka_records import RecordDecoder
from millrace.connectors.kafka.kafka_source import ReaderBuilder, consumer_settings
from millrace.connectors.split_reader import SourceReaderBase, SplitBatch, SplitReader

Offsets = dict[str, dict[tuple[str, int], int]]
"""cluster -> partition -> offset"""


@dataclass(frozen=True)
class Dropped(SplitBatch[Any, DynamicSplit]):
    """The last batch of a split that is not read any more.

    :ivar at: where it stands.
    """

    at: DynamicSplit | None = None


class DynamicReader(SourceReaderBase[Any, DynamicSplit]):
    """Commits offsets to the consumer groups, once the checkpoint that has them is recorded."""

    def __init__(self, source: DynamicKafkaSource[Any], context: SourceReaderContext) -> None:
        super().__init__(lambda: DynamicSplitReader(source, context.get_index_of_subtask()))
        self._context, self._commits = context, "group.id" in source.properties
        self._snapshots: deque[tuple[int, Offsets]] = deque()

    def handle_source_events(self, event: SourceEvent) -> None:
        if isinstance(event, Removed):
            self.tell(lambda reader: reader.drop(event.places))

    def emitted(self, batch: SplitBatch[Any, DynamicSplit]) -> None:
        if isinstance(batch, Dropped) and batch.at is not None:
            self._context.send_source_event_to_coordinator(Parked(batch.at))

    def snapshot_state(self, checkpoint_id: int) -> list[DynamicSplit]:
        splits = super().snapshot_state(checkpoint_id)
        if self._commits:
            offsets: Offsets = defaultdict(dict)
            for each in splits:
                offsets[each.cluster][each.split.topic, each.split.partition] = each.split.offset
            self._snapshots.append((checkpoint_id, offsets))
        return splits

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        last: Offsets = {}
        while self._snapshots and self._snapshots[0][0] <= checkpoint_id:
            _, last = self._snapshots.popleft()
        if last:
            self.tell(lambda reader: reader.commit(last))


class DynamicSplitReader(SplitReader[Any, DynamicSplit]):
    def __init__(self, source: DynamicKafkaSource[Any], subtask: int) -> None:
        self._source, self._subtask = source, subtask
        self._readers: dict[str, KafkaSplitReader[Any]] = {}
        self._splits: dict[str, dict[str, KafkaSplit]] = defaultdict(dict)
        self._dropped: list[Dropped] = []

    def handle_splits_changes(self, added: Sequence[DynamicSplit]) -> None:
        by_cluster: dict[str, list[KafkaSplit]] = defaultdict(list)
        for each in added:
            by_cluster[each.cluster].append(each.split)
            self._splits[each.cluster][each.split.split_id] = each.split
        for cluster, splits in by_cluster.items():
            self._reader(cluster).handle_splits_changes(splits)

    def _reader(self, cluster: str) -> KafkaSplitReader[Any]:
        if cluster not in self._readers:
            known = subscribed(self._source.subscriber, self._source.service).properties
            if cluster not in known:
                raise ValueError(f"the metadata service does not know Kafka cluster {cluster!r} any more")
            settings = self._source.settings(known[cluster], self._subtask)
            self._readers[cluster] = KafkaSplitReader(settings, self._source.decoder)
        return self._readers[cluster]

    def fetch(self) -> list[SplitBatch[Any, DynamicSplit]]:
        found: list[SplitBatch[Any, DynamicSplit]] = [*self._dropped]
        self._dropped = []
        for cluster, reader in self._readers.items():
            for batch in reader.fetch():
                left = None if batch.left is None else DynamicSplit(cluster, batch.left)
                if batch.left is None:
                    self._splits[cluster].pop(batch.split_id, None)
                else:
                    self._splits[cluster][batch.split_id] = batch.left
                name = f"{cluster} {batch.split_id}"
                found.append(SplitBatch(name, batch.records, left, batch.timestamps, batch.size))
        return found

    def drop(self, places: frozenset[Place]) -> None:
        """Read these topics no more."""
        for cluster in {cluster for cluster, _ in places}:
            splits = self._splits[cluster]
            gone = [name for name, split in splits.items() if (cluster, split.topic) in places]
            for name in gone:
                at = DynamicSplit(cluster, splits.pop(name))
                self._dropped.append(Dropped(at.split_id, [], None, at=at))
            if cluster in self._readers:
                self._readers[cluster].leave(gone)
                if not splits:
                    self._readers.pop(cluster).close()

    def pause_or_resume_splits(self, to_pause: Sequence[str], to_resume: Sequence[str]) -> None:
        for cluster, reader in self._readers.items():
            start = f"{cluster} "
            pause, resume = (
                [each.removeprefix(start) for each in names if each.startswith(start)]
                for names in (to_pause, to_resume)
            )
            reader.pause_or_resume_splits(pause, resume)

    def commit(self, offsets: Mapping[str, Mapping[tuple[str, int], int]]) -> None:
        for cluster, known in offsets.items():
            if cluster in self._readers:
                self._readers[cluster].commit(known)

    def close(self) -> None:
        for reader in self._readers.values():
            reader.close()


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

    def get_produced_type(self) -> TypeInformation | None:
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
