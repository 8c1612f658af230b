"""The reporter for StatsD."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from millrace.metrics.reporters.contract import MetricReporter
from millrace.metrics.reporters.datagrams import Datagrams, packed
from millrace.metrics.reporters.reported import ReportedMetric
from millrace.metrics.reporters.reporter_config import ReporterConfig
from millrace.metrics.reporters.values import suffixed

__all__ = ["StatsDReporter"]

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
        set_to_zero = f"{key}:0|g\n" if value < 0 else ""  # a sign alone means: less by so much
        yield f"{set_to_zero}{key}:{value!r}|g".encode()
