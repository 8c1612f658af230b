"""Streams: topics of one or several clusters, as a metadata service knows them."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from millrace.connectors.kafka.cluster import Cluster


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
    """Says where streams lie; asked on the driver and in the tasks, now and then. Pickled into the tasks.

        >>> sorted(KafkaMetadataService.__abstractmethods__)
        ['describe_streams', 'get_all_streams']
    """

    @abstractmethod
    def get_all_streams(self) -> Collection[KafkaStream]:
        """All streams that the service knows."""

    @abstractmethod
    def describe_streams(self, stream_ids: Collection[str]) -> Mapping[str, KafkaStream]:
        """Those of the streams that are there, by their ids."""

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
