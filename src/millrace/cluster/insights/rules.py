"""All rules together, and the order of their findings: the most important first."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from millrace.cluster.documents import JobDocument
from millrace.cluster.insights.checkpoint_rules import checkpoints, failures, overhead
from millrace.cluster.insights.load_rules import busy_subtasks, heavy_keys, slow_operator, slow_vertices
from millrace.cluster.insights.readings import Finding
from millrace.cluster.insights.watermark_rules import everything_filtered, silent_sources, watermarks

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
