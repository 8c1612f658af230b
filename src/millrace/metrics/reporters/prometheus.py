"""The reporter that Prometheus asks."""

from __future__ import annotations

import logging

from millrace.metrics.reporters import endpoint
from millrace.metrics.reporters.contract import PullReporter, Read
from millrace.metrics.reporters.ports import port_range
from millrace.metrics.reporters.reporter_config import ReporterConfig

__all__ = ["PrometheusReporter"]

logger = logging.getLogger("millrace")


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
        port = endpoint.join(self._host, self._ports, self, endpoint.Member(read, self._filter_values))
        logger.info("metrics for Prometheus are at http://%s:%d/metrics", self._host, port)

    def close(self) -> None:
        endpoint.leave(self._host, self._ports, self)
