"""Reporters that send HTTP requests, each with a deadline: Prometheus' push gateway, Datadog's API, and InfluxDB's line
protocol.
"""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import re
import secrets
import socket
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import SplitResult, quote, urlencode, urlsplit

from millrace.metrics.report import (
    CounterSnapshot,
    DistributionSnapshot,
    GaugeSnapshot,
    HistogramSnapshot,
    MeterSnapshot,
    MetricSnapshot,
)
from millrace.metrics.reporters.prometheus import CONTENT_TYPE, Families, only_valid
from millrace.metrics.reporters.reporter import (
    Deltas,
    MetricReporter,
    ReportedMetric,
    ReporterConfig,
    finite,
    number,
    statistics,
)

# Requests

MOST_OF_ANSWER = 500
"""largest part of an answer that is included in an error (characters)"""


class HttpError(Exception):
    """A server has refused a request, or has not answered in time."""


def basic_auth(user: str, password: str) -> dict[str, str]:
    """The Authorization header with user and password."""
    return {"Authorization": "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()}


@dataclass(frozen=True)
class Target:
    """A server, and how long a request to it may take. Redirects are not followed: headers may hold secrets.

    :param proxy: host and port of a proxy.
    """

    address: SplitResult
    seconds: float
    proxy: tuple[str, int] | None = None

    @staticmethod
    def of(url: str, seconds: float, proxy: tuple[str, int] | None = None) -> Target:
        """:raises ValueError: no URL of a server."""
        address = urlsplit(url)
        if address.scheme not in ("http", "https") or not address.hostname:
            raise ValueError("not a URL like http://host:port")
        _ = address.port  # ValueError if it is no number
        return Target(address, seconds, proxy)

    def send(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> None:
        """Send a request and wait for the answer.

        :raises HttpError: the server is not there, the answer is no success, or comes too late.
        """
        connection = self._connection()
        deadline = _Deadline(self.seconds)
        try:
            connection.connect()
            deadline.wakes(connection.sock)
            connection.request(method, self._target(path), body, dict(headers))
            answer = connection.getresponse()
            text = answer.read(MOST_OF_ANSWER).decode("utf-8", "replace")
            if deadline.over:
                raise TimeoutError
        except (OSError, http.client.HTTPException) as error:
            if deadline.over or isinstance(error, TimeoutError):
                raise HttpError(f"{self._name()} has not answered within {self.seconds:g} s") from None
            raise HttpError(f"{self._name()}: {type(error).__name__}: {error}") from None
        finally:
            deadline.end()
            connection.close()
        if not 200 <= answer.status < 300:
            raise HttpError(f"{self._name()} answers {answer.status} {answer.reason}: {text.strip()}")

    def _connection(self) -> http.client.HTTPConnection:
        secure = self.address.scheme == "https"
        kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        host, port = self.address.hostname or "", self.address.port or (443 if secure else 80)
        if self.proxy is None:
            return kind(host, port, timeout=self.seconds)
        connection = kind(*self.proxy, timeout=self.seconds)
        if secure:
            connection.set_tunnel(host, port)
        return connection

    def _target(self, path: str) -> str:
        whole = self.address.path.rstrip("/") + path
        plain_proxy = self.proxy is not None and self.address.scheme == "http"
        return f"http://{self._host()}{whole}" if plain_proxy else whole

    def _name(self) -> str:
        """The server's address without the rest of the URL, which may contain secrets."""
        return f"{self.address.scheme}://{self._host()}"

    def _host(self) -> str:
        return self.address.netloc.rpartition("@")[2]


class _Deadline:
    """Interrupts a thread that waits for a socket when the time is over: a socket's own timeout restarts with each
    byte."""

    def __init__(self, seconds: float) -> None:
        self.over = False
        self._socket: socket.socket | None = None
        self._timer = threading.Timer(seconds, self._end_it)
        self._timer.daemon = True
        self._timer.start()

    def wakes(self, sock: socket.socket) -> None:
        self._socket = sock
        if self.over:
            self._end_it()

    def end(self) -> None:
        self._timer.cancel()

    def _end_it(self) -> None:
        self.over = True
        if self._socket is not None:
            with contextlib.suppress(OSError):
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)  # of a TLS socket, too: nothing is negotiated


# Prometheus' push gateway

SECONDS = 10.0


class PushGatewayReporter(MetricReporter):
    """Pushes all metrics as one group.

    Options are Flink's ``hostUrl`` (or the older ``host`` and ``port``), ``jobName``, ``randomJobNameSuffix``,
    ``deleteOnShutdown``, ``filterLabelValueCharacters``, ``groupingKey``, ``basicAuth``, ``username``, ``password``.
    """

    def open(self, config: ReporterConfig) -> None:
        try:
            self._target = Target.of(_url(config), SECONDS)
        except ValueError as error:
            raise ValueError(f"{config.key('hostUrl')}: {error}") from None
        self._filter_values = config.get_boolean("filterLabelValueCharacters", True)
        self._delete = config.get_boolean("deleteOnShutdown", True)
        name = config.get_string("jobName")
        if config.get_boolean("randomJobNameSuffix", True):
            name += secrets.token_hex(16)
        if not name:
            raise ValueError(f"{config.key('jobName')} is not set, and {config.key('randomJobNameSuffix')} is false")
        self._path = "/metrics" + "".join(_part(*pair) for pair in [("job", name), *_grouping(config)])
        self._headers = {"Content-Type": CONTENT_TYPE}
        if config.get_boolean("basicAuth", False):
            self._headers |= basic_auth(config.get_string("username"), config.get_string("password"))

    def report(self, metrics: Sequence[ReportedMetric]) -> None:
        families = Families()
        families.add(metrics, self._filter_values)
        self._target.send("PUT", self._path, families.text().encode(), self._headers)

    def close(self) -> None:
        if self._delete:
            self._target.send("DELETE", self._path, None, self._headers)


def _url(config: ReporterConfig) -> str:
    url = config.get_string("hostUrl")
    if url:
        return url
    if config.get_integer("port", -1) > 0 and config.get_string("host"):
        return f"http://{config.get_string('host')}:{config.get_integer('port', -1)}"
    return config.get_required("hostUrl")


def _grouping(config: ReporterConfig) -> list[tuple[str, str]]:
    pairs = []
    for part in filter(None, map(str.strip, config.get_string("groupingKey").split(";"))):
        key, equals, value = part.partition("=")
        if not equals or not key.strip():
            raise ValueError(f"{config.key('groupingKey')}: {part!r} is not like key=value")
        pairs.append((key.strip(), value.strip()))
    return pairs


def _part(key: str, value: str) -> str:
    """A label as a part of the path; in base64 if it is empty or contains a slash."""
    if "/" in value or not value:
        return f"/{quote(key, '')}@base64/{base64.urlsafe_b64encode(value.encode()).decode() or '='}"
    return f"/{quote(key, '')}/{quote(value, '')}"


# Datadog

_CENTERS = {"US": "datadoghq.com", "EU": "datadoghq.eu", "US3": "us3.datadoghq.com", "US5": "us5.datadoghq.com"}
_CENTERS |= {"AP1": "ap1.datadoghq.com"}
_AGGREGATIONS = {
    "count": "count",
    "min": "min",
    "max": "max",
    "mean": "avg",
    "p50": "median",
    "p95": "95percentile",
}


class DatadogReporter(MetricReporter):
    """Posts gauges, and for counters what has been added since the last report that Datadog has taken.

    Options are Flink's ``apikey``, ``proxyHost``, ``proxyPort``, ``dataCenter``, ``maxMetricsPerRequest``,
    ``useLogicalIdentifier``, the older ``tags``, and ``url``, our addition: another address of the API.
    """

    def open(self, config: ReporterConfig) -> None:
        center = config.get_choice("dataCenter", tuple(_CENTERS))
        proxy_host, proxy_port = config.get_string("proxyHost"), config.get_integer("proxyPort", 8080)
        proxy = (proxy_host, proxy_port) if proxy_host else None
        try:
            self._target = Target.of(config.get_string("url", f"https://api.{_CENTERS[center]}"), SECONDS, proxy)
        except ValueError as error:
            raise ValueError(f"{config.key('url')}: {error}") from None
        # In a header: what is in a URL ends up in logs.
        self._headers = {"Content-Type": "application/json", "DD-API-KEY": config.get_required("apikey")}
        self._most = config.get_integer("maxMetricsPerRequest", 2000)
        if self._most < 1:
            raise ValueError(f"{config.key('maxMetricsPerRequest')} must be at least 1")
        self._logical = config.get_boolean("useLogicalIdentifier", False)
        self._tags = [tag.strip() for tag in config.get_string("tags").split(",") if tag.strip()]
        self._interval = max(1, round(config.interval))
        self._counts = Deltas()

    def report(self, metrics: Sequence[ReportedMetric]) -> None:
        now = int(time.time())
        for start in range(0, len(metrics), self._most):
            part = metrics[start : start + self._most]
            series = [one for metric in part for one in self._series(metric, now)]
            if series:
                self._target.send("POST", "/api/v1/series", json.dumps({"series": series}).encode(), self._headers)
            self._counts.taken(part)

    def _series(self, metric: ReportedMetric, now: int) -> Iterator[dict[str, Any]]:
        name = metric.logical(".") if self._logical else metric.identifier()
        about = {
            "host": metric.variables.get("host", ""),
            "tags": [*self._tags, *(f"{key}:{text}" for key, text in metric.variables.items() if key != "host")],
        }
        value = metric.value
        if isinstance(value, CounterSnapshot):
            points = [[now, self._counts.since(metric)]]
            yield {"metric": name, "type": "count", "interval": self._interval, "points": points, **about}
            return
        parts: dict[str, Any] = {}
        if isinstance(value, MeterSnapshot):
            parts[name] = value.rate
        elif isinstance(value, GaugeSnapshot):
            parts[name] = value.value
        elif isinstance(value, DistributionSnapshot | HistogramSnapshot):
            numbers = statistics(value)
            parts |= {f"{name}.{word}": numbers[key] for key, word in _AGGREGATIONS.items() if key in numbers}
        for key, measured in parts.items():
            found = finite(measured)
            if found is not None:
                yield {"metric": key, "type": "gauge", "points": [[now, found]], **about}


# InfluxDB

MOST_LINES = 5000
"""lines of a request, at most, as InfluxDB recommends"""
_FIELDS = {
    "min": "min",
    "max": "max",
    "mean": "mean",
    "stddev": "std-dev",
    "p50": "50-percentile",
    "p75": "75-percentile",
    "p95": "95-percentile",
    "p98": "98-percentile",
    "p99": "99-percentile",
    "p999": "999-percentile",
}


class InfluxdbReporter(MetricReporter):
    """Writes a point for each metric, with its variables as tags.

    Options are Flink's ``scheme``, ``host``, ``port``, ``db``, ``username``, ``password``, ``retentionPolicy``,
    ``consistency``, ``connectTimeout`` and ``writeTimeout`` (ms; the longer one is that of a request).
    """

    def open(self, config: ReporterConfig) -> None:
        scheme = config.get_choice("scheme", ("http", "https"))
        milliseconds = max(config.get_integer("connectTimeout", 10_000), config.get_integer("writeTimeout", 10_000))
        try:
            url = f"{scheme}://{config.get_required('host')}:{config.get_integer('port', 8086)}"
            self._target = Target.of(url, max(milliseconds, 1) / 1000)
        except ValueError as error:
            raise ValueError(f"{config.key('host')}: {error}") from None
        query = {"db": config.get_required("db"), "precision": "ms"}
        query["consistency"] = config.get_choice("consistency", ("ONE", "ANY", "ALL", "QUORUM")).lower()
        if config.get_string("retentionPolicy"):
            query["rp"] = config.get_string("retentionPolicy")
        self._path = f"/write?{urlencode(query)}"
        self._headers = {"Content-Type": "text/plain; charset=utf-8"}
        if config.get_string("username"):
            self._headers |= basic_auth(config.get_string("username"), config.get_string("password"))

    def report(self, metrics: Sequence[ReportedMetric]) -> None:
        now = time.time_ns() // 1_000_000
        lines = [text for metric in metrics if (text := line(metric, now)) is not None]
        for start in range(0, len(lines), MOST_LINES):
            body = "\n".join(lines[start : start + MOST_LINES]).encode()
            self._target.send("POST", self._path, body, self._headers)


def line(metric: ReportedMetric, millis: int) -> str | None:
    """A metric as a line of InfluxDB's protocol; None if it has no value."""
    fields = {key: text for key, value in _fields(metric.value).items() if (text := _field(value)) is not None}
    if not fields:
        return None
    tags = "".join(f",{_key(key)}={_key(value)}" for key, value in sorted(metric.variables.items()) if value)
    measurement = f"{'_'.join(map(only_valid, metric.scope))}_{metric.name}"
    values = ",".join(f"{_key(key)}={text}" for key, text in fields.items())
    return f"{_escaped(measurement, ', ')}{tags} {values} {millis}"


def _fields(value: MetricSnapshot) -> dict[str, Any]:
    if isinstance(value, CounterSnapshot):
        return {"count": value.count}
    if isinstance(value, MeterSnapshot):
        return {"count": value.count, "rate": float(value.rate)}
    if isinstance(value, GaugeSnapshot):
        return {"value": value.value}
    numbers = statistics(value)
    if isinstance(value, HistogramSnapshot):
        counts: dict[str, Any] = {"run-count": value.count, "count": len(value.values)}
    else:
        counts = {"count": value.count, "sum": float(numbers["sum"])}
    # Always floats: a field that has begun as a whole number takes no others.
    return counts | {name: float(numbers[key]) for key, name in _FIELDS.items() if key in numbers}


def _field(value: Any) -> str | None:
    """A value in InfluxDB's protocol, which cannot contain infinities and NaN."""
    if value is None:
        return None
    found = None if isinstance(value, bool) else number(value)
    if isinstance(found, int):
        return f"{found}i" if -(2**63) <= found < 2**63 else _field(float(found))
    if isinstance(found, float):
        return repr(found) if found - found == 0 else None
    text = ("true" if value else "false") if isinstance(value, bool) else str(value)
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


@lru_cache(4096)  # most are in every report
def _key(text: str) -> str:
    """The name of a tag or field, or the value of a tag, with escapes."""
    return _escaped(text, ",= ")


def _escaped(text: str, special: str) -> str:
    """A backslash before each special character. One that stands there already becomes a slash, since it would not be
    read as itself; a line break, which would end the point, becomes a space.
    """
    plain = re.sub(rf"\\(?=[{special}]|$)", "/", re.sub(r"[\r\n]+", " ", text))
    return re.sub(f"([{special}])", r"\\\1", plain)
