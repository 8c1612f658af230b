"""The reporter for Datadog's HTTP API."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from typing import Any

from millrace.metrics.reporters.contract import MetricReporter
from millrace.metrics.reporters.deltas import Deltas
from millrace.metrics.reporters.http import Target
from millrace.metrics.reporters.reported import ReportedMetric
from millrace.metrics.reporters.reporter_config import ReporterConfig
from millrace.metrics.reporters.values import finite, statistics
from millrace.metrics.snapshot import (
    CounterSnapshot,
    DistributionSnapshot,
    GaugeSnapshot,
    HistogramSnapshot,
    MeterSnapshot,
)

__all__ = ["DatadogReporter"]

SECONDS = 10.0
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
        for key, number in parts.items():
            found = finite(number)
            if found is not None:
                yield {"metric": key, "type": "gauge", "points": [[now, found]], **about}
