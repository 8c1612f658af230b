"""The enumerator of ``DynamicKafkaSource``. It asks a metadata service again and again which topics of which
clusters a stream has, gives new partitions to readers, and takes removed ones from them."""

from __future__ import annotations

import logging
import re
import threading
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from millrace.common.source import SourceEvent, SplitEnumerator, SplitEnumeratorContext
from millrace.connectors.kafka.kafka_admin import Cluster
from millrace.connectors.kafka.kafka_offsets import KafkaOffsetsInitializer, KafkaSplit, KafkaTopicPartition
from millrace.connectors.kafka.kafka_source import reader_of
from millrace.util.threads import JobThread

if TYPE_CHECKING:
    from millrace.connectors.kafka.dynamic_kafka_source import DynamicKafkaSource


@dataclass(frozen=True)
class ClusterMetadata:
    """What of a stream lies in one cluster.

        >>> metadata = ClusterMetadata(("orders",), {"bootstrap.servers": "localhost:9092"})
        >>> metadata.topics
        ('orders',)

    :ivar properties: of the client, ``bootstrap.servers`` at least.
    """

    topics: tuple[str, ...]
    properties: Mapping[str, str] = field(repr=False)


@dataclass(frozen=True)
class KafkaStream:
    """A logical stream: topics on one or more clusters.

        >>> cluster = ClusterMetadata(("orders",), {"bootstrap.servers": "localhost:9092"})
        >>> KafkaStream("orders", {"main": cluster}).stream_id
        'orders'

    :ivar clusters: id of a cluster -> what lies there.
    """

    stream_id: str
    clusters: Mapping[str, ClusterMetadata]


class KafkaMetadataService(ABC):
    """Says which topics and clusters a stream has; it is asked on the driver and in the tasks, again and again. Pickled
    into the tasks.

    >>> sorted(KafkaMetadataService.__abstractmethods__)
    ['describe_streams', 'get_all_streams']
    """

    @abstractmethod
    def get_all_streams(self) -> Collection[KafkaStream]:
        """All streams that the service knows."""

    @abstractmethod
    def describe_streams(self, stream_ids: Collection[str]) -> Mapping[str, KafkaStream]:
        """Those of the given streams that exist, by their ids."""

    def is_cluster_active(self, kafka_cluster_id: str) -> bool:
        """Whether a cluster is to be read."""
        return True


class SingleClusterTopicMetadataService(KafkaMetadataService):
    """Every topic of one cluster is a stream.

    >>> service = SingleClusterTopicMetadataService("main", {"bootstrap.servers": "localhost:9092"})
    >>> isinstance(service, KafkaMetadataService)
    True
    """

    def __init__(self, kafka_cluster_id: str, properties: Mapping[str, str]) -> None:
        self._id, self._properties = kafka_cluster_id, dict(properties)

    def get_all_streams(self) -> list[KafkaStream]:
        """A stream for each topic of the cluster."""
        return [self._stream(topic) for topic in Cluster(self._properties).partitions()]

    def describe_streams(self, stream_ids: Collection[str]) -> dict[str, KafkaStream]:
        there = Cluster(self._properties).partitions()
        return {each: self._stream(each) for each in stream_ids if each in there}

    def _stream(self, topic: str) -> KafkaStream:
        return KafkaStream(topic, {self._id: ClusterMetadata((topic,), self._properties)})


class KafkaStreamSubscriber(ABC):
    """Picks streams.

    >>> isinstance(StreamPatternSubscriber("orders-.*"), KafkaStreamSubscriber)
    True
    """

    @abstractmethod
    def get_subscribed_streams(self, kafka_metadata_service: KafkaMetadataService) -> list[KafkaStream]:
        """The chosen streams, as the service describes them."""


@dataclass(frozen=True)
class KafkaStreamSetSubscriber(KafkaStreamSubscriber):
    """Streams by their ids.

    >>> subscriber = KafkaStreamSetSubscriber({"orders"})
    """

    stream_ids: frozenset[str]

    def __init__(self, stream_ids: Collection[str]) -> None:
        object.__setattr__(self, "stream_ids", frozenset(stream_ids))

    def get_subscribed_streams(self, kafka_metadata_service: KafkaMetadataService) -> list[KafkaStream]:
        """The chosen streams, as the service describes them."""
        found = kafka_metadata_service.describe_streams(sorted(self.stream_ids))
        return [found[each] for each in sorted(found)]


@dataclass(frozen=True)
class StreamPatternSubscriber(KafkaStreamSubscriber):
    """Streams whose whole id fits a regular expression.

    >>> subscriber = StreamPatternSubscriber("orders-.*")
    """

    stream_pattern: str

    def get_subscribed_streams(self, kafka_metadata_service: KafkaMetadataService) -> list[KafkaStream]:
        """The streams whose ids fit the pattern."""
        streams = kafka_metadata_service.get_all_streams()
        chosen = [each for each in streams if re.fullmatch(self.stream_pattern, each.stream_id)]
        return sorted(chosen, key=lambda each: each.stream_id)


@dataclass(frozen=True)
class Subscribed:
    """What is to be read at the moment.

    :ivar topics: id of a cluster -> its topics; ``properties`` likewise.
    """

    topics: Mapping[str, frozenset[str]]
    properties: Mapping[str, Mapping[str, str]] = field(repr=False)


def subscribed(subscriber: KafkaStreamSubscriber, service: KafkaMetadataService) -> Subscribed:
    """Ask the service; clusters that are not active are left out."""
    topics: dict[str, set[str]] = {}
    properties: dict[str, Mapping[str, str]] = {}
    for stream in subscriber.get_subscribed_streams(service):
        for cluster, known in stream.clusters.items():
            if service.is_cluster_active(cluster):
                topics.setdefault(cluster, set()).update(known.topics)
                properties[cluster] = known.properties
    return Subscribed({each: frozenset(names) for each, names in topics.items()}, properties)


Place = tuple[str, str]
"""cluster and topic"""


@dataclass(frozen=True)
class DynamicSplit:
    """A partition in a cluster."""

    cluster: str
    split: KafkaSplit

    @property
    def split_id(self) -> str:
        return f"{self.cluster} {self.split.split_id}"

    @property
    def place(self) -> Place:
        return self.cluster, self.split.topic


@dataclass(frozen=True)
class Removed(SourceEvent):
    """Tells a reader that these topics were removed, so that it stops reading them."""

    places: frozenset[Place]


@dataclass(frozen=True)
class Parked(SourceEvent):
    """A reader has stopped reading a split, here."""

    split: DynamicSplit


logger = logging.getLogger(__name__)


class Discovered(NamedTuple):
    """The state of an enumerator."""

    known: frozenset[tuple[str, str, int]]
    """(cluster, topic, partition) of all partitions that readers have or that wait for a reader"""
    waiting: tuple[DynamicSplit, ...]
    parked: tuple[DynamicSplit, ...]
    """splits of removed topics: if the topic comes back, reading resumes here"""
    places: frozenset[Place]


class DynamicEnumerator(SplitEnumerator[DynamicSplit]):
    """Discovery runs in a thread; what it finds is taken over while an epoch is planned."""

    splits_end = False

    def __init__(
        self,
        source: DynamicKafkaSource[Any],
        context: SplitEnumeratorContext[DynamicSplit],
        earlier: Discovered | None = None,
    ) -> None:
        self._source, self._context = source, context
        self._known = set(earlier.known if earlier is not None else ())
        self._waiting = list(earlier.waiting if earlier is not None else ())
        self._parked = {each.split_id: each for each in (earlier.parked if earlier is not None else ())}
        self._places = set(earlier.places if earlier is not None else ())
        self._first = earlier is None
        self._again = source.discovery_ms > 0 and source.stop is None
        self._lock = threading.Lock()
        self._news: list[tuple[set[Place], list[DynamicSplit]]] = []
        """places that are read now, and splits of new partitions; by the thread, and not taken over"""
        self._failure: Exception | None = None
        self._closed = threading.Event()

    def start(self) -> None:
        """:raises ConnectionError: a cluster does not answer."""
        self._take_over(*self._look(self._source.start if self._first else KafkaOffsetsInitializer.earliest()))
        self._first = False
        if self._again:
            JobThread(target=self._look_again, name="millrace-kafka-streams", daemon=True).start()

    def _look(self, start: KafkaOffsetsInitializer) -> tuple[set[Place], list[DynamicSplit]]:
        now = subscribed(self._source.subscriber, self._source.service)
        places = {(cluster, topic) for cluster, topics in now.topics.items() for topic in topics}
        return places, [split for cluster in now.topics for split in self._new_in(cluster, now, start)]

    def _new_in(self, cluster: str, now: Subscribed, start: KafkaOffsetsInitializer) -> list[DynamicSplit]:
        asked = self._source.cluster(now.properties[cluster])
        there = asked.partitions()
        wanted = [
            KafkaTopicPartition(topic, number)
            for topic in sorted(now.topics[cluster])
            for number in range(there.get(topic, 0))
            if (cluster, topic, number) not in self._known
        ]
        if not wanted:
            return []
        begins, stop = start.find(wanted, asked), self._source.stop
        ends = {} if stop is None else stop.find(wanted, asked)
        return [DynamicSplit(cluster, self._source.split(each, begins[each], ends.get(each))) for each in wanted]

    def _look_again(self) -> None:
        failures = 0
        while not self._closed.wait(self._source.discovery_ms / 1000):
            try:
                found = self._look(KafkaOffsetsInitializer.earliest())
            except Exception as error:
                failures += 1
                logger.warning("streams of Kafka were not looked up (%d. time in a row): %s", failures, error)
                if failures >= self._source.failures_allowed:
                    self._failure = error
                continue
            failures = 0
            with self._lock:
                self._news.append(found)

    def _take_over(self, places: set[Place], found: Sequence[DynamicSplit]) -> None:
        gone = self._places - places
        if gone:
            self._known = {each for each in self._known if each[:2] not in gone}
            for split in [each for each in self._waiting if each.place in gone]:
                self._waiting.remove(split)
                self._parked[split.split_id] = split
            for subtask in range(self._context.current_parallelism()):
                self._context.send_event_to_source_reader(subtask, Removed(frozenset(gone)))
            logger.info("not read any more: %s", ", ".join(f"{topic} of {cluster}" for cluster, topic in sorted(gone)))
        self._places = places
        for split in found:
            at = (split.cluster, split.split.topic, split.split.partition)
            if at not in self._known:
                self._known.add(at)
                self._waiting.append(self._parked.pop(split.split_id, split))

    def handle_source_event(self, subtask_id: int, event: SourceEvent) -> None:
        if isinstance(event, Parked):
            split = event.split
            at = (split.cluster, split.split.topic, split.split.partition)
            if at not in self._known:
                self._parked[split.split_id] = split
                return
            # It came back before its reader had let it go.
            fresh = [each for each in self._waiting if each.split_id == split.split_id]
            for each in fresh:
                self._waiting.remove(each)
            self._waiting.append(split)

    def handle_split_request(self, subtask_id: int) -> None:
        if self._failure is not None:
            raise self._failure
        with self._lock:
            news, self._news = self._news, []
        for places, found in news:
            self._take_over(places, found)
        parallelism = self._context.current_parallelism()
        for split in self._waiting:
            if reader_of(split.split.at, parallelism) == subtask_id:
                self._waiting.remove(split)
                self._context.assign_split(split, subtask_id)
                return
        if not self._again:
            self._context.signal_no_more_splits(subtask_id)

    def add_splits_back(self, splits: Sequence[DynamicSplit], subtask_id: int) -> None:
        self._waiting += splits

    def snapshot_state(self, checkpoint_id: int) -> Any:
        parked = tuple(self._parked[each] for each in sorted(self._parked))
        return Discovered(frozenset(self._known), tuple(self._waiting), parked, frozenset(self._places))

    def close(self) -> None:
        self._closed.set()
