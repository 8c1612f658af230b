"""Checkpoints that fail, or take too long."""

from __future__ import annotations

from collections.abc import Iterator

from millrace.cluster.documents.checkpoints import FOREVER
from millrace.cluster.documents.job import JobDocument
from millrace.cluster.insights.finding import Finding
from millrace.cluster.insights.reading import is_running
from millrace.cluster.insights.words import duration, plural, short

LAST = 5


def checkpoints(job: JobDocument) -> Iterator[Finding]:
    """What is wrong with the last checkpoints of a running job."""
    if is_running(job):
        yield from failing(job)
        yield from slow(job)


def failing(job: JobDocument) -> Iterator[Finding]:
    """The last ones failed, one after the other."""
    ended = [each for each in job.checkpoints.history if each.status != "IN_PROGRESS" and not each.savepoint]
    failed = 0
    while failed < len(ended) and ended[failed].status == "FAILED":
        failed += 1
    if not failed:
        return
    reason = ended[0].failure
    because = f" The last one: {short(reason.splitlines()[0], 200)}" if reason else ""
    since = ended[failed].triggered if failed < len(ended) else None
    back = (
        f"After a failure the job would go back {duration(job.written - since)}."
        if since is not None
        else "The job has no checkpoint to go back to."
    )
    yield Finding(
        "checkpoints-fail",
        "error" if failed >= 3 or since is None else "warning",
        "failing",
        f"The last {plural(failed, 'checkpoint')} failed.{because}",
        f"{back} See Checkpoints for the reasons, and whether the directory of checkpoints is there and can be "
        "written.",
    )


def slow(job: JobDocument) -> Iterator[Finding]:
    """They take longer than the time between two, or most of what they may take."""
    config = job.checkpoints.config
    done = [each for each in job.checkpoints.history if each.status == "COMPLETED" and not each.savepoint][:LAST]
    if not done:
        return
    mean = sum(each.duration for each in done) / len(done)
    if config.interval < FOREVER and mean > config.interval:
        limit = f"longer than the interval of {duration(config.interval)}"
    elif mean > config.timeout / 2:
        limit = f"more than half of the timeout of {duration(config.timeout)}"
    else:
        return
    largest = max(done[0].tasks, key=lambda each: each.duration, default=None)
    vertex = next((each for each in job.vertices if largest is not None and each.id == largest.vertex), None)
    slowest = f" The slowest part is “{short(vertex.name)}”." if vertex is not None else ""
    yield Finding(
        "checkpoints-slow",
        "warning",
        "slow",
        f"The last {plural(len(done), 'checkpoint')} took {duration(mean)} on average, {limit}.{slowest}",
        "Raise the interval, make state smaller (time to live), or look at the storage that they are written to.",
        vertex.id if vertex is not None else None,
    )
