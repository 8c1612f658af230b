"""Reporters that use HTTP. Prometheus reads metrics as text from an endpoint, which all jobs of a process share that
report at the same port. The others send requests, each with a deadline: Prometheus' push gateway, Datadog's API, and
InfluxDB's line protocol.
"""

from __future__ import annotations

import base64
import ipaddress
import json
import logging
import math
import re
import secrets
import socket
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import quote, urlencode

from millrace.metrics.report import (
    PERCENTILES,
    CounterSnapshot,
    DistributionSnapshot,
    GaugeSnapshot,
    HistogramSnapshot,
    MeterSnapshot,
    MetricSnapshot,
)
from millrace.metrics.reporters.http_target import Target
from millrace.metrics.reporters.reporter import (
    Deltas,
    MetricReporter,
    PullReporter,
    Read,
    ReportedMetric,
    ReporterConfig,
    finite,
    number,
    statistics,
)
from millrace.util.ports import port_range

# The text format

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
PREFIX = "flink_"
"""Flink's prefix, so that dashboards and alerts keep working"""
_INVALID = re.compile(r"[^a-zA-Z0-9:_]")
_ESCAPES = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})

Labels = dict[str, str]


@lru_cache(4096)  # most are in every report
def only_valid(text: str) -> str:
    """A text in which ``_`` replaces all characters that metric names may not contain."""
    return _INVALID.sub("_", text)


@dataclass
class _Family:
    """All metrics of one name."""

    type: str
    help: str
    lines: dict[tuple[str, tuple[tuple[str, str], ...]], str] = field(default_factory=dict)
    """suffix and labels -> line; the first of two lines with the same labels is used"""


class Families:
    """The metrics of one or several jobs, by name.

    Skipped are gauges that are not numbers, metrics whose name is used with another type, and metrics two of whose
    variables become the same label.
    """

    def __init__(self) -> None:
        self._families: dict[str, _Family] = {}

    def add(self, metrics: Iterable[ReportedMetric], filter_values: bool = True) -> None:
        """Add metrics.

        :param filter_values: whether the values of labels, too, are restricted to letters, digits, ``:`` and ``_``.
        """
        for metric in metrics:
            labels = _labels(metric, filter_values)
            if labels is not None:
                self._add(metric, labels)

    def _add(self, metric: ReportedMetric, labels: Labels) -> None:
        name = PREFIX + metric.logical("_", only_valid)
        type = "summary" if metric.type == "histogram" else "gauge"
        scope = "_".join(map(only_valid, metric.scope))
        family = self._families.setdefault(name, _Family(type, f"{metric.name} (scope: {scope})"))
        if family.type != type:
            return
        for suffix, more, value in _samples(metric.value):
            key = (suffix, tuple(sorted((labels | more).items())))
            family.lines.setdefault(key, f"{name}{suffix}{_written(labels | more)} {_text(value)}")

    def text(self) -> str:
        """All families in Prometheus' text format."""
        return "".join(_lines(name, family) for name, family in self._families.items() if family.lines)


def _lines(name: str, family: _Family) -> str:
    help = family.help.replace("\\", r"\\").replace("\n", r"\n")
    return "\n".join((f"# HELP {name} {help}", f"# TYPE {name} {family.type}", *family.lines.values(), ""))


def _labels(metric: ReportedMetric, filter_values: bool) -> Labels | None:
    labels: Labels = {}
    for key, value in metric.variables.items():
        label = re.sub(r"^(?=\d)", "_", only_valid(key).replace(":", "_")) or "_"
        if label in labels:
            return None
        labels[label] = only_valid(value) if filter_values else value
    return labels


def _samples(value: MetricSnapshot) -> Iterator[tuple[str, Labels, int | float]]:
    if isinstance(value, CounterSnapshot):
        yield "", {}, value.count
    elif isinstance(value, MeterSnapshot):
        yield "", {}, value.rate
    elif isinstance(value, GaugeSnapshot):
        found = number(value.value)
        if found is not None:
            yield "", {}, found
    elif isinstance(value, HistogramSnapshot):
        for part in PERCENTILES:
            yield "", {"quantile": str(part)}, value.quantile(part)
        yield "_count", {}, value.count
    else:
        yield from _of_distribution(value)


def _of_distribution(value: DistributionSnapshot) -> Iterator[tuple[str, Labels, int | float]]:
    """A summary: the smallest and the largest value are its quantiles 0 and 1."""
    if value.min is not None and value.max is not None:
        yield "", {"quantile": "0.0"}, value.min
        yield "", {"quantile": "1.0"}, value.max
    yield "_sum", {}, value.sum
    yield "_count", {}, value.count


def _written(labels: Labels) -> str:
    inner = ",".join(f'{key}="{value.translate(_ESCAPES)}"' for key, value in labels.items())
    return f"{{{inner}}}" if inner else ""


def _text(value: int | float) -> str:
    found = number(value)
    if found is None or math.isnan(found):
        return "NaN"
    if math.isinf(found):
        return "+Inf" if found > 0 else "-Inf"
    return repr(found)


# The endpoint

logger = logging.getLogger("millrace")

SECONDS = 10.0
"""time limit for a client's request (s)"""


@dataclass(frozen=True)
class Member:
    """A job that reports at an endpoint: its metrics, and whether values of labels are filtered."""

    read: Read
    filter_values: bool


class _Endpoint:
    """The HTTP endpoint at one port, for all of its members."""

    def __init__(self, host: str, ports: list[int]) -> None:
        """:raises OSError: none of the ports is free."""
        self.members: dict[object, Member] = {}
        self._server = _bind(host, ports, self)
        self.port = int(self._server.server_address[1])
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.1,), name=f"metrics on port {self.port}", daemon=True
        )
        self._thread.start()

    def text(self) -> str:
        families = Families()
        for member in list(self.members.values()):
            families.add(member.read(), member.filter_values)
        return families.text()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


_lock = threading.Lock()
_endpoints: dict[tuple[str, tuple[int, ...]], _Endpoint] = {}


def join(host: str, ports: list[int], key: object, member: Member) -> int:
    """Add a member to the endpoint of an address, which is opened if need be; returns its port.

    :raises OSError: there is none yet, and no port for it is free.
    """
    with _lock:
        endpoint = _endpoints.get((host, tuple(ports)))
        if endpoint is None:
            endpoint = _endpoints[host, tuple(ports)] = _Endpoint(host, ports)
        endpoint.members[key] = member
        return endpoint.port


def leave(host: str, ports: list[int], key: object) -> None:
    """Remove a member from its endpoint, which closes after the last one."""
    with _lock:
        endpoint = _endpoints.get((host, tuple(ports)))
        if endpoint is None or endpoint.members.pop(key, None) is None or endpoint.members:
            return
        del _endpoints[host, tuple(ports)]
    endpoint.close()


def _bind(host: str, ports: list[int], endpoint: _Endpoint) -> ThreadingHTTPServer:
    class Server(ThreadingHTTPServer):
        daemon_threads = True
        block_on_close = False
        address_family = socket.AF_INET6 if ":" in host else socket.AF_INET

        def handle_error(self, request: object, client_address: object) -> None:
            """Ignore the error: a client that disconnects does not concern the job."""

    class Handler(_Handler):
        answers_for = endpoint
        any_name = not _is_loopback(host)

    problem: OSError | None = None
    for port in ports:
        try:
            return Server((host, port), Handler)
        except OSError as error:
            problem = error
    span = str(ports[0]) if len(ports) == 1 else f"{ports[0]} to {ports[-1]}"
    raise OSError(f"cannot listen at {host}, port {span}: {problem}") from problem


class _Handler(BaseHTTPRequestHandler):
    answers_for: _Endpoint
    any_name: bool
    """whether any host name is accepted; else only this machine's own names, so that no page in a browser reads metrics
    through a name of its own for 127.0.0.1 (DNS rebinding)"""
    timeout = SECONDS

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def _answer(self, with_body: bool) -> None:
        if not self.any_name and not _is_loopback(_bare(self.headers.get("Host", "localhost"))):
            self._send(403, "text/plain", b"this server is for its own machine\n", with_body)
        elif self.path.partition("?")[0] not in ("/", "/metrics"):
            self._send(404, "text/plain", b"metrics are at /metrics\n", with_body)
        else:
            try:
                text = self.answers_for.text()
            except Exception as error:
                logger.debug("no metrics for Prometheus: %s", type(error).__name__)
                self._send(500, "text/plain", b"the metrics can't be read\n", with_body)
            else:
                self._send(200, CONTENT_TYPE, text.encode(), with_body)

    def _send(self, status: int, kind: str, body: bytes, with_body: bool) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if with_body:
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: each scrape would be a line."""


def _bare(host: str) -> str:
    """A host without its port."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


def _is_loopback(host: str) -> bool:
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


# The reporter


class PrometheusReporter(PullReporter):
    """Answers ``GET /metrics``.

    Options are Flink's ``port`` (9249; a range for the first free one) and ``filterLabelValueCharacters``, and
    ``host``, our addition: the address to listen at, loopback by default.
    """

    def open(self, config: ReporterConfig) -> None:
        try:
            self._ports = port_range(config.get_string("port", "9249"))
        except ValueError as error:
            raise ValueError(f"{config.key('port')}: {error}") from None
        self._host = config.get_string("host", "127.0.0.1")
        self._filter_values = config.get_boolean("filterLabelValueCharacters", True)

    def serve(self, read: Read) -> None:
        port = join(self._host, self._ports, self, Member(read, self._filter_values))
        logger.info("metrics for Prometheus are at http://%s:%d/metrics", self._host, port)

    def close(self) -> None:
        leave(self._host, self._ports, self)


def basic_auth(user: str, password: str) -> dict[str, str]:
    """The Authorization header with user and password."""
    return {"Authorization": "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()}


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
