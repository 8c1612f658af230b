"""Which metrics a reporter gets (``filter.includes``, ``filter.excludes``)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from millrace.common.config_values import split_list
from millrace.metrics.reporters.reported import ReportedMetric

__all__ = ["Filters", "MetricFilter"]

TYPES = ("counter", "meter", "gauge", "histogram")


@dataclass(frozen=True)
class MetricFilter:
    """``scope[:name[,name]][:type[,type]]``, where ``*`` stands for any characters in scopes and names."""

    scope: re.Pattern[str]
    """of the logical scope, joined by dots"""
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
    """What a reporter gets: what one of the first includes, and none of the others excludes."""

    includes: tuple[MetricFilter, ...]
    excludes: tuple[MetricFilter, ...]

    @staticmethod
    def parse(includes: str, excludes: str) -> Filters:
        """:raises ValueError: one of them can't be read."""
        return Filters(_filters(includes or "*"), _filters(excludes))

    def let(self, metric: ReportedMetric) -> bool:
        """Whether the reporter gets it."""
        if not any(filter.matches(metric) for filter in self.includes):
            return False
        return not any(filter.matches(metric) for filter in self.excludes)


def _filters(text: str) -> tuple[MetricFilter, ...]:
    return tuple(MetricFilter.parse(part) for part in split_list(text) if part.strip())


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()] or ["*"]


def _pattern(wildcards: list[str]) -> re.Pattern[str]:
    return re.compile("|".join(".*".join(map(re.escape, text.strip().split("*"))) for text in wildcards), re.DOTALL)
