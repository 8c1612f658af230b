"""Which reporters a configuration asks for (``metrics.reporters``, ``metrics.reporter.<name>.*``)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from millrace.common.config_values import to_map
from millrace.metrics.report import MetricEntry
from millrace.metrics.reporters.contract import MetricReporter
from millrace.metrics.reporters.filters import Filters
from millrace.metrics.reporters.known import reporter_class
from millrace.metrics.reporters.reported import ReportedMetric
from millrace.metrics.reporters.reporter_config import ReporterConfig
from millrace.metrics.scope import ScopeFormats

__all__ = ["ReporterSetup", "setups"]

_PREFIX = "metrics.reporter."
_CLASS_KEYS = ("factory.class", "class")


@dataclass(frozen=True)
class ReporterSetup:
    """One reporter, not opened yet, and what it gets."""

    reporter: MetricReporter
    config: ReporterConfig
    filters: Filters
    formats: ScopeFormats
    excluded: frozenset[str]
    """variables that it does not see"""
    additional: Mapping[str, str]
    """variables that it sees for all metrics"""

    def select(self, entries: Iterable[MetricEntry]) -> list[ReportedMetric]:
        """What the reporter gets of a job's metrics."""
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
