"""``KafkaSource``: reads topics."""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from millrace.common.source import Boundedness, Source, SourceReaderContext, SplitEnumeratorContext
from millrace.connectors.kafka.builders import KafkaSourceBuilder
from millrace.connectors.kafka.cluster import Cluster
from millrace.connectors.kafka.dead_letters import DeadLetters
from millrace.connectors.kafka.enumerator import Discovered, KafkaEnumerator
from millrace.connectors.kafka.fetching import KafkaSplitReader
from millrace.connectors.kafka.offsets import KafkaOffsetResetStrategy, KafkaOffsetsInitializer
from millrace.connectors.kafka.properties import client_settings
from millrace.connectors.kafka.record import RecordDecoder
from millrace.connectors.kafka.split import KafkaSplit
from millrace.connectors.kafka.subscriber import Subscriber
from millrace.connectors.rate import Pace
from millrace.connectors.split_reader import SourceReaderBase

T = TypeVar("T")

DISCOVERY = "partition.discovery.interval.ms"
COMMIT = "commit.offsets.on.checkpoint"
CLIENT_PREFIX = "client.id.prefix"
_RESETS = {
    KafkaOffsetResetStrategy.EARLIEST: "earliest",
    KafkaOffsetResetStrategy.LATEST: "latest",
    KafkaOffsetResetStrategy.NONE: "error",
}
DEFAULTS: dict[str, Any] = {
    # Flink's, which librdkafka has otherwise.
    "isolation.level": "read_uncommitted",
    "allow.auto.create.topics": False,
    # Records that wait in the client; those that are fetched and not emitted come on top.
    "queued.max.messages.kbytes": 16_384,
    "queued.min.messages": 20_000,
    "fetch.wait.max.ms": 100,
    # A partition whose queue was full is asked again so soon, not after a second.
    "fetch.queue.backoff.ms": 10,
}


def consumer_settings(properties: Mapping[str, str], reset: KafkaOffsetResetStrategy, subtask: int) -> dict[str, Any]:
    """Of a reader's consumer, in librdkafka's names."""
    settings = {**DEFAULTS, **client_settings(properties)}
    settings["auto.offset.reset"] = _RESETS[reset]
    settings["enable.auto.commit"] = False
    prefix = properties.get(CLIENT_PREFIX)
    settings.setdefault("group.id", f"millrace-{prefix or 'reader'}")
    if prefix is not None:
        settings["client.id"] = f"{prefix}-{subtask}"
    return settings


@dataclass(frozen=True, eq=False)
class KafkaSource(Source[T, KafkaSplit], Generic[T]):
    """Records of partitions, each with its time; made by ``KafkaSource.builder()`` or a table.

        >>> builder = KafkaSource.builder().set_bootstrap_servers("localhost:9092").set_topics("orders")
        >>> builder = builder.set_group_id("shop").set_starting_offsets(KafkaOffsetsInitializer.earliest())
        >>> source = builder.set_value_only_deserializer(SimpleStringSchema()).build()
        >>> orders = env.from_source(source, WatermarkStrategy.no_watermarks(), "orders")

    :ivar stop: where partitions end; None: nowhere.
    :ivar bounded: whether the source ends when all partitions are read to their ends.
    :ivar properties: of the client, in the names of Java's.
    :ivar parallelism: of a table that says it; None: as the job's.
    :ivar per_second: how many records all readers together take in a second; None: all that there are.
    :ivar dead_letters: the topic that records go to which cannot be read; None: they fail the job.
    """

    subscriber: Subscriber
    decoder: RecordDecoder[T]
    properties: Mapping[str, str]
    start: KafkaOffsetsInitializer
    stop: KafkaOffsetsInitializer | None = None
    bounded: bool = False
    parallelism: int | None = None
    per_second: float | None = None
    dead_letters: str | None = None

    @staticmethod
    def builder() -> KafkaSourceBuilder:
        """Begins a source; ``build()`` ends it."""
        return KafkaSourceBuilder()

    def get_boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED if self.bounded else Boundedness.CONTINUOUS_UNBOUNDED

    @property
    def discovery_ms(self) -> int:
        """How often new partitions are looked for, in ms."""
        return int(self.properties.get(DISCOVERY, "300000"))

    @property
    def commits(self) -> bool:
        """Whether a consumer group hears how far checkpoints are."""
        return "group.id" in self.properties and self.properties.get(COMMIT, "true").lower() == "true"

    def cluster(self) -> Cluster:
        """The client of the cluster."""
        return Cluster(self.properties)

    def create_enumerator(
        self, context: SplitEnumeratorContext[KafkaSplit], checkpoint: Discovered | None = None
    ) -> KafkaEnumerator:
        return KafkaEnumerator(self, context, checkpoint)

    def create_reader(self, context: SourceReaderContext) -> KafkaReader[T]:
        settings = consumer_settings(self.properties, self.start.reset, context.get_index_of_subtask())
        share = None if self.per_second is None else self.per_second / context.current_parallelism()
        decoder = self.decoder
        if self.dead_letters is not None:
            decoder = DeadLetters(decoder, self.dead_letters, self.properties)
        return KafkaReader(settings, decoder, self.commits, share)

    def get_produced_type(self) -> Any:
        return self.decoder.produced_type()

    def for_readers(self) -> KafkaSource[T]:
        return copy.copy(self)


class KafkaReader(SourceReaderBase[T, KafkaSplit], Generic[T]):
    """Commits offsets to the consumer group, once the checkpoint that has them is recorded."""

    def __init__(
        self, settings: Mapping[str, Any], decoder: RecordDecoder[T], commits: bool, per_second: float | None
    ) -> None:
        pace = None if per_second is None else Pace(per_second)
        super().__init__(lambda: KafkaSplitReader(settings, decoder, pace))
        self._commits = commits
        self._snapshots: deque[tuple[int, dict[tuple[str, int], int]]] = deque()
        self._before: dict[tuple[str, int], KafkaSplit] = {}

    def snapshot_state(self, checkpoint_id: int) -> list[KafkaSplit]:
        splits = super().snapshot_state(checkpoint_id)
        if self._commits:
            now = {(each.topic, each.partition): each for each in splits}
            offsets = {at: each.offset for at, each in now.items()}
            ended = (each for at, each in self._before.items() if at not in now and each.stop is not None)
            offsets |= {(each.topic, each.partition): each.stop for each in ended if each.stop is not None}
            self._before = now
            self._snapshots.append((checkpoint_id, offsets))
        return splits

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        offsets: dict[tuple[str, int], int] = {}
        while self._snapshots and self._snapshots[0][0] <= checkpoint_id:
            offsets |= self._snapshots.popleft()[1]
        if offsets:
            self.tell(lambda reader: reader.commit(offsets))

    def add_splits(self, splits: Sequence[KafkaSplit]) -> None:
        super().add_splits(splits)
        self._before |= {(each.topic, each.partition): each for each in splits}
