"""The options of the connectors, as typed values."""

from __future__ import annotations

import re
from collections.abc import Mapping

from millrace.connectors.base import DeliveryGuarantee
from millrace.connectors.kafka.offsets import KafkaOffsetResetStrategy, KafkaOffsetsInitializer, KafkaTopicPartition
from millrace.connectors.kafka.serializing import FlinkFixedPartitioner, KafkaPartitioner, RoundRobinPartitioner
from millrace.connectors.kafka.subscriber import Subscriber, TopicPattern, Topics
from millrace.connectors.tables.filesystem.layout.options import TableOptions
from millrace.connectors.tables.watermark_options import WATERMARK_OPTIONS
from millrace.relational.sources import TableContext
from millrace.util.exceptions import TableException
from millrace.util.plugin_class import load_class

PROPERTIES = "properties."
BOOTSTRAP, GROUP = "properties.bootstrap.servers", "properties.group.id"
RATE = "scan.records-per-second.limit"
DEAD_LETTERS = "scan.dead-letter.topic"
SCAN = (
    "scan.bounded.mode",
    "scan.bounded.specific-offsets",
    "scan.bounded.timestamp-millis",
    "scan.topic-partition-discovery.interval",
    "scan.parallelism",
    RATE,
    DEAD_LETTERS,
    *WATERMARK_OPTIONS,
)
STARTUP = ("scan.startup.mode", "scan.startup.specific-offsets", "scan.startup.timestamp-millis")
SINK = (
    "sink.parallelism",
    "sink.delivery-guarantee",
    "sink.transactional-id-prefix",
    "sink.transaction-naming-strategy",
)
FIELDS = ("key.format", "key.fields", "key.fields-prefix", "value.fields-include", "value.format")
_STARTS = ("earliest-offset", "latest-offset", "group-offsets", "timestamp", "specific-offsets")
_STOPS = ("unbounded", "latest-offset", "group-offsets", "timestamp", "specific-offsets")
_OFFSET = re.compile(r"\s*partition:(\d+)\s*,\s*offset:(\d+)\s*")


class KafkaOptions:
    """What WITH says.

    :raises TableException: from every method, for a value that is none.
    """

    def __init__(self, table: TableContext) -> None:
        self._table = table.summary
        self._given: Mapping[str, str] = table.options
        self._read = TableOptions(table)

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics that are named; several with semicolons."""
        return tuple(each.strip() for each in self._given.get("topic", "").split(";") if each.strip())

    @property
    def subscriber(self) -> Subscriber:
        pattern = self._given.get("topic-pattern")
        if (pattern is None) == (not self.topics):
            raise self._problem("'topic' or 'topic-pattern' is set, one of them")
        return Topics(self.topics) if pattern is None else TopicPattern(pattern)

    @property
    def properties(self) -> dict[str, str]:
        """Of the client."""
        found = {name[len(PROPERTIES) :]: value for name, value in self._given.items() if name.startswith(PROPERTIES)}
        interval = self._read.millis("scan.topic-partition-discovery.interval", None)
        if interval is not None:
            found["partition.discovery.interval.ms"] = str(interval or -1)
        return found

    def start(self) -> KafkaOffsetsInitializer:
        mode = self._read.one_of("scan.startup.mode", "group-offsets", _STARTS)
        if mode == "group-offsets":
            reset = self._given.get("properties.auto.offset.reset", "none").upper()
            if reset not in KafkaOffsetResetStrategy.__members__:
                name = "properties.auto.offset.reset"
                raise self._problem(f"'{name}' is earliest, latest or none, not '{reset.lower()}'")
            self._needs_group("scan.startup.mode")
            return KafkaOffsetsInitializer.committed_offsets(KafkaOffsetResetStrategy[reset])
        return self._offsets("scan.startup", mode)

    def stop(self) -> KafkaOffsetsInitializer | None:
        mode = self._read.one_of("scan.bounded.mode", "unbounded", _STOPS)
        if mode == "unbounded":
            return None
        if mode == "group-offsets":
            self._needs_group("scan.bounded.mode")
            return KafkaOffsetsInitializer.committed_offsets(KafkaOffsetResetStrategy.LATEST)
        return self._offsets("scan.bounded", mode)

    def _offsets(self, which: str, mode: str) -> KafkaOffsetsInitializer:
        if mode == "earliest-offset":
            return KafkaOffsetsInitializer.earliest()
        if mode == "latest-offset":
            return KafkaOffsetsInitializer.latest()
        name = f"{which}.{'timestamp-millis' if mode == 'timestamp' else mode}"
        if name not in self._given:
            raise self._problem(f"'{which}.mode' = '{mode}' needs '{name}'")
        if mode == "timestamp":
            return KafkaOffsetsInitializer.timestamp(self._read.number(name) or 0)
        found: dict[KafkaTopicPartition, int] = {}
        if len(self.topics) != 1:
            raise self._problem(f"'{name}' is for tables of one topic")
        for part in self._given[name].split(";"):
            read = _OFFSET.fullmatch(part)
            if read is None:
                raise self._read.problem(name, "has the form 'partition:0,offset:42;partition:1,offset:300'")
            found[KafkaTopicPartition(self.topics[0], int(read[1]))] = int(read[2])
        return KafkaOffsetsInitializer.offsets(found)

    def _needs_group(self, mode: str) -> None:
        if GROUP not in self._given:
            raise self._problem(f"'{mode}' = 'group-offsets' needs '{GROUP}'; or set another '{mode}'")

    def guarantee(self) -> DeliveryGuarantee:
        known = tuple(each.name.lower().replace("_", "-") for each in DeliveryGuarantee)
        found = self._read.one_of("sink.delivery-guarantee", "at-least-once", known)
        guarantee = DeliveryGuarantee[found.upper().replace("-", "_")]
        if guarantee is DeliveryGuarantee.EXACTLY_ONCE and not self._given.get("sink.transactional-id-prefix"):
            raise self._problem("'sink.delivery-guarantee' = 'exactly-once' needs 'sink.transactional-id-prefix'")
        return guarantee

    def partitioner(self, with_key: bool) -> KafkaPartitioner | None:
        """None: Kafka's own choice."""
        name = self._given.get("sink.partitioner", "default")
        if name == "default":
            return None
        if name == "fixed":
            return FlinkFixedPartitioner()
        if name == "round-robin":
            if with_key:
                raise self._problem("'sink.partitioner' = 'round-robin' is for tables without 'key.fields'")
            return RoundRobinPartitioner()
        try:
            return load_class(name, KafkaPartitioner, "'sink.partitioner'")()  # type: ignore[type-abstract]
        except (ValueError, TypeError) as error:
            raise self._problem(str(error)) from None

    @property
    def per_second(self) -> float | None:
        """The most records that all readers together take in a second."""
        text = self._given.get(RATE)
        if text is None:
            return None
        try:
            found = float(text)
        except ValueError:
            found = 0.0
        if not found > 0:
            raise self._problem(f"'{RATE}' is a positive number, not '{text}'")
        return found

    def parallelism(self, name: str) -> int | None:
        return self._read.number(name)

    def text(self, name: str, default: str) -> str:
        return self._given.get(name, default)

    def one_of(self, name: str, default: str, known: tuple[str, ...]) -> str:
        return self._read.one_of(name, default, known)

    def _problem(self, text: str) -> TableException:
        return TableException(f"table {self._table}: {text}")
