"""Reads a topic as a table: a batch of messages of a partition becomes rows at once. Conditions on topic, partition,
offset and timestamp reduce what is fetched."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.common.source import Source
from millrace.connectors.kafka.kafka_offsets import KafkaOffsetsInitializer, KafkaTopicPartition, Offsets, Subscriber
from millrace.connectors.kafka.kafka_records import RecordDecoder, RecordError
from millrace.connectors.kafka.kafka_source import KafkaSource
from millrace.connectors.kafka.kafka_table_options import Layout
from millrace.connectors.tables.table_declaration import Format, MetadataColumn, source_watermarks
from millrace.relational import types as t
from millrace.relational.nodes import Schema
from millrace.relational.rex import Call, Field, Literal, Ref, Rex
from millrace.relational.rows import DELETE, UPDATE_AFTER, Rows, concat, record_batch
from millrace.relational.sources import INSERT_ONLY, UPSERT, DecodingFormat, TableSource
from millrace.relational.type_table import arrow_type
from millrace.util.skipped import record_skipped

_MIRRORED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True)
class Bounds:
    """What records can pass; None: all.

    :ivar first: the lowest offset; ``end``: the one behind the highest.
    :ivar since: the lowest time, in ms.
    """

    topic: str | None = None
    partition: int | None = None
    first: int | None = None
    end: int | None = None
    since: int | None = None

    def start(self, given: KafkaOffsetsInitializer) -> KafkaOffsetsInitializer:
        return given if self.first is None and self.since is None else _Later(given, self.first, self.since)

    def stop(self, given: KafkaOffsetsInitializer | None) -> KafkaOffsetsInitializer | None:
        return given if given is None or self.end is None else _Sooner(given, self.end)

    def of(self, subscriber: Subscriber) -> Subscriber:
        return subscriber if self.topic is None and self.partition is None else _Some(subscriber, self)


def bounds_of(filters: Sequence[Rex], metadata: Mapping[int, MetadataColumn]) -> Bounds:
    """
    :param filters: all of them are true for a row that is wanted.
    :param metadata: column of the table -> what it has.
    """
    found = Bounds()
    for each in filters:
        comparison = _comparison(each)
        if comparison is not None and comparison[0] in metadata:
            place, function, value = comparison
            found = _narrowed(found, metadata[place], function, value)
    return found


def _comparison(condition: Rex) -> tuple[int, str, Any] | None:
    if not isinstance(condition, Call) or condition.function not in _MIRRORED or len(condition.args) != 2:
        return None
    (left, right), function = condition.args, condition.function
    if isinstance(left, Literal):
        left, right, function = right, left, _MIRRORED[function]
    if not isinstance(left, Ref) or not isinstance(right, Literal) or right.value is None:
        return None
    return left.index, function, right.value


def _narrowed(found: Bounds, column: MetadataColumn, function: str, value: Any) -> Bounds:
    number = isinstance(value, int) and not isinstance(value, bool) and isinstance(column.type, t.IntegralType)
    if column.key == "topic" and function == "=" and isinstance(value, str):
        return replace(found, topic=value)
    if column.key == "partition" and function == "=" and number:
        return replace(found, partition=value)
    if column.key == "offset" and number:
        first = {"=": value, ">=": value, ">": value + 1}.get(function)
        end = {"=": value + 1, "<=": value + 1, "<": value}.get(function)
        return replace(found, first=_highest(found.first, first), end=_lowest(found.end, end))
    is_instant = isinstance(value, dt.datetime) and value.tzinfo is not None
    if column.key == "timestamp" and isinstance(column.type, t.LocalZonedTimestampType) and is_instant:
        if function in ("=", ">=", ">"):
            return replace(found, since=_highest(found.since, int(value.timestamp() * 1000 // 1)))
    return found


def _highest(one: int | None, other: int | None) -> int | None:
    return max((each for each in (one, other) if each is not None), default=None)


def _lowest(one: int | None, other: int | None) -> int | None:
    return min((each for each in (one, other) if each is not None), default=None)


class _Later(KafkaOffsetsInitializer):
    """Begins where another one does, but not before an offset and a time; nor behind the end."""

    def __init__(self, given: KafkaOffsetsInitializer, first: int | None, since: int | None) -> None:
        self._given, self._first, self._since = given, first, since
        self.reset, self.needs_group = given.reset, given.needs_group

    def find(self, partitions: Sequence[KafkaTopicPartition], offsets: Offsets) -> dict[KafkaTopicPartition, int]:
        found = self._given.find(partitions, offsets)
        ends = offsets.latest(partitions)
        times = {} if self._since is None else offsets.at_time(partitions, self._since)
        lowest = self._first or 0
        return {each: max(at, min(max(lowest, times.get(each, 0)), ends[each])) for each, at in found.items()}


class _Sooner(KafkaOffsetsInitializer):
    """Ends where another one does, but not behind an offset."""

    def __init__(self, given: KafkaOffsetsInitializer, end: int) -> None:
        self._given, self._end = given, end
        self.reset, self.needs_group = given.reset, given.needs_group

    def find(self, partitions: Sequence[KafkaTopicPartition], offsets: Offsets) -> dict[KafkaTopicPartition, int]:
        return {each: min(at, max(self._end, 0)) for each, at in self._given.find(partitions, offsets).items()}


@dataclass(frozen=True)
class _Some:
    """The partitions of another subscriber that can have records within the bounds."""

    given: Subscriber
    bounds: Bounds

    def partitions(self, topics: Mapping[str, int]) -> list[KafkaTopicPartition]:
        topic, partition = self.bounds.topic, self.bounds.partition
        return [
            each
            for each in self.given.partitions(topics)
            if topic in (None, each.topic) and partition in (None, each.partition)
        ]


@dataclass(frozen=True)
class Wanted:
    """Where a column of the result comes from.

    :ivar place: key, value, or metadata.
    :ivar at: the column that the format of key or value gives.
    """

    place: str
    at: int = 0
    metadata: MetadataColumn | None = None


@dataclass(frozen=True)
class RowsDecoder(RecordDecoder[Rows]):
    """Decodes keys and values by their formats, and adds metadata. Formats see only the columns that a query wants.

    :ivar key: None: nothing of the keys is wanted.
    :ivar value: None: nothing of the values is wanted.
    """

    key: DecodingFormat | None
    value: DecodingFormat | None
    wanted: tuple[Wanted, ...]

    def decode(self, messages: Sequence[Any]) -> tuple[list[Rows], list[int] | None]:
        rows = self.rows(messages)
        return ([rows] if len(rows) else []), None

    def rows(self, messages: Sequence[Any]) -> Rows:
        places: Any = None
        value = None
        if self.value is not None:
            found = _decode(self.value, messages, pa.array([each.value() for each in messages], pa.binary()))
            value, places = found.rows, found.messages
        keys = None if self.key is None else self._keys(self.key, messages)
        count = len(messages) if value is None else len(value)
        taken = None if places is None else pa.array(places)
        columns = []
        for each in self.wanted:
            if each.place == "value":
                assert value is not None
                columns.append(value.columns[each.at])
                continue
            if each.place == "key":
                assert keys is not None
                column = keys[each.at]
            else:
                assert each.metadata is not None
                column = each.metadata.read(messages)
            columns.append(column if taken is None else column.take(taken))
        return Rows(record_batch(columns, count), None if value is None else value.kinds)

    def _keys(self, format: DecodingFormat, messages: Sequence[Any]) -> list[pa.Array]:
        """A row for every message; NULLs where the format gives none."""
        return _one_each(format, messages, pa.array([each.key() for each in messages], pa.binary()))


def _one_each(format: DecodingFormat, messages: Sequence[Any], contents: pa.Array) -> list[pa.Array]:
    found = _decode(format, messages, contents)
    if found.messages is None:
        return list(found.rows.columns)
    places = np.full(len(messages), -1, np.int64)
    places[found.messages] = np.arange(len(found.rows))
    taken = pa.array(places, mask=places < 0)
    return [column.take(taken) for column in found.rows.columns]


def _decode(format: DecodingFormat, messages: Sequence[Any], contents: pa.Array) -> Any:
    try:
        found = format.decode(contents)
        record_skipped(found.skipped)
        return found
    except ValueError as error:
        raise _first_wrong(format, messages, contents, error) from error


def _first_wrong(format: DecodingFormat, messages: Sequence[Any], contents: pa.Array, error: ValueError) -> Exception:
    """The error for the message that cannot be read; which one it is costs another look at each."""
    for place, message in enumerate(messages):
        try:
            format.decode(contents.slice(place, 1))
        except ValueError as cause:
            return RecordError(message, cause)
    return error


@dataclass(frozen=True)
class UpsertDecoder(RecordDecoder[Rows]):
    """Of a record without value the row with its key is deleted; any other is the row's new content.

    :ivar columns: of the result, for the NULLs of deletions.
    """

    decoder: RowsDecoder
    columns: Schema

    def decode(self, messages: Sequence[Any]) -> tuple[list[Rows], list[int] | None]:
        parts = []
        start = 0
        gone = [each.value() is None for each in messages]
        for end in range(1, len(messages) + 1):
            # Neighbours of one kind are decoded together: order counts.
            if end == len(messages) or gone[end] != gone[start]:
                part = messages[start:end]
                parts.append(self._deleted(part) if gone[start] else self._changed(part))
                start = end
        parts = [part for part in parts if len(part)]
        return ([concat(parts)] if parts else []), None

    def _changed(self, messages: Sequence[Any]) -> Rows:
        rows = self.decoder.rows(messages)
        return Rows(rows.batch, np.full(len(rows), UPDATE_AFTER, np.uint8))

    def _deleted(self, messages: Sequence[Any]) -> Rows:
        there = tuple(each for each in self.decoder.wanted if each.place != "value")
        given = iter(RowsDecoder(self.decoder.key, None, there).rows(messages).columns)
        columns = [
            pa.nulls(len(messages), arrow_type(column.type)) if each.place == "value" else next(given)
            for each, column in zip(self.decoder.wanted, self.columns)
        ]
        return Rows(record_batch(columns, len(messages)), np.full(len(messages), DELETE, np.uint8))


@dataclass(frozen=True)
class Topic:
    """What is read, and from where to where."""

    subscriber: Subscriber
    properties: dict[str, str]
    start: KafkaOffsetsInitializer
    stop: KafkaOffsetsInitializer | None
    parallelism: int | None = None
    per_second: float | None = None
    dead_letters: str | None = None


class KafkaTableSource(TableSource):
    """Records as rows.

    :param upserts: whether records are the newest content of the rows that their keys name.
    """

    uses_filters = True

    def __init__(self, topic: Topic, layout: Layout, key: Format | None, value: Format, upserts: bool = False) -> None:
        self._topic, self._layout, self._key, self._value, self._upserts = topic, layout, key, value, upserts
        self.watermarks = source_watermarks(layout.table)
        self.bounded = topic.stop is not None
        whole = value.decoding(layout.value_columns(), tuple(name for _, name in layout.of_value), layout.table)
        self.kinds = UPSERT if upserts else whole.kinds

    def stream(self, columns: Sequence[int], filters: Sequence[Rex] = ()) -> Source[Rows, Any]:
        topic = self._topic
        # A record that is passed over may be an older state of a row that is wanted.
        bounds = bounds_of(filters, _own_metadata(self._layout)) if self.kinds == INSERT_ONLY else Bounds()
        return KafkaSource(
            bounds.of(topic.subscriber),
            self._decoder(columns),
            topic.properties,
            bounds.start(topic.start),
            bounds.stop(topic.stop),
            bounded=topic.stop is not None,
            parallelism=topic.parallelism,
            per_second=topic.per_second,
            dead_letters=topic.dead_letters,
        )

    def _decoder(self, columns: Sequence[int]) -> RecordDecoder[Rows]:
        """Makes rows with these columns of records; metadata columns are numbered behind the physical ones."""
        layout, table = self._layout, self._layout.table
        chosen = _Chosen.of(layout, columns, keys_first=self._upserts)
        key = None
        if chosen.key and self._key is not None:
            key_columns = dict(zip(layout.key, layout.key_columns()))
            key = self._key.decoding(tuple(key_columns[place] for place in chosen.key), (), table)
        value_columns = tuple(table.columns[place] for place in chosen.value)
        if not value_columns and not chosen.value_metadata:
            # The format says which messages are rows: it reads one column though the query wants none of the values.
            value_columns = layout.value_columns()[:1]
        value = self._value.decoding(value_columns, tuple(chosen.value_metadata.values()), table)
        decoder = RowsDecoder(key, value, tuple(map(chosen.origin, columns)))
        if not self._upserts:
            return decoder
        types = [*table.columns, *(Field(name, kind) for name, _, kind in table.metadata)]
        return UpsertDecoder(decoder, tuple(types[place] for place in columns))


@dataclass(frozen=True)
class _Chosen:
    """The columns that a query wants, by what gives them. Columns are positions in the table, metadata behind the
    physical ones.

    :ivar key: physical columns of the keys; ``value`` of the values.
    :ivar value_metadata: columns that the format of the values gives -> their names there.
    :ivar own: columns of Kafka's own metadata.
    """

    key: tuple[int, ...]
    value: tuple[int, ...]
    value_metadata: dict[int, str]
    own: Mapping[int, MetadataColumn]

    @staticmethod
    def of(layout: Layout, columns: Sequence[int], keys_first: bool) -> _Chosen:
        """:param keys_first: a column that keys and values have comes from the keys, all of which are read."""
        width = len(layout.table.columns)
        metadata = {place + width: name for place, name in layout.of_value if place + width in columns}
        value = [place for place in layout.value if place in columns]
        if keys_first:
            key, value = list(layout.key), [place for place in value if place not in layout.key]
        else:
            key = [place for place in layout.key if place in columns and place not in value]
        return _Chosen(tuple(key), tuple(value), metadata, _own_metadata(layout))

    def origin(self, column: int) -> Wanted:
        """Where a column comes from. The format of the values gives its metadata behind the physical columns."""
        if column in self.own:
            return Wanted("metadata", metadata=self.own[column])
        if column in self.value_metadata:
            return Wanted("value", len(self.value) + list(self.value_metadata).index(column))
        if column in self.value:
            return Wanted("value", self.value.index(column))
        return Wanted("key", self.key.index(column))


def _own_metadata(layout: Layout) -> dict[int, MetadataColumn]:
    """The columns of Kafka's own metadata, by position behind the physical columns."""
    width = len(layout.table.columns)
    return {place + width: column for place, column in layout.metadata}
