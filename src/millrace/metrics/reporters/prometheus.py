"""The reporter for Prometheus: the text format, and the HTTP endpoint, which all jobs of a process share that report at
the same port."""

from __future__ import annotations

import ipaddress
import logging
import math
import re
import socket
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from millrace.metrics.report import (
    PERCENTILES,
    CounterSnapshot,
    DistributionSnapshot,
    GaugeSnapshot,
    HistogramSnapshot,
    MeterSnapshot,
    MetricSnapshot,
)
from millrace.metrics.reporters.reporter import PullReporter, Read, ReportedMetric, ReporterConfig, number

# Ports


def port_range(text: str) -> list[int]:
    """The ports to try, in order.

    :raises ValueError: these are no ports.
    """
    ports = list(dict.fromkeys(_ports(text)))
    if not ports or not all(0 <= port <= 65535 for port in ports):
        raise ValueError(f"{text!r} is neither a port nor a range like 9250-9260")
    return ports


def _ports(text: str) -> Iterator[int]:
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdecimal() or (dash and not last.strip().isdecimal()):
            raise ValueError(f"{text!r} is neither a port nor a range like 9250-9260")
        end = int(last) if dash else int(first)
        yield from range(int(first), min(end, 65536) + 1)


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
