"""``InfluxDBSink`` of DataStreams, in the words of Bahir's: points as elements, in the line protocol
(``measurement,tag=value field=1i,other="x" 1700000000000000``), to servers of version 1 or 2. Times are in
microseconds.
"""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from millrace.common.sink import Sink, SinkWriter, WriterInitContext
from millrace.connectors.dbapi import Change
from millrace.connectors.stores import BufferedSink, Buffering, ConnectionFailed, Reachable, trusted
from millrace.util.secrets import HIDDEN, mask_text


class Refused(Exception):
    """What InfluxDB answers. :ivar passing: whether that may be over a moment later."""

    def __init__(self, said: str, passing: bool) -> None:
        super().__init__(said)
        self.passing = passing


@dataclass(frozen=True)
class InfluxTarget(Reachable):
    """A database of version 1, or a bucket of version 2."""

    url: str
    database: str = ""
    """the database (version 1)"""
    retention_policy: str = ""
    user: str = ""
    password: str = field(default="", repr=False)
    organization: str = ""
    """the organization (version 2)"""
    bucket: str = ""
    token: str = field(default="", repr=False)
    timeout: float = 60.0
    """seconds for each answer"""

    def __call__(self) -> Connected:
        return Connected(self)

    @property
    def place(self) -> str:
        """For messages: no secret is in it."""
        where = f"bucket {self.bucket}" if self.bucket else f"database {self.database}"
        return f"InfluxDB at {mask_text(self.url)}, {where}"

    def is_passing(self, error: BaseException) -> bool:
        import httpx

        return isinstance(error, httpx.TransportError)

    def failed(self, error: BaseException) -> Exception:
        """The error for the user, without secrets: ``ConnectionFailed`` if a retry may help."""
        said = str(error).strip() or type(error).__name__
        for secret in filter(None, (self.password, self.token)):
            said = said.replace(secret, HIDDEN)
        passing = bool(getattr(error, "passing", False)) or self.is_passing(error)
        text = f"{self.place}: {mask_text(said)}"
        return ConnectionFailed(text, True) if passing else RuntimeError(text)


class Connected:
    """A client of HTTP."""

    def __init__(self, target: InfluxTarget) -> None:
        try:
            import httpx
        except ImportError:
            raise ImportError("InfluxDB needs httpx: pip install 'millrace-streaming[influxdb]'") from None
        self._target = target
        self._errors: Any = httpx.HTTPError
        if target.bucket:
            self._path = "/api/v2/write"
            self._query = {"org": target.organization, "bucket": target.bucket, "precision": "us"}
        else:
            self._path = "/write"
            self._query = {"db": target.database, "precision": "u"}
            if target.retention_policy:
                self._query["rp"] = target.retention_policy
        self._client = httpx.Client(
            base_url=target.url,
            headers={"Authorization": f"Token {target.token}"} if target.token else {},
            auth=(target.user, target.password) if target.user and not target.bucket else None,
            timeout=target.timeout,
            trust_env=False,
            verify=trusted(target.url),
        )

    def write(self, lines: bytes) -> None:
        """Write points.

        :raises Exception: the server refuses some of them, or is not there; with its place.
        """
        try:
            answer = self._client.post(self._path, params=self._query, content=lines)
            if answer.status_code not in (200, 204):
                raise Refused(_error_text(answer.text, answer.status_code), answer.status_code in (429, 502, 503, 504))
        except (self._errors, Refused) as error:
            raise self._target.failed(error) from None

    def close(self) -> None:
        self._client.close()


def _error_text(body: str, status: int) -> str:
    try:
        found = json.loads(body)
        text = str(found.get("error") or found.get("message") or body)
    except (ValueError, AttributeError):
        text = body
    return f"{text.strip()[:1_000] or 'it refuses'} (status {status})"


_KEY = str.maketrans({",": "\\,", "=": "\\=", " ": "\\ "})
_NAME = str.maketrans({",": "\\,", " ": "\\ "})
_TEXT = str.maketrans({"\\": "\\\\", '"': '\\"'})
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)
_MICROSECOND = dt.timedelta(microseconds=1)


def line(measurement: str, tags: Mapping[str, str | None], fields: Mapping[str, Any], time: dt.datetime) -> str:
    """A point. Tags and fields that are None are left out.

    :raises ValueError: it has no field, or a value that InfluxDB does not have.
    """
    named = "".join(
        f",{_key(name)}={_key(_plain(value, name))}" for name, value in sorted(tags.items()) if value not in (None, "")
    )
    values = ",".join(f"{_key(name)}={_value(value, name)}" for name, value in fields.items() if value is not None)
    if not values:
        raise ValueError(f"a point of '{measurement}' at {time} has no field: all its values are NULL")
    return f"{_plain(measurement, 'measurement').translate(_NAME)}{named} {values} {microseconds(time)}"


def microseconds(time: dt.datetime) -> int:
    """Since 1970; a time without a zone is taken for UTC."""
    return ((time if time.tzinfo else time.replace(tzinfo=dt.timezone.utc)) - _EPOCH) // _MICROSECOND


def _key(text: str) -> str:
    return text.translate(_KEY)


def _plain(text: str | None, name: str) -> str:
    found = str(text)
    if "\n" in found or found.endswith("\\"):
        raise ValueError(
            f"'{name}': names and tags of InfluxDB have no line breaks and no backslash at the end: {found!r}"
        )
    return found


def _value(value: Any, name: str) -> str:
    convert = _VALUES.get(type(value))
    if convert is None:
        raise ValueError(f"field '{name}': InfluxDB has no values like {value!r}")
    try:
        return convert(value)
    except ValueError as error:
        raise ValueError(f"field '{name}': {error}") from None


def _float(value: float) -> str:
    if not math.isfinite(value):
        raise ValueError(f"InfluxDB has no {value}")
    return repr(value)


def _whole(value: int) -> str:
    if not -(1 << 63) <= value < 1 << 63:
        raise ValueError(f"InfluxDB has no whole number as large as {value}")
    return f"{value}i"


_VALUES: Mapping[type, Callable[[Any], str]] = {
    bool: lambda value: "true" if value else "false",
    int: _whole,
    float: _float,
    str: lambda value: f'"{value.translate(_TEXT)}"',
}


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
