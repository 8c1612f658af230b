"""Helpers of the rules: values read from a job's document, and their wording in sentences.

Neighbours of vertices, counts of operators, watermarks; numbers, durations and times as text; and the last epochs of a
job as a chart, for ``millrace plot`` and notebooks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from itertools import pairwise

from millrace.cluster.documents import JobDocument, SubtaskDocument, VertexDocument
from millrace.runtime.elements import MAX_WATERMARK
from millrace.util.charts import Canvas, Course, charts


@dataclass(frozen=True)
class Finding:
    """A sentence with numbers, and what can be done."""

    rule: str
    """stable name of the rule, for programs that read findings"""
    severity: str
    """``error``: the job does not work; ``warning``: it works badly; ``hint``: worth knowing"""
    question: str
    """the question that the finding answers: why is the job ``slow``, ``silent`` (no output) or ``failing``"""
    text: str
    advice: str
    vertex: str | None = None
    subtask: int | None = None


# Words

_UNITS = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s"), (1, "ms"))
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def duration(ms: float) -> str:
    """The two largest units: ``3 min 20 s``, ``1.5 s``, ``12 ms``."""
    rest = round(abs(ms))
    if rest < 1_000:
        return f"{rest} ms"
    if rest < 10_000:
        return f"{rest / 1000:.1f}".removesuffix(".0") + " s"
    parts: list[str] = []
    rest -= rest % 1_000
    for size, name in _UNITS[:4]:
        if (count := rest // size) or parts:
            if count:
                parts.append(f"{count:,} {name}")
            rest %= size
            if len(parts) == 2 or not rest:
                break
    return " ".join(parts)


def millis(ms: float) -> str:
    """The time of one record as text: ``0.02 ms``, ``1.5 ms``, ``120 ms``, ``2 s``."""
    if ms >= 100:
        return duration(ms)
    return f"{ms:.2g} ms" if ms < 10 else f"{ms:.0f} ms"


def moment(ms: int) -> str:
    """A point in event time as text, in UTC; beyond the range of Python's dates as milliseconds."""
    try:
        at = _EPOCH + timedelta(milliseconds=ms)
    except OverflowError:
        return f"{ms} ms"
    return f"{at:%Y-%m-%d %H:%M:%S} UTC"


def percent(share: float) -> str:
    return f"{share * 100:.0f} %" if share >= 0.1 or share == 0 else f"{share * 100:.1f} %"


def number(value: float) -> str:
    return f"{value:,.0f}"


def plural(count: int, thing: str) -> str:
    return f"{count:,} {thing}" if count == 1 else f"{count:,} {thing}s"


def short(name: str, length: int = 60) -> str:
    """A vertex's name, short enough for a sentence."""
    return name if len(name) <= length else name[: length - 1].rstrip() + "…"


# The document

END = 2**63 - 1
"""the watermark at the end of the input"""
BEFORE = -(2**63)
"""the watermark of a stream before its first one"""
ENDED = frozenset({"FINISHED", "CANCELED", "FAILED"})


@dataclass(frozen=True)
class Operator:
    """The counts of one operator of a vertex; None: unknown."""

    name: str
    description: str
    records_in: int | None
    records_out: int | None
    last: bool
    """whether the operator is the last of its vertex's chain"""


def is_running(job: JobDocument) -> bool:
    return job.state == "RUNNING"


def upstream(job: JobDocument, vertex: VertexDocument) -> list[VertexDocument]:
    """The vertices that a vertex gets elements from."""
    wanted = {each.vertex for each in vertex.inputs}
    return [each for each in job.vertices if each.id in wanted]


def downstream(job: JobDocument, vertex: VertexDocument) -> list[VertexDocument]:
    """The vertices that get elements from a vertex."""
    return [each for each in job.vertices if any(input.vertex == vertex.id for input in each.inputs)]


def records_in(vertex: VertexDocument) -> int:
    return sum(each.records_in for each in vertex.subtasks)


def records_out(vertex: VertexDocument) -> int:
    return sum(each.records_out for each in vertex.subtasks)


def most(values: Iterable[float | None]) -> float:
    """The largest known value; 0 if none is known."""
    return max((value for value in values if value is not None), default=0.0)


def busy(vertex: VertexDocument) -> float:
    return most(each.busy for each in vertex.subtasks)


def backpressured(vertex: VertexDocument) -> float:
    return most(each.backpressured for each in vertex.subtasks)


def metric(subtask: SubtaskDocument, name: str) -> int | None:
    """A subtask's metric by its whole name."""
    for each in subtask.metrics:
        if each.name == name and isinstance(each.value, int | float):
            return int(each.value)
    return None


def metric_sum(vertex: VertexDocument, suffix: str) -> int:
    """The sum of a counter over all operators and subtasks of a vertex; the counter is found by the end of its name."""
    return sum(
        int(each.value)
        for subtask in vertex.subtasks
        for each in subtask.metrics
        if (each.name == suffix or each.name.endswith(f".{suffix}")) and isinstance(each.value, int | float)
    )


def operators(vertex: VertexDocument) -> list[Operator]:
    """The operators of a vertex with their counts; a single operator has the counts of its vertex."""
    found = []
    for position, each in enumerate(vertex.operators):
        last = position == len(vertex.operators) - 1
        taken, given = _count(vertex, f"{each.name}.numRecordsIn"), _count(vertex, f"{each.name}.numRecordsOut")
        if taken is None and position == 0 and vertex.inputs:
            taken = records_in(vertex)
        if given is None and last:
            given = records_out(vertex)
        found.append(Operator(each.name, each.description, taken, given, last))
    return found


def _count(vertex: VertexDocument, name: str) -> int | None:
    values = [value for each in vertex.subtasks if (value := metric(each, name)) is not None]
    return sum(values) if values else None


def has_watermark(value: int | None) -> bool:
    return value is not None and value > BEFORE


def given_watermark(subtask: SubtaskDocument) -> int | None:
    """The watermark that a subtask emits, None if it has emitted none; the only watermark that a source has."""
    given = [
        int(each.value)
        for each in subtask.metrics
        if each.name.endswith("currentOutputWatermark") and isinstance(each.value, int | float)
    ]
    value = min(given) if given else subtask.watermark
    return value if has_watermark(value) else None


def low_watermark(vertex: VertexDocument) -> int | None:
    """The watermark of a whole vertex: the lowest of its subtasks; None while one of them has none."""
    values = [each.watermark for each in vertex.subtasks]
    if not values or not all(has_watermark(value) for value in values):
        return None
    return min(value for value in values if value is not None)


def is_quiet(subtask: SubtaskDocument) -> bool:
    """Whether a subtask has almost nothing to do, as far as its load is known."""
    return subtask.idle is not None and subtask.idle >= 0.9


def typical(values: Sequence[float]) -> float:
    """The median; of an even number of values the upper one of the middle two."""
    return sorted(values)[len(values) // 2] if values else 0.0


# The last epochs as a chart


class NoCourseError(ValueError):
    """The job has not completed two epochs yet, or is in batch mode, which has none."""


def courses(job: JobDocument) -> tuple[Course, ...]:
    """The series of a job's chart. Records of an epoch are counted over the time until the next epoch begins."""
    read = tuple(
        (epoch.began, epoch.records * 1000 / max(after.began - epoch.began, 1)) for epoch, after in pairwise(job.epochs)
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
    """The job's chart as a picture.

    :raises NoCourseError: there are none.
    """
    try:
        return charts(courses(job), f"{job.name}: throughput, watermark and epochs")
    except ValueError:
        why = "is in batch mode, which has no epochs to plot" if job.batch else "has not completed two epochs yet"
        raise NoCourseError(f"job {job.name!r} {why}") from None
