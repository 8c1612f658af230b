# Written by `make tables` from millrace.pyflink_names: edit that, not this file.
"""Metrics of users' functions (PyFlink: ``pyflink.metrics``)."""

from __future__ import annotations

from millrace.metrics.metricbase import Counter, Distribution, Gauge, Meter, Metric, MetricGroup

__all__ = [
    "MetricGroup",
    "Metric",
    "Counter",
    "Meter",
    "Distribution",
    "Gauge",
]
