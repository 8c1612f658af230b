"""``InfluxDBSink`` of DataStreams, in the words of Bahir's: points as elements."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from millrace.common.sink import Sink, SinkWriter, WriterInitContext
from millrace.connectors.dbapi.changes import Change
from millrace.connectors.influxdb.connection import Connected, InfluxTarget
from millrace.connectors.influxdb.points import line
from millrace.connectors.stores.buffered import BufferedSink, Buffering

BATCH = 2_000
FLUSH_SECONDS = 0.1


@dataclass(frozen=True)
class InfluxDBPoint:
    """A point. :ivar timestamp: ms since 1970, or a ``datetime``.

        >>> point = InfluxDBPoint("temperature", 1_772_706_600_000, {"room": "a"}, {"value": 21.5})
        >>> point.fields
        {'value': 21.5}
    """

    measurement: str
    timestamp: int | dt.datetime
    tags: Mapping[str, str] = field(default_factory=dict)
    fields: Mapping[str, Any] = field(default_factory=dict)

    @property
    def time(self) -> dt.datetime:
        """The time of the point, with its zone."""
        if isinstance(self.timestamp, dt.datetime):
            return self.timestamp
        return dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc) + dt.timedelta(milliseconds=self.timestamp)


@dataclass(frozen=True)
class InfluxDBConfig:
    """Where points go, and when.

        >>> builder = InfluxDBConfig.builder("http://localhost:8086", "admin", "secret", "plant")
        >>> config = builder.batch_actions(500).build()
    """

    target: InfluxTarget
    buffering: Buffering = field(default_factory=lambda: Buffering(max_rows=BATCH, interval=FLUSH_SECONDS))

    @staticmethod
    def builder(url: str, username: str, password: str, database: str) -> InfluxDBConfigBuilder:
        """For version 1; ``bucket`` of the builder is for version 2."""
        return InfluxDBConfigBuilder(InfluxDBConfig(InfluxTarget(url, database, user=username, password=password)))


class InfluxDBConfigBuilder:
    """Puts a configuration together.

        >>> builder = InfluxDBConfig.builder("http://localhost:8086", "admin", "secret", "plant")
        >>> sink = InfluxDBSink(builder.max_retries(5).build())
    """

    def __init__(self, config: InfluxDBConfig) -> None:
        self._config = config

    def batch_actions(self, batch_actions: int) -> InfluxDBConfigBuilder:
        """How many points a request has at most."""
        return self._buffer(max_rows=batch_actions)

    def flush_duration(self, milliseconds: int) -> InfluxDBConfigBuilder:
        """How long points wait for others, in ms."""
        return self._buffer(interval=milliseconds / 1000)

    def max_retries(self, max_retries: int) -> InfluxDBConfigBuilder:
        """How often a failed request is sent again."""
        return self._buffer(retries=max_retries)

    def retention_policy(self, name: str) -> InfluxDBConfigBuilder:
        """The retention policy of version 1."""
        self._config = replace(self._config, target=replace(self._config.target, retention_policy=name))
        return self

    def bucket(self, organization: str, bucket: str, token: str) -> InfluxDBConfigBuilder:
        """Version 2: in place of database, user and password.

            >>> builder = InfluxDBConfig.builder("http://localhost:8086", "admin", "secret", "plant")
            >>> config = builder.bucket("plant", "me", "token").build()
        """
        target = InfluxTarget(self._config.target.url, organization=organization, bucket=bucket, token=token)
        self._config = replace(self._config, target=target)
        return self

    def _buffer(self, **what: Any) -> InfluxDBConfigBuilder:
        self._config = replace(self._config, buffering=replace(self._config.buffering, **what))
        return self

    def build(self) -> InfluxDBConfig:
        """The configuration."""
        return self._config


@dataclass(frozen=True)
class InfluxPoints(Change[InfluxDBPoint]):
    """Points as they are."""

    def apply(self, connection: Connected, elements: Sequence[InfluxDBPoint]) -> None:
        made = [line(each.measurement, each.tags, each.fields, each.time) for each in elements]
        connection.write("\n".join(made).encode())


class InfluxDBSink(Sink[InfluxDBPoint]):
    """Writes points, **at least once**; repeating a point changes nothing.

        >>> config = InfluxDBConfig.builder("http://localhost:8086", "admin", "secret", "plant").build()
        >>> point = InfluxDBPoint("temperature", 1_772_706_600_000, fields={"value": 21.5})
        >>> sink = env.from_collection([point]).add_sink(InfluxDBSink(config))
    """

    def __init__(self, config: InfluxDBConfig) -> None:
        self._below = BufferedSink(config.target, InfluxPoints(), config.buffering, _one)

    def create_writer(self, context: WriterInitContext) -> SinkWriter[InfluxDBPoint]:
        return self._below.create_writer(context)


def _one(point: InfluxDBPoint) -> int:
    return 1
