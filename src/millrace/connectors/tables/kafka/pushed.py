"""Conditions on metadata (topic, partition, offset, timestamp), as far as they leave out what need not be fetched."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from millrace.connectors.kafka.offsets import KafkaOffsetsInitializer, KafkaTopicPartition, Offsets
from millrace.connectors.kafka.subscriber import Subscriber
from millrace.connectors.tables.metadata import MetadataColumn
from millrace.relational import types as t
from millrace.relational.rex import Call, Literal, Ref, Rex

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
    """Those partitions of another subscriber that can have wanted records."""

    given: Subscriber
    bounds: Bounds

    def partitions(self, topics: Mapping[str, int]) -> list[KafkaTopicPartition]:
        topic, partition = self.bounds.topic, self.bounds.partition
        return [
            each
            for each in self.given.partitions(topics)
            if topic in (None, each.topic) and partition in (None, each.partition)
        ]
