"""All rules together: what is to be said about a job, what matters most first."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from millrace.cluster.documents.job import JobDocument
from millrace.cluster.insights.checkpoints import checkpoints
from millrace.cluster.insights.epochs import overhead
from millrace.cluster.insights.finding import Finding
from millrace.cluster.insights.pressure import slow_operator, slow_vertices
from millrace.cluster.insights.restarts import failures
from millrace.cluster.insights.silence import everything_filtered, silent_sources
from millrace.cluster.insights.skew import busy_subtasks, heavy_keys
from millrace.cluster.insights.watermarks import watermarks

Rule = Callable[[JobDocument], Iterable[Finding]]

RULES: tuple[Rule, ...] = (
    slow_operator,
    failures,
    watermarks,
    silent_sources,
    everything_filtered,
    heavy_keys,
    busy_subtasks,
    slow_vertices,
    overhead,
    checkpoints,
)
SEVERITIES = ("error", "warning", "hint")


def insights(job: JobDocument) -> list[Finding]:
    """What explains why a job is slow, silent or failing, the worst first; nothing if all is well."""
    found = [finding for rule in RULES for finding in rule(job)]
    return sorted(found, key=lambda finding: SEVERITIES.index(finding.severity))
