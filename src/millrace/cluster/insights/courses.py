"""What the last epochs of a job have been like: throughput, event time behind the clock, duration."""

from __future__ import annotations

from itertools import pairwise

from millrace.cluster.documents.job import JobDocument
from millrace.runtime.elements import MAX_WATERMARK
from millrace.util.drawing.canvas import Canvas
from millrace.util.drawing.charts import Course, charts


class NoCourseError(ValueError):
    """The job has not completed two epochs yet, or is in batch mode, which has none."""


def courses(job: JobDocument) -> tuple[Course, ...]:
    """What there is to draw. Elements of an epoch are counted over the time until the next one begins."""
    read = tuple(
        (epoch.began, epoch.records * 1000 / max(after.began - epoch.began, 1))
        for epoch, after in pairwise(job.epochs)
    )
    ends = [(epoch, epoch.began + epoch.duration) for epoch in job.epochs]
    behind = tuple(
        (epoch.began, max(end - epoch.watermark, 0) / 1000)
        for epoch, end in ends
        if epoch.watermark is not None and epoch.watermark != MAX_WATERMARK
    )
    took = tuple((epoch.began, float(epoch.duration)) for epoch in job.epochs)
    return (
        Course("elements read", "/s", read),
        Course("watermark behind the clock", "s", behind),
        Course("duration of an epoch", "ms", took),
    )


def plotted(job: JobDocument) -> Canvas:
    """The courses as a picture.

    :raises NoCourseError: there are none.
    """
    try:
        return charts(courses(job), f"{job.name}: throughput, watermark and epochs")
    except ValueError:
        why = "is in batch mode, which has no epochs to plot" if job.batch else "has not completed two epochs yet"
        raise NoCourseError(f"job {job.name!r} {why}") from None
