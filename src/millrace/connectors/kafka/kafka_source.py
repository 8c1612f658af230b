"""``KafkaSource``: reads topics. Its enumerator looks for partitions again and again, and gives each to a reader."""

from __future__ import annotations

import copy
import logging
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from millrace.common.serialization import DeserializationSchema
from millrace.common.source import Boundedness, Source, SourceReaderContext, SplitEnumerator, SplitEnumeratorContext
from millrace.common.typeinfo import TypeInformation
from millrace.connectors.generated_sources import RateLimiterStrategy
from millrace.connectors.kafka.kafka_admin import Cluster
from millrace.connectors.kafka.kafka_offsets import (
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaSplit,
    KafkaTopicPartition,
    Partitions,
    Subscriber,
    TopicPattern,
    Topics,
)
from millrace.connectors.kafka.kafka_reader import DeadLetters, KafkaSplitReader
from millrace.connectors.kafka.kafka_records import (
    KafkaRecordDeserializationSchema,
    RecordDecoder,
    ValueOnly,
    WholeRecords,
)
from millrace.connectors.kafka.kafka_settings import ClientBuilder, client_settings
from millrace.connectors.source_base import Pace
from millrace.connectors.split_reader import SourceReaderBase
from millrace.util.threads import JobThread

if TYPE_CHECKING:
    from typing_extensions import Self


logger = logging.getLogger(__name__)


class Discovered(NamedTuple):
    """The state of an enumerator."""

    known: tuple[KafkaTopicPartition, ...]
    """partitions that have been found, wherever they are by now"""
    waiting: tuple[KafkaSplit, ...]
    """splits that no reader has yet"""
    ends: tuple[tuple[KafkaTopicPartition, int], ...] = ()
    """where partitions end that have an end"""


def reader_of(partition: KafkaTopicPartition, parallelism: int) -> int:
    """Which reader a partition belongs to: those of a topic go round, beginning at a place that its name tells."""
    start = 0
    for unit in partition.topic.encode("utf-16-be")[1::2]:
        start = (31 * start + unit) & 0xFFFFFFFF
    return ((start * 31 & 0x7FFFFFFF) % parallelism + partition.partition) % parallelism


class KafkaEnumerator(SplitEnumerator[KafkaSplit]):
    """Asks the brokers at the start, then every so often in a thread of its own.

    Partitions that are found later are read from their beginning: their first records may be older than the finding.
    """

    splits_end = False

    def __init__(
        self, source: KafkaSource[Any], context: SplitEnumeratorContext[KafkaSplit], earlier: Discovered | None = None
    ) -> None:
        self._source = source
        self._context = context
        self._known = set(earlier.known if earlier is not None else ())
        self._waiting = list(earlier.waiting if earlier is not None else ())
        self._ends = dict(earlier.ends if earlier is not None else ())
        self._first = earlier is None
        self._again = source.discovery_ms > 0 and source.stop is None
        self._cluster: Cluster | None = None
        self._lock = threading.Lock()
        self._found: list[KafkaSplit] = []
        """splits that the discovery thread has found, and the enumerator has not taken over"""
        self._closed = threading.Event()

    def start(self) -> None:
        """:raises ValueError: a topic is missing. :raises ConnectionError: no broker answers."""
        self._cluster = self._source.cluster()
        if self._first:
            self._waiting += self._discover(self._source.start)
            self._first = False
        if self._again:
            JobThread(target=self._look, name="millrace-kafka-partitions", daemon=True).start()

    def _discover(self, start: KafkaOffsetsInitializer) -> list[KafkaSplit]:
        assert self._cluster is not None
        wanted = self._source.subscriber.partitions(self._cluster.partitions())
        new = [each for each in wanted if each not in self._known]
        begins = start.find(new, self._cluster)
        stop = self._source.stop
        ends = {} if stop is None else stop.find(new, self._cluster)
        self._known.update(new)
        self._ends.update(ends)
        return [KafkaSplit(each.topic, each.partition, begins[each], ends.get(each)) for each in new]

    def _look(self) -> None:
        while not self._closed.wait(self._source.discovery_ms / 1000):
            try:
                found = self._discover(KafkaOffsetsInitializer.earliest())
            except Exception as error:
                logger.warning("partitions of Kafka were not looked up, which is tried again: %s", error)
                continue
            if found:
                logger.info("new partitions: %s", ", ".join(each.split_id for each in found))
                with self._lock:
                    self._found += found

    def handle_split_request(self, subtask_id: int) -> None:
        with self._lock:
            self._waiting += self._found
            self._found = []
        parallelism = self._context.current_parallelism()
        for split in self._waiting:
            if reader_of(split.at, parallelism) == subtask_id:
                self._waiting.remove(split)
                self._context.assign_split(split, subtask_id)
                return
        if not self._again:
            self._context.signal_no_more_splits(subtask_id)

    def add_splits_back(self, splits: Sequence[KafkaSplit], subtask_id: int) -> None:
        self._waiting += splits

    def snapshot_state(self, checkpoint_id: int) -> Any:
        with self._lock:
            return Discovered(
                tuple(sorted(self._known)), (*self._waiting, *self._found), tuple(sorted(self._ends.items()))
            )

    def job_ended(self, splits: Sequence[KafkaSplit]) -> None:
        """Tell the group how far the job came: its readers only knew the checkpoint before."""
        if not self._source.commits or self._cluster is None:
            return
        waiting = {each.at for each in self._waiting}
        offsets = {at: end for at, end in self._ends.items() if at not in waiting}
        offsets |= {each.at: each.offset for each in splits}
        self._cluster.commit(offsets)

    def close(self) -> None:
        self._closed.set()


class ReaderBuilder(ClientBuilder):
    """Base of all builders of sources: collects the properties of the client, the starting offsets and the
    deserializer."""

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
        """Read only these partitions."""
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

    def get_produced_type(self) -> TypeInformation | None:
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
