"""The reporter for Graphite, in carbon's plain text protocol."""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Iterator, Sequence

from millrace.metrics.reporters.contract import MetricReporter
from millrace.metrics.reporters.datagrams import Datagrams, packed
from millrace.metrics.reporters.reported import ReportedMetric
from millrace.metrics.reporters.reporter_config import ReporterConfig
from millrace.metrics.reporters.values import suffixed
from millrace.metrics.snapshot import CounterSnapshot, MeterSnapshot

__all__ = ["GraphiteReporter", "only_plain", "with_dropwizards_names"]

SECONDS = 10.0
_REMOVED = re.compile(r'[<>"]')
_DASHES = re.compile(r"[,=;:?'*]")
_SPACES = re.compile(r"\s")
_RATES = ("m1_rate", "m5_rate", "m15_rate", "mean_rate")
"""a meter has one rate; Flink writes it under each of these names"""


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
