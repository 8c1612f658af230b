"""Starts the reporters of a configuration, and reports the metrics of a running job, each on a thread of its own.

Reporters are configured by ``metrics.reporters`` and ``metrics.reporter.<name>.*``, by Flink's class names or as
``module:Class``; ``filter.includes`` and ``filter.excludes`` select the metrics of each.
"""

from __future__ import annotations

import importlib
import logging
import re
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotInTime
from dataclasses import dataclass, replace
from typing import Any

from millrace.common.configuration import split_list, to_map
from millrace.metrics.report import MetricEntry, ScopeFormats
from millrace.metrics.reporters.reporter import MetricReporter, PullReporter, ReportedMetric, ReporterConfig
from millrace.util import plugins

# Filters

TYPES = ("counter", "meter", "gauge", "histogram")


@dataclass(frozen=True)
class MetricFilter:
    """A filter ``scope[:name[,name]][:type[,type]]``, where ``*`` stands for any characters in scopes and names."""

    scope: re.Pattern[str]
    """pattern of the logical scope, whose parts are joined by dots"""
    names: re.Pattern[str]
    types: frozenset[str]

    @staticmethod
    def parse(text: str) -> MetricFilter:
        """:raises ValueError: too many parts, or an unknown type."""
        scope, *rest = text.strip().split(":")
        if not scope or len(rest) > 2:
            raise ValueError(f"the filter {text!r} is not like <scope>[:<name>[,<name>][:<type>[,<type>]]]")
        names = rest[0] if rest else "*"
        types = _parts(rest[1]) if len(rest) > 1 else ["*"]
        for type in types:
            if type not in (*TYPES, "*"):
                raise ValueError(f"the filter {text!r} has the type {type!r}, which is none of {', '.join(TYPES)}")
        return MetricFilter(_pattern([scope]), _pattern(_parts(names)), frozenset(TYPES if "*" in types else types))

    def matches(self, metric: ReportedMetric) -> bool:
        return (
            metric.type in self.types
            and self.names.fullmatch(metric.name) is not None
            and self.scope.fullmatch(".".join(metric.scope)) is not None
        )


@dataclass(frozen=True)
class Filters:
    """Selects the metrics of a reporter: at least one filter includes, and no filter excludes them."""

    includes: tuple[MetricFilter, ...]
    excludes: tuple[MetricFilter, ...]

    @staticmethod
    def parse(includes: str, excludes: str) -> Filters:
        """:raises ValueError: one of them can't be read."""
        return Filters(_filters(includes or "*"), _filters(excludes))

    def let(self, metric: ReportedMetric) -> bool:
        """Whether the reporter gets the metric."""
        if not any(filter.matches(metric) for filter in self.includes):
            return False
        return not any(filter.matches(metric) for filter in self.excludes)


def _filters(text: str) -> tuple[MetricFilter, ...]:
    return tuple(MetricFilter.parse(part) for part in split_list(text) if part.strip())


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()] or ["*"]


def _pattern(wildcards: list[str]) -> re.Pattern[str]:
    return re.compile("|".join(".*".join(map(re.escape, text.strip().split("*"))) for text in wildcards), re.DOTALL)


# Classes of reporters

ENTRY_POINTS = "millrace.reporters"
"""entry points of reporters that stand for one of Flink's, by the name of its class"""
_FLINKS = "org.apache.flink.metrics."
_JMX = "jmx.JMXReporter"


def reporter_class(name: str) -> type[MetricReporter]:
    """The class of a reporter: Flink's name of it, or of its factory, or ``module:Class`` for one of your own.

    :raises ValueError: there is no such class, or it is no reporter.
    """
    text = name.strip()
    flinks = text.removeprefix(_FLINKS).removesuffix("Factory")
    if text.startswith(_FLINKS) and flinks == _JMX:
        raise ValueError(
            "there is no JMX reporter: metrics live in Python, without MBeans. Nearest: Spark's own metrics, "
            "with spark.metrics.conf.*.sink.jmx.class=org.apache.spark.metrics.sink.JmxSink and "
            "-Dcom.sun.management.jmxremote.port in spark.driver.extraJavaOptions; for these metrics "
            "org.apache.flink.metrics.prometheus.PrometheusReporterFactory"
        )
    if text.startswith(_FLINKS) and not plugins.has(ENTRY_POINTS, _FLINKS + flinks):
        factories = ", ".join(f"{own}Factory" for own in plugins.names(ENTRY_POINTS))
        raise ValueError(f"no reporter {text!r}; there are: {factories}")
    if not text.startswith(_FLINKS) and ":" not in text:
        raise ValueError(f"no reporter {text!r}: name a class of Flink's, or one of your own as module:Class")
    try:
        found = plugins.load(ENTRY_POINTS, _FLINKS + flinks) if text.startswith(_FLINKS) else _own_class(text)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"no reporter {text!r}: {error}") from error
    if not (isinstance(found, type) and issubclass(found, MetricReporter)):
        raise ValueError(f"{text!r} is no class that extends {MetricReporter.__module__}.{MetricReporter.__name__}")
    return found


def _own_class(text: str) -> Any:
    module, _, attribute = text.partition(":")
    return getattr(importlib.import_module(module), attribute)


# Settings

_PREFIX = "metrics.reporter."
_CLASS_KEYS = ("factory.class", "class")


@dataclass(frozen=True)
class ReporterSetup:
    """A configured reporter that is not opened yet, with its filters."""

    reporter: MetricReporter
    config: ReporterConfig
    filters: Filters
    formats: ScopeFormats
    excluded: frozenset[str]
    """variables that are hidden from the reporter"""
    additional: Mapping[str, str]
    """variables that are added to all metrics of the reporter"""

    def select(self, entries: Iterable[MetricEntry]) -> list[ReportedMetric]:
        """The part of a job's metrics that the reporter gets."""
        seen = (ReportedMetric(entry, self.formats, self._variables(entry)) for entry in entries)
        return [metric for metric in seen if self.filters.let(metric)]

    def _variables(self, entry: MetricEntry) -> dict[str, str]:
        own = {key[1:-1]: value for key, value in entry.variables.items()}
        return {key: value for key, value in own.items() if key not in self.excluded} | dict(self.additional)


def setups(configuration: Mapping[str, str], job_name: str) -> list[ReporterSetup]:
    """The reporters of a configuration: those that it lists, else all that it describes.

    :raises ValueError: a reporter can't be as it is described; the message names the key.
    """
    formats = ScopeFormats.of(configuration)
    listed = [name.strip() for name in configuration.get("metrics.reporters", "").split(",") if name.strip()]
    names = list(dict.fromkeys(listed)) or _described(configuration)
    return [_setup(name, _options(configuration, name), formats, job_name) for name in names]


def _described(configuration: Mapping[str, str]) -> list[str]:
    found: dict[str, None] = {}
    for key in sorted(configuration):
        for ending in _CLASS_KEYS:
            if key.startswith(_PREFIX) and key.endswith(f".{ending}"):
                found[key[len(_PREFIX) : -len(ending) - 1]] = None
                break
    return list(found)


def _options(configuration: Mapping[str, str], name: str) -> dict[str, str]:
    start = f"{_PREFIX}{name}."
    return {key[len(start) :]: value for key, value in configuration.items() if key.startswith(start)}


def _setup(name: str, options: dict[str, str], formats: ScopeFormats, job_name: str) -> ReporterSetup:
    config = ReporterConfig(name, options, job_name=job_name)
    key = next((key for key in _CLASS_KEYS if options.get(key, "").strip()), None)
    if key is None:
        raise ValueError(f"{config.key('factory.class')} is not set: what is the reporter {name!r}?")
    try:
        reporter = reporter_class(options[key])()
    except ValueError as error:
        raise ValueError(f"{config.key(key)}: {error}") from error
    interval = config.get_seconds("interval", 10.0)
    if interval <= 0:
        raise ValueError(f"{config.key('interval')} must be more than 0, not {options['interval']!r}")
    try:
        filters = Filters.parse(config.get_string("filter.includes"), config.get_string("filter.excludes"))
        additional = to_map(config.get_string("scope.variables.additional"))
    except ValueError as error:
        raise ValueError(f"{_PREFIX}{name}: {error}") from None
    delimiter = options.get("scope.delimiter", formats.delimiter)
    excluded = config.get_string("scope.variables.excludes").split(";")
    return ReporterSetup(
        reporter,
        replace(config, interval=interval),
        filters,
        replace(formats, delimiter=delimiter),
        frozenset(_bare(variable) for variable in excluded if variable.strip()),
        {_bare(variable): value for variable, value in additional.items()},
    )


def _bare(variable: str) -> str:
    return variable.strip().removeprefix("<").removesuffix(">")


# Threads

logger = logging.getLogger("millrace")

OPEN_SECONDS = 10.0
"""how long the start of a job waits for its reporters (s)"""
CLOSE_SECONDS = 5.0
"""how long the end of a job waits for the last reports (s)"""

Entries = Callable[[], Iterable[MetricEntry]]


class Reporters:
    """The reporters of one job, by its configuration."""

    def __init__(self, configuration: Mapping[str, str], job_name: str, entries: Entries) -> None:
        """:raises ValueError: the configuration describes a reporter that can't be."""
        self._threads = [ReporterThread(setup, entries) for setup in setups(configuration, job_name)]

    def open(self) -> None:
        """Begin to report.

        :raises ValueError: a reporter can't do with its configuration.
        """
        deadline = time.monotonic() + OPEN_SECONDS
        for thread in self._threads:
            thread.start()
        try:
            for thread in self._threads:
                thread.opened_by(deadline)
        except ValueError:
            self.close()
            raise

    def finish(self) -> None:
        """Begin the last report."""
        for thread in self._threads:
            thread.stop()

    def close(self) -> None:
        """Finish, and wait up to ``CLOSE_SECONDS`` for the last reports."""
        self.finish()
        deadline = time.monotonic() + CLOSE_SECONDS
        for thread in self._threads:
            thread.ended_by(deadline)


class ReporterThread:
    """Runs one reporter. Its first error is logged, and at its end the number of errors."""

    def __init__(
        self,
        setup: ReporterSetup,
        entries: Entries,
        clock: Callable[[], float] = time.monotonic,
        wait: Callable[[float], bool] | None = None,
    ) -> None:
        """:param wait: waits for some seconds; returns True if the reporter is to end."""
        self._setup = setup
        self._entries = entries
        self._clock = clock
        self._stopped = threading.Event()
        self._wait = wait or self._stopped.wait
        self._opened: Future[None] = Future()
        self._reports = self._failures = 0
        self._last = ""
        self._late = False
        self._thread = threading.Thread(target=self.run, name=f"metric reporter {setup.config.name}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def opened_by(self, deadline: float) -> None:
        """Wait until it is open. Raises ``ValueError`` if it can't be."""
        try:
            self._opened.result(max(0.0, deadline - time.monotonic()))
        except NotInTime:
            self._late = True
            logger.warning("metric reporter %r is not open yet; the job begins without it", self._setup.config.name)

    def stop(self) -> None:
        self._stopped.set()

    def ended_by(self, deadline: float) -> None:
        """Wait for its end."""
        if self._thread.ident is None:
            return
        self._thread.join(max(0.0, deadline - time.monotonic()))
        if self._thread.is_alive():
            logger.warning("metric reporter %r has not sent its last report in time", self._setup.config.name)

    def run(self) -> None:
        """Report at each interval, until the end."""
        if not self._open():
            return
        interval = self._setup.config.interval
        if isinstance(self._setup.reporter, PullReporter):
            self._stopped.wait()
        else:
            due = self._clock() + interval
            while not self._wait(max(0.0, due - self._clock())):
                self._report()
                due = max(due + interval, self._clock())  # what was missed is not made up for
            self._report()
        self._close()

    def _open(self) -> bool:
        reporter = self._setup.reporter
        try:
            reporter.open(self._setup.config)
            if isinstance(reporter, PullReporter):
                reporter.serve(lambda: self._setup.select(self._entries()))
        except ValueError as error:
            text = f"metric reporter {self._setup.config.name!r}: {self._setup.config.hidden(str(error))}"
            if self._late:
                logger.warning("%s", text)
            self._opened.set_exception(ValueError(text))
            return False
        except Exception as error:
            logger.warning("metric reporter %r does nothing: %s", self._setup.config.name, self._text(error))
            self._opened.set_result(None)
            return False
        self._opened.set_result(None)
        return True

    def _report(self) -> None:
        self._reports += 1
        try:
            self._setup.reporter.report(self._setup.select(self._entries()))
        except Exception as error:
            self._failures += 1
            self._last = self._text(error)
            if self._failures == 1:
                logger.warning("metric reporter %r failed, and goes on: %s", self._setup.config.name, self._last)

    def _close(self) -> None:
        name = self._setup.config.name
        try:
            self._setup.reporter.close()
        except Exception as error:
            logger.warning("metric reporter %r could not close: %s", name, self._text(error))
        if self._failures > 1:
            logger.warning(
                "metric reporter %r: %d of %d reports failed, the last: %s",
                *(name, self._failures, self._reports, self._last),
            )

    def _text(self, error: Exception) -> str:
        return self._setup.config.hidden(f"{type(error).__name__}: {error}")
