"""The reporter for OpenTelemetry: OTLP over HTTP (``pip install 'millrace-streaming[opentelemetry]'``)."""

from __future__ import annotations

import gzip
import time
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import urlsplit

from millrace.metrics.report import (
    CounterSnapshot,
    DistributionSnapshot,
    GaugeSnapshot,
    HistogramSnapshot,
    MeterSnapshot,
)
from millrace.metrics.reporters.http_target import Target
from millrace.metrics.reporters.reporter import Deltas, MetricReporter, ReportedMetric, ReporterConfig, finite

__all__ = ["OpenTelemetryReporter"]

_QUANTILES = (0.0, 0.5, 0.75, 0.95, 0.99, 1.0)


class OpenTelemetryReporter(MetricReporter):
    """Exports sums of what has been added (counters, meters), gauges and summaries.

    Options are Flink's ``exporter.endpoint``, ``exporter.timeout``, ``exporter.protocol`` (HTTP only),
    ``exporter.compression``, ``service.name`` and ``service.version``.
    """

    def open(self, config: ReporterConfig) -> None:
        try:
            from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2
            from opentelemetry.proto.common.v1 import common_pb2
            from opentelemetry.proto.metrics.v1 import metrics_pb2
        except ImportError:
            needed = "opentelemetry-proto is not installed: pip install 'millrace-streaming[opentelemetry]'"
            raise ValueError(needed) from None
        self._service: Any = metrics_service_pb2
        self._common: Any = common_pb2
        self._pb: Any = metrics_pb2
        protocol = config.get_choice("exporter.protocol", ("HTTP", "gRPC"))
        if protocol == "gRPC":
            raise ValueError(
                f"{config.key('exporter.protocol')}: gRPC is not there; collectors take HTTP, at port 4318"
            )
        endpoint = config.get_required("exporter.endpoint")
        try:
            self._target = Target.of(endpoint, config.get_seconds("exporter.timeout", 10.0))
        except ValueError as error:
            raise ValueError(f"{config.key('exporter.endpoint')}: {error}") from None
        parts = urlsplit(endpoint)
        query = f"?{parts.query}" if parts.query else ""
        self._path = query if parts.path.strip("/") else f"/v1/metrics{query}"
        self._zipped = config.get_choice("exporter.compression", ("none", "gzip")) == "gzip"
        self._headers = {"Content-Type": "application/x-protobuf"} | (
            {"Content-Encoding": "gzip"} if self._zipped else {}
        )
        named = {
            "service.name": config.get_string("service.name"),
            "service.version": config.get_string("service.version"),
        }
        self._resource = {key: value for key, value in named.items() if value}
        self._counts = Deltas()
        self._since = time.time_ns()

    def report(self, metrics: Sequence[ReportedMetric]) -> None:
        now = time.time_ns()
        scope = self._pb.ScopeMetrics(metrics=[one for metric in metrics for one in self._metrics(metric, now)])
        if not scope.metrics:
            return
        scope.scope.name = "millrace"
        resource = self._pb.ResourceMetrics(scope_metrics=[scope])
        resource.resource.attributes.extend(self._attributes(self._resource))
        body = self._service.ExportMetricsServiceRequest(resource_metrics=[resource]).SerializeToString()
        self._target.send("POST", self._path, gzip.compress(body) if self._zipped else body, self._headers)
        self._counts.taken(metrics)
        self._since = now

    def _metrics(self, metric: ReportedMetric, now: int) -> Iterator[Any]:
        name = f"flink.{metric.logical('.')}"
        value = metric.value
        if isinstance(value, CounterSnapshot):
            yield self._sum(name, metric, now)
        elif isinstance(value, MeterSnapshot):
            yield self._sum(f"{name}.count", metric, now)
            yield self._gauge(f"{name}.rate", metric, float(value.rate), now)
        elif isinstance(value, GaugeSnapshot):
            found = finite(value.value)
            if found is not None:
                yield self._gauge(name, metric, found, now)
        else:
            yield self._summary(name, metric, value, now)

    def _sum(self, name: str, metric: ReportedMetric, now: int) -> Any:
        attributes = self._attributes(metric.variables)
        point = self._pb.NumberDataPoint(
            attributes=attributes,
            start_time_unix_nano=self._since,
            time_unix_nano=now,
            as_int=self._counts.since(metric),
        )
        delta = self._pb.AGGREGATION_TEMPORALITY_DELTA
        return self._pb.Metric(name=name, sum=self._pb.Sum(data_points=[point], aggregation_temporality=delta))

    def _gauge(self, name: str, metric: ReportedMetric, value: int | float, now: int) -> Any:
        point = self._pb.NumberDataPoint(attributes=self._attributes(metric.variables), time_unix_nano=now)
        if isinstance(value, int) and -(2**63) <= value < 2**63:
            point.as_int = value
        else:
            point.as_double = float(value)
        return self._pb.Metric(name=name, gauge=self._pb.Gauge(data_points=[point]))

    def _summary(
        self, name: str, metric: ReportedMetric, value: DistributionSnapshot | HistogramSnapshot, now: int
    ) -> Any:
        point = self._pb.SummaryDataPoint(
            attributes=self._attributes(metric.variables),
            start_time_unix_nano=self._since,
            time_unix_nano=now,
            count=value.count,
            sum=float(value.sum if isinstance(value, DistributionSnapshot) else sum(value.values)),
        )
        for quantile, found in _quantiles(value).items():
            point.quantile_values.add(quantile=quantile, value=found)
        return self._pb.Metric(name=name, summary=self._pb.Summary(data_points=[point]))

    def _attributes(self, variables: dict[str, str]) -> list[Any]:
        text = self._common.AnyValue
        return [self._common.KeyValue(key=key, value=text(string_value=value)) for key, value in variables.items()]


def _quantiles(value: DistributionSnapshot | HistogramSnapshot) -> dict[float, float]:
    if isinstance(value, HistogramSnapshot):
        return {part: float(value.quantile(part)) for part in _QUANTILES} if value.values else {}
    if value.min is None or value.max is None:
        return {}
    return {0.0: float(value.min), 1.0: float(value.max)}
