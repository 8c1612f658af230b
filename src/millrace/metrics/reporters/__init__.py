"""Metric reporters: send the metrics of a running job to other systems (Flink: ``metrics.reporters``)."""

from __future__ import annotations

from millrace.metrics.reporters.reporter import MetricReporter, PullReporter, ReportedMetric, ReporterConfig

__all__ = ["MetricReporter", "PullReporter", "ReportedMetric", "ReporterConfig"]
