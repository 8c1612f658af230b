"""Rules on checkpoints that fail or take long, on epochs that are mostly overhead, and on jobs that fail again and
again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from millrace.cluster.documents import FOREVER, ExceptionDocument, JobDocument
from millrace.cluster.insights.readings import Finding, duration, is_running, percent, plural, short

# Checkpoints

LAST_CHECKPOINTS = 5


def checkpoints(job: JobDocument) -> Iterator[Finding]:
    """Findings about the last checkpoints of a running job."""
    if is_running(job):
        yield from failing(job)
        yield from slow(job)


def failing(job: JobDocument) -> Iterator[Finding]:
    """Find checkpoints that fail one after the other."""
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
    """Find checkpoints that take longer on average than the interval between two, or than half of the timeout."""
    config = job.checkpoints.config
    done = [each for each in job.checkpoints.history if each.status == "COMPLETED" and not each.savepoint][
        :LAST_CHECKPOINTS
    ]
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


# Epochs

ENOUGH_EPOCHS = 5
LAST_EPOCHS = 20
MOST = 0.5
SHORT = 300.0
"""Mean length of an epoch (ms) below which its overhead is not reported."""


def overhead(job: JobDocument) -> Iterator[Finding]:
    """Find epochs that spend more than half of their time on planning, starting or writing."""
    epochs = [each for each in job.epochs[-LAST_EPOCHS:] if each.phases]
    if not is_running(job) or len(epochs) < ENOUGH_EPOCHS:
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


# Failures and restarts

SEVERAL = 3
RECENT = 600_000


def failures(job: JobDocument) -> Iterator[Finding]:
    """Find the failure that ended the job, or that it is restarting from."""
    roots = [each for each in job.exceptions if each.root]
    if job.state in ("FAILED", "FAILING") and roots:
        yield Finding(
            "failed", "error", "failing", f"The job failed: {_reason(roots[0])}", "See Exceptions for the whole story."
        )
    elif job.ended < 0:
        yield from _loop(job, [each for each in roots if job.written - each.at <= RECENT])


def _loop(job: JobDocument, recent: list[ExceptionDocument]) -> Iterator[Finding]:
    if not recent:
        return
    if len(recent) < SEVERAL:
        if job.state == "RESTARTING":
            yield Finding(
                "restarting",
                "warning",
                "failing",
                f"The job restarts after a failure: {_reason(recent[0])}",
                "It goes on from its last checkpoint.",
            )
        return
    (key, count) = Counter((each.name, _first_line(each)) for each in recent).most_common(1)[0]
    example = next(each for each in recent if (each.name, _first_line(each)) == key)
    span = duration(max(1_000, job.written - min(each.at for each in recent)))
    same = "every time" if count == len(recent) else f"{count} times"
    yield Finding(
        "restart-loop",
        "error",
        "failing",
        f"The job failed {len(recent)} times within {span}, {same} because of this: {_reason(example)}",
        "A restart does not cure it: the same record or the same service fails again. Mend the cause and start from "
        "the "
        "last checkpoint; nothing is lost until then.",
    )


def _first_line(failure: ExceptionDocument) -> str:
    return failure.text.strip().splitlines()[0] if failure.text.strip() else failure.name


def _reason(failure: ExceptionDocument) -> str:
    line = _first_line(failure)
    simple = failure.name.rpartition(".")[2]
    return short(line if simple in line else f"{simple}: {line}", 300)
