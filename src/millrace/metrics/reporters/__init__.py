"""Metric reporters: they bring the metrics of a running job to other systems (Flink: ``metrics.reporters``)."""

from __future__ import annotations

from millrace.metrics.reporters.contract import MetricReporter, PullReporter
from millrace.metrics.reporters.reported import ReportedMetric
from millrace.metrics.reporters.reporter_config import ReporterConfig

__all__ = ["MetricReporter", "PullReporter", "ReportedMetric", "ReporterConfig"]
