"""The reporter for Ganglia: what ``gmetric`` of version 3.1 and later sends."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator, Sequence

from millrace.metrics.reporters.contract import MetricReporter
from millrace.metrics.reporters.datagrams import Datagrams
from millrace.metrics.reporters.graphite import with_dropwizards_names
from millrace.metrics.reporters.reported import ReportedMetric
from millrace.metrics.reporters.reporter_config import ReporterConfig

__all__ = ["GangliaReporter"]

_METADATA, _TEXT = 128, 133
"""kinds of messages: what a metric is, and its value as text"""
_BOTH = 3
"""the slope of what goes up and down"""


class GangliaReporter(MetricReporter):
    """Tells gmond of each number. Options are those of Flink up to 1.8: ``host``, ``port`` (8649), ``dmax``, ``tmax``,
    ``ttl``, ``addressingMode``.
    """

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
            about = _text(self._hostname) + _text(name) + _number(0)
            kind = _text("double") + _text(name) + _text("")
            yield _number(_METADATA) + about + kind + struct.pack(">IIII", _BOTH, self._tmax, self._dmax, 0)
            yield _number(_TEXT) + about + _text("%s") + _text(repr(value))


def _number(value: int) -> bytes:
    return struct.pack(">I", value)


def _text(value: str) -> bytes:
    """As XDR has it: its length, itself, and zeros up to a multiple of four."""
    data = value.encode()
    return _number(len(data)) + data + bytes(-len(data) % 4)
