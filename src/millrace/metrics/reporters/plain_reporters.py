"""Reporters that expect no answer: the log, Graphite (carbon's plain text protocol), StatsD, and Ganglia.

Ganglia gets what ``gmetric`` of version 3.1 and later sends. Datagrams may get lost.
"""

from __future__ import annotations

import logging
import re
import socket
import struct
import time
from collections.abc import Iterable, Iterator, Sequence

from millrace.metrics.report import CounterSnapshot, GaugeSnapshot, MeterSnapshot, MetricSnapshot
from millrace.metrics.reporters.reporter import MetricReporter, ReportedMetric, ReporterConfig, statistics, suffixed

# The log

logger = logging.getLogger("millrace.metrics")

_TITLES = {"counter": "Counters", "gauge": "Gauges", "meter": "Meters", "histogram": "Histograms"}


class LogReporter(MetricReporter):
    """Writes each report as one log entry of level INFO to the logger ``millrace.metrics``.

    If logging is not configured, the logger gets that level and writes to stderr.
    """

    def open(self, config: ReporterConfig) -> None:
        if logger.level == logging.NOTSET and not logger.isEnabledFor(logging.INFO):
            logger.setLevel(logging.INFO)
        if not logger.hasHandlers():
            logger.addHandler(logging.StreamHandler())

    def report(self, metrics: Sequence[ReportedMetric]) -> None:
        parts = ["metrics"]
        for type, title in _TITLES.items():
            lines = [
                f"{_one_line(metric.identifier())}: {_value_text(metric.value)}"
                for metric in metrics
                if metric.type == type
            ]
            if lines:
                parts += [f"-- {title} ".ljust(79, "-"), *lines]
        logger.info("%s", "\n".join(parts))


def _value_text(value: MetricSnapshot) -> str:
    if isinstance(value, CounterSnapshot):
        return str(value.count)
    if isinstance(value, MeterSnapshot):
        return f"{value.rate:g}/s, {value.count} in all"
    if isinstance(value, GaugeSnapshot):
        return _one_line(str(value.value))
    return ", ".join(f"{name}={part:g}" for name, part in statistics(value).items())


def _one_line(text: str) -> str:
    return text.replace("\r", "\\r").replace("\n", "\\n")


# UDP

MOST_BYTES = 1432
"""largest payload of a datagram that passes Ethernet unfragmented (bytes)"""


def packed(lines: Iterable[bytes], separator: bytes = b"") -> Iterator[bytes]:
    """Pack lines into as few datagrams as possible; no line is split."""
    parts: list[bytes] = []
    size = 0
    for line in lines:
        if parts and size + len(separator) + len(line) > MOST_BYTES:
            yield separator.join(parts)
            parts, size = [], 0
        size += len(line) + (len(separator) if parts else 0)
        parts.append(line)
    if parts:
        yield separator.join(parts)


class Datagrams:
    """Sends datagrams to one address, whose name is resolved at each send."""

    def __init__(self, host: str, port: int, hops: int | None = None) -> None:
        """:param hops: how many networks a multicast may cross."""
        self._address = (host, port)
        self._hops = hops
        self._socket: socket.socket | None = None

    def send(self, datagrams: Iterable[bytes]) -> None:
        """:raises OSError: the address is unknown, or a datagram too long."""
        family, *_, address = socket.getaddrinfo(*self._address, type=socket.SOCK_DGRAM)[0]
        if self._socket is None or self._socket.family != family:
            self.close()
            self._socket = socket.socket(family, socket.SOCK_DGRAM)
            if self._hops is not None and family == socket.AF_INET:
                self._socket.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, self._hops)
        for datagram in datagrams:
            self._socket.sendto(datagram, address)

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None


# Graphite

SECONDS = 10.0
_REMOVED = re.compile(r'[<>"]')
_DASHES = re.compile(r"[,=;:?'*]")
_SPACES = re.compile(r"\s")
_RATES = ("m1_rate", "m5_rate", "m15_rate", "mean_rate")
"""names under which Flink reports a meter's rates; a meter here has one rate, which is sent under each"""


def only_plain(text: str) -> str:
    """A part of a name as Flink's reporters by Dropwizard write it."""
    return _SPACES.sub("_", _DASHES.sub("-", _REMOVED.sub("", text)))


def with_dropwizards_names(metric: ReportedMetric) -> Iterator[tuple[str, int | float]]:
    """Names and numbers of a metric as Flink's reporters by Dropwizard write them."""
    name = metric.identifier(only_plain)
    for suffix, value in suffixed(metric.value).items():
        if isinstance(metric.value, CounterSnapshot):
            yield f"{name}.count", value
        elif isinstance(metric.value, MeterSnapshot) and suffix == "rate":
            yield from ((f"{name}.{rate}", value) for rate in _RATES)
        else:
            yield f"{name}.{suffix}" if suffix else name, value


class GraphiteReporter(MetricReporter):
    """Sends ``name value seconds``, a line for each number. Options are Flink's ``host``, ``port``, ``protocol``."""

    def open(self, config: ReporterConfig) -> None:
        self._host = config.get_required("host")
        self._port = config.get_integer("port", 0) or int(config.get_required("port"))
        self._udp = config.get_choice("protocol", ("TCP", "UDP")) == "UDP"
        self._datagrams = Datagrams(self._host, self._port)

    def report(self, metrics: Sequence[ReportedMetric]) -> None:
        now = int(time.time())
        lines = [
            f"{name} {value!r} {now}\n".encode() for metric in metrics for name, value in with_dropwizards_names(metric)
        ]
        if self._udp:
            self._datagrams.send(packed(lines))
        elif lines:
            with socket.create_connection((self._host, self._port), timeout=SECONDS) as connection:
                connection.sendall(b"".join(lines))

    def close(self) -> None:
        self._datagrams.close()


# StatsD

_MEANS_SOMETHING = re.compile(r"[:|\r\n]")


class StatsDReporter(MetricReporter):
    """Sends ``name:value|g`` for each number, as many as fit into a datagram.

    Options are Flink's ``host`` and ``port``.
    """

    def open(self, config: ReporterConfig) -> None:
        port = config.get_integer("port", 0) or int(config.get_required("port"))
        self._datagrams = Datagrams(config.get_required("host"), port)

    def report(self, metrics: Sequence[ReportedMetric]) -> None:
        self._datagrams.send(packed((line for metric in metrics for line in _lines(metric)), b"\n"))

    def close(self) -> None:
        self._datagrams.close()


def _lines(metric: ReportedMetric) -> Iterator[bytes]:
    name = metric.identifier(lambda part: _MEANS_SOMETHING.sub("-", part))
    for suffix, value in suffixed(metric.value).items():
        key = f"{name}.{suffix}" if suffix else name
        set_to_zero = f"{key}:0|g\n" if value < 0 else ""  # a value with a sign is taken for a difference
        yield f"{set_to_zero}{key}:{value!r}|g".encode()


# Ganglia

_METADATA, _TEXT = 128, 133
"""kinds of messages: a metric's description, and its value as text"""
_BOTH = 3
"""the slope "both": a value that may rise and fall"""


class GangliaReporter(MetricReporter):
    """Sends each number to gmond. Options are those of Flink up to 1.8: ``host``, ``port`` (8649), ``dmax``, ``tmax``,
    ``ttl``, ``addressingMode``."""

    def open(self, config: ReporterConfig) -> None:
        self._tmax, self._dmax = config.get_integer("tmax", 60), config.get_integer("dmax", 0)
        config.get_choice("addressingMode", ("MULTICAST", "UNICAST"))  # the address says which it is
        self._datagrams = Datagrams(
            config.get_required("host"), config.get_integer("port", 8649), config.get_integer("ttl", 1)
        )
        self._hostname = socket.gethostname()

    def report(self, metrics: Sequence[ReportedMetric]) -> None:
        self._datagrams.send(datagram for metric in metrics for datagram in self._messages(metric))

    def close(self) -> None:
        self._datagrams.close()

    def _messages(self, metric: ReportedMetric) -> Iterator[bytes]:
        for name, value in with_dropwizards_names(metric):
            about = _xdr_text(self._hostname) + _xdr_text(name) + _xdr_number(0)
            kind = _xdr_text("double") + _xdr_text(name) + _xdr_text("")
            yield _xdr_number(_METADATA) + about + kind + struct.pack(">IIII", _BOTH, self._tmax, self._dmax, 0)
            yield _xdr_number(_TEXT) + about + _xdr_text("%s") + _xdr_text(repr(value))


def _xdr_number(value: int) -> bytes:
    return struct.pack(">I", value)


def _xdr_text(value: str) -> bytes:
    """A text in XDR: its length, its bytes, and zeros up to a multiple of four."""
    data = value.encode()
    return _xdr_number(len(data)) + data + bytes(-len(data) % 4)
