"""The reporter for Prometheus' push gateway."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Sequence
from urllib.parse import quote

from millrace.metrics.reporters.contract import MetricReporter
from millrace.metrics.reporters.http import Target, basic_auth
from millrace.metrics.reporters.prometheus_text import CONTENT_TYPE, Families
from millrace.metrics.reporters.reported import ReportedMetric
from millrace.metrics.reporters.reporter_config import ReporterConfig

__all__ = ["PushGatewayReporter"]

SECONDS = 10.0


class PushGatewayReporter(MetricReporter):
    """Pushes all metrics as one group.

    Options are Flink's ``hostUrl`` (or the older ``host`` and ``port``), ``jobName``, ``randomJobNameSuffix``,
    ``deleteOnShutdown``, ``filterLabelValueCharacters``, ``groupingKey``, ``basicAuth``, ``username``, ``password``.
    """

    def open(self, config: ReporterConfig) -> None:
        try:
            self._target = Target.of(_url(config), SECONDS)
        except ValueError as error:
            raise ValueError(f"{config.key('hostUrl')}: {error}") from None
        self._filter_values = config.get_boolean("filterLabelValueCharacters", True)
        self._delete = config.get_boolean("deleteOnShutdown", True)
        name = config.get_string("jobName")
        if config.get_boolean("randomJobNameSuffix", True):
            name += secrets.token_hex(16)
        if not name:
            raise ValueError(f"{config.key('jobName')} is not set, and {config.key('randomJobNameSuffix')} is false")
        self._path = "/metrics" + "".join(_part(*pair) for pair in [("job", name), *_grouping(config)])
        self._headers = {"Content-Type": CONTENT_TYPE}
        if config.get_boolean("basicAuth", False):
            self._headers |= basic_auth(config.get_string("username"), config.get_string("password"))

    def report(self, metrics: Sequence[ReportedMetric]) -> None:
        families = Families()
        families.add(metrics, self._filter_values)
        self._target.send("PUT", self._path, families.text().encode(), self._headers)

    def close(self) -> None:
        if self._delete:
            self._target.send("DELETE", self._path, None, self._headers)


def _url(config: ReporterConfig) -> str:
    url = config.get_string("hostUrl")
    if url:
        return url
    if config.get_integer("port", -1) > 0 and config.get_string("host"):
        return f"http://{config.get_string('host')}:{config.get_integer('port', -1)}"
    return config.get_required("hostUrl")


def _grouping(config: ReporterConfig) -> list[tuple[str, str]]:
    pairs = []
    for part in filter(None, map(str.strip, config.get_string("groupingKey").split(";"))):
        key, equals, value = part.partition("=")
        if not equals or not key.strip():
            raise ValueError(f"{config.key('groupingKey')}: {part!r} is not like key=value")
        pairs.append((key.strip(), value.strip()))
    return pairs


def _part(key: str, value: str) -> str:
    """A label as a part of the path; base64 where a slash or nothing at all would be misread."""
    if "/" in value or not value:
        return f"/{quote(key, '')}@base64/{base64.urlsafe_b64encode(value.encode()).decode() or '='}"
    return f"/{quote(key, '')}/{quote(value, '')}"
