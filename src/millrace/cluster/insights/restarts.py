"""Jobs that have failed, and jobs that fail again and again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from millrace.cluster.documents.exceptions import ExceptionDocument
from millrace.cluster.documents.job import JobDocument
from millrace.cluster.insights.finding import Finding
from millrace.cluster.insights.words import duration, short

SEVERAL = 3
RECENT = 600_000


def failures(job: JobDocument) -> Iterator[Finding]:
    """Why the job failed, or what it restarts for."""
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
