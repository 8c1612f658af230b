"""Reporters of somebody's own, for tests."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import ClassVar

from millrace.metrics.reporters import MetricReporter, ReportedMetric, ReporterConfig


class Keeps(MetricReporter):
    """Keeps what it gets."""

    def __init__(self) -> None:
        self.reports: list[dict[str, object]] = []
        self.closed = 0

    def open(self, config: ReporterConfig) -> None:
        self.config = config

    def report(self, metrics: Sequence[ReportedMetric]) -> None:
        self.reports.append({metric.identifier(): metric.value for metric in metrics})

    def close(self) -> None:
        self.closed += 1


class Remembers(Keeps):
    """Keeps what all of its kind get."""

    all: ClassVar[dict[str, object]] = {}

    def report(self, metrics: Sequence[ReportedMetric]) -> None:
        self.all.update({metric.identifier(): metric.value for metric in metrics})


class Fails(Keeps):
    """Raises an error whose text has its password."""

    def report(self, metrics: Sequence[ReportedMetric]) -> None:
        super().report(metrics)
        raise OSError(f"no answer from http://u:{self.config.options['password']}@host")


class CannotOpen(Keeps):
    def open(self, config: ReporterConfig) -> None:
        raise OSError("port taken")


class Wrong(Keeps):
    def open(self, config: ReporterConfig) -> None:
        raise ValueError(f"the token {config.get_string('token')} is wrong")


class Hangs(Keeps):
    """Reports until it is let go."""

    let_go = threading.Event()

    def report(self, metrics: Sequence[ReportedMetric]) -> None:
        self.let_go.wait(60)


NOT_A_CLASS = 1
