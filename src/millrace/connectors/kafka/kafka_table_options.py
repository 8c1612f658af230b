"""The options of the connectors ``kafka`` and ``upsert-kafka`` as typed values, and which columns lie in the keys of
records, which in the values, and which are metadata.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from millrace.connectors.kafka.kafka_offsets import (
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaTopicPartition,
    Subscriber,
    TopicPattern,
    Topics,
)
from millrace.connectors.kafka.kafka_records import (
    FlinkFixedPartitioner,
    KafkaPartitioner,
    RoundRobinPartitioner,
    TimestampType,
)
from millrace.connectors.sink_base import DeliveryGuarantee
from millrace.connectors.tables.table_declaration import TIME, WATERMARK_OPTIONS, MetadataColumn
from millrace.connectors.tables.table_options import TableOptions
from millrace.relational import types as t
from millrace.relational.nodes import Schema
from millrace.relational.sources import TableContext
from millrace.relational.types import DataType
from millrace.util.exceptions import TableException
from millrace.util.names import did_you_mean, load_class

# key -> type, and how a message tells it
READABLE: dict[str, tuple[DataType, Callable[[Any], Any]]] = {
    "topic": (t.string(), lambda message: message.topic()),
    "partition": (t.IntType(), lambda message: message.partition()),
    "headers": (t.MapType(t.string(), t.VarBinaryType(t.MAX_LENGTH)), lambda message: _headers(message)),
    "leader-epoch": (t.IntType(), lambda message: message.leader_epoch()),
    "offset": (t.BigIntType(), lambda message: message.offset()),
    "timestamp": (TIME, lambda message: message.timestamp()[1]),
    "timestamp-type": (t.string(), lambda message: TimestampType[message.timestamp()[0]]),
}


def _headers(message: Any) -> list[tuple[str, bytes | None]]:
    # Of a header that is there twice the last one counts, as in Flink.
    return list(dict(message.headers() or ()).items())


WRITABLE = ("headers", "timestamp", "topic")


@dataclass(frozen=True)
class KafkaMetadata(MetadataColumn):
    @property
    def natural(self) -> DataType:
        return READABLE[self.key][0]

    def values(self, messages: Sequence[Any]) -> list[Any]:
        tell = READABLE[self.key][1]
        return [tell(message) for message in messages]


VALUE_METADATA = "value."


@dataclass(frozen=True)
class Layout:
    """
    :ivar key: positions of the physical columns in the keys; ``value`` those in the values.
    :ivar metadata: of the records, behind the physical columns, each with its place among the metadata columns.
    :ivar of_value: metadata that the format of the values gives, likewise.
    """

    table: TableContext
    key: tuple[int, ...]
    value: tuple[int, ...]
    prefix: str
    metadata: tuple[tuple[int, KafkaMetadata], ...]
    of_value: tuple[tuple[int, str], ...]

    def key_columns(self) -> Schema:
        """As the format of the keys knows them: without the prefix."""
        columns = (self.table.columns[place] for place in self.key)
        return tuple(replace(each, name=each.name.removeprefix(self.prefix)) for each in columns)

    def value_columns(self) -> Schema:
        return tuple(self.table.columns[place] for place in self.value)


def layout_of(table: TableContext, key: tuple[str, ...], prefix: str, include: str) -> Layout:
    """
    :param key: names of the columns in the keys.
    :param include: ALL, or EXCEPT_KEY: values are without the columns of the keys.
    :raises TableException: names that there are not, or a metadata key.
    """
    names = [column.name for column in table.columns]
    for name in key:
        if name not in names:
            raise TableException(
                f"table {table.summary}: 'key.fields' has '{name}', no column{did_you_mean(name, names)}; there are "
                f"{', '.join(names)}"
            )
        if not name.startswith(prefix):
            raise TableException(
                f"table {table.summary}: all of 'key.fields' begin with 'key.fields-prefix' '{prefix}', but '{name}' "
                "does not"
            )
    if prefix and include == "all":
        raise TableException(
            f"table {table.summary}: 'key.fields-prefix' needs 'value.fields-include' = 'EXCEPT_KEY': the values would "
            "have the prefixed columns as well"
        )
    keys = tuple(names.index(name) for name in key)
    values = tuple(place for place in range(len(names)) if include == "all" or place not in keys)
    zone = table.configuration.get("table.local-time-zone", "UTC")
    own: list[tuple[int, KafkaMetadata]] = []
    of_value: list[tuple[int, str]] = []
    for place, (name, name_of_key, kind) in enumerate(table.metadata):
        if name_of_key.startswith(VALUE_METADATA):
            of_value.append((place, name_of_key.removeprefix(VALUE_METADATA)))
            continue
        if name_of_key not in READABLE:
            known = [*READABLE, f"{VALUE_METADATA}..."]
            raise TableException(
                f"table {table.summary}, column '{name}': records of Kafka have no metadata '{name_of_key}'"
                f"{did_you_mean(name_of_key, known)}; there are {', '.join(known)}"
            )
        column = KafkaMetadata(name_of_key, kind, "UTC" if zone == "default" else zone)
        problem = column.problem()
        if problem is not None:
            raise TableException(f"table {table.summary}, column '{name}': {problem}")
        own.append((place, column))
    return Layout(table, keys, values, prefix, tuple(own), tuple(of_value))


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
