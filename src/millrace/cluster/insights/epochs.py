"""Epochs that spend their time on other things than records."""

from __future__ import annotations

from collections.abc import Iterator

from millrace.cluster.documents.job import JobDocument
from millrace.cluster.insights.finding import Finding
from millrace.cluster.insights.reading import is_running
from millrace.cluster.insights.words import duration, percent

ENOUGH = 5
LAST = 20
MOST = 0.5
SHORT = 300.0
"""ms of an average epoch below which its overhead is no one's concern"""


def overhead(job: JobDocument) -> Iterator[Finding]:
    """Planning and starting, or writing out, takes more than half of the last epochs."""
    epochs = [each for each in job.epochs[-LAST:] if each.phases]
    if not is_running(job) or len(epochs) < ENOUGH:
        return
    whole = sum(each.duration for each in epochs)
    if whole / len(epochs) < SHORT:
        return
    mean = duration(whole / len(epochs))
    before = sum(each.phases.get(name, 0) for each in epochs for name in ("plan", "start")) / whole
    after = sum(each.phases.get(name, 0) for each in epochs for name in ("record", "commit")) / whole
    if before > MOST:
        yield Finding(
            "planning",
            "warning",
            "slow",
            f"{percent(before)} of the last {len(epochs)} epochs ({mean} on average) went into planning and starting "
            "them "
            "and not into records.",
            "Fewer, longer epochs spread that over more records: raise millrace.epoch.interval-ms. If Spark has no "
            "free "
            "slots, tasks wait for one: see Executors.",
        )
    if after > MOST:
        yield Finding(
            "committing",
            "warning",
            "slow",
            f"{percent(after)} of the last {len(epochs)} epochs ({mean} on average) went into recording and committing "
            "their results.",
            "The storage of checkpoints or the system that sinks commit to is slow. A longer checkpoint interval "
            "commits "
            "less often.",
        )
