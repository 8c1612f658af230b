"""The reporter for InfluxDB: its line protocol over HTTP."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from functools import lru_cache
from typing import Any
from urllib.parse import urlencode

from millrace.metrics.reporters.contract import MetricReporter
from millrace.metrics.reporters.http import Target, basic_auth
from millrace.metrics.reporters.prometheus_text import only_valid
from millrace.metrics.reporters.reported import ReportedMetric
from millrace.metrics.reporters.reporter_config import ReporterConfig
from millrace.metrics.reporters.values import number, statistics
from millrace.metrics.snapshot import (
    CounterSnapshot,
    GaugeSnapshot,
    HistogramSnapshot,
    MeterSnapshot,
    MetricSnapshot,
)

__all__ = ["InfluxdbReporter", "line"]

MOST_LINES = 5000
"""of a request, as InfluxDB advises"""
_FIELDS = {
    "min": "min",
    "max": "max",
    "mean": "mean",
    "stddev": "std-dev",
    "p50": "50-percentile",
    "p75": "75-percentile",
    "p95": "95-percentile",
    "p98": "98-percentile",
    "p99": "99-percentile",
    "p999": "999-percentile",
}


class InfluxdbReporter(MetricReporter):
    """Writes a point for each metric, with its variables as tags.

    Options are Flink's ``scheme``, ``host``, ``port``, ``db``, ``username``, ``password``, ``retentionPolicy``,
    ``consistency``, ``connectTimeout`` and ``writeTimeout`` (ms; the longer one is that of a request).
    """

    def open(self, config: ReporterConfig) -> None:
        scheme = config.get_choice("scheme", ("http", "https"))
        milliseconds = max(config.get_integer("connectTimeout", 10_000), config.get_integer("writeTimeout", 10_000))
        try:
            url = f"{scheme}://{config.get_required('host')}:{config.get_integer('port', 8086)}"
            self._target = Target.of(url, max(milliseconds, 1) / 1000)
        except ValueError as error:
            raise ValueError(f"{config.key('host')}: {error}") from None
        query = {"db": config.get_required("db"), "precision": "ms"}
        query["consistency"] = config.get_choice("consistency", ("ONE", "ANY", "ALL", "QUORUM")).lower()
        if config.get_string("retentionPolicy"):
            query["rp"] = config.get_string("retentionPolicy")
        self._path = f"/write?{urlencode(query)}"
        self._headers = {"Content-Type": "text/plain; charset=utf-8"}
        if config.get_string("username"):
            self._headers |= basic_auth(config.get_string("username"), config.get_string("password"))

    def report(self, metrics: Sequence[ReportedMetric]) -> None:
        now = time.time_ns() // 1_000_000
        lines = [text for metric in metrics if (text := line(metric, now)) is not None]
        for start in range(0, len(lines), MOST_LINES):
            body = "\n".join(lines[start : start + MOST_LINES]).encode()
            self._target.send("POST", self._path, body, self._headers)


def line(metric: ReportedMetric, millis: int) -> str | None:
    """A metric as a line of the protocol; None if it has no value."""
    fields = {key: text for key, value in _fields(metric.value).items() if (text := _field(value)) is not None}
    if not fields:
        return None
    tags = "".join(f",{_key(key)}={_key(value)}" for key, value in sorted(metric.variables.items()) if value)
    measurement = f"{'_'.join(map(only_valid, metric.scope))}_{metric.name}"
    values = ",".join(f"{_key(key)}={text}" for key, text in fields.items())
    return f"{_escaped(measurement, ', ')}{tags} {values} {millis}"


def _fields(value: MetricSnapshot) -> dict[str, Any]:
    if isinstance(value, CounterSnapshot):
        return {"count": value.count}
    if isinstance(value, MeterSnapshot):
        return {"count": value.count, "rate": float(value.rate)}
    if isinstance(value, GaugeSnapshot):
        return {"value": value.value}
    numbers = statistics(value)
    if isinstance(value, HistogramSnapshot):
        counts: dict[str, Any] = {"run-count": value.count, "count": len(value.values)}
    else:
        counts = {"count": value.count, "sum": float(numbers["sum"])}
    # Always floats: a field that has begun as a whole number takes no others.
    return counts | {name: float(numbers[key]) for key, name in _FIELDS.items() if key in numbers}


def _field(value: Any) -> str | None:
    """A value as the protocol writes it; numbers that are infinite or none can't be written."""
    if value is None:
        return None
    found = None if isinstance(value, bool) else number(value)
    if isinstance(found, int):
        return f"{found}i" if -(2**63) <= found < 2**63 else _field(float(found))
    if isinstance(found, float):
        return repr(found) if found - found == 0 else None
    text = ("true" if value else "false") if isinstance(value, bool) else str(value)
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


@lru_cache(4096)  # most are in every report
def _key(text: str) -> str:
    """The name of a tag or field, or the value of a tag."""
    return _escaped(text, ",= ")


def _escaped(text: str, special: str) -> str:
    """A backslash before each special character. One that stands there already becomes a slash, since it would not be
    read as itself; a line break, which would end the point, becomes a space.
    """
    plain = re.sub(rf"\\(?=[{special}]|$)", "/", re.sub(r"[\r\n]+", " ", text))
    return re.sub(f"([{special}])", r"\\\1", plain)
