"""Rules on event time that does not move, and on records that stop somewhere.

No watermark strategy, an idle or late subtask, windows that are still open, late records; sources that read nothing and
operators that pass nothing on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from millrace.cluster.documents import JobDocument, SubtaskDocument, VertexDocument
from millrace.cluster.insights.readings import (
    END,
    ENDED,
    Finding,
    downstream,
    duration,
    given_watermark,
    has_watermark,
    is_quiet,
    is_running,
    low_watermark,
    metric_sum,
    moment,
    number,
    operators,
    percent,
    plural,
    records_in,
    records_out,
    short,
    upstream,
)

BEHIND = 60_000
"""ms of event time by which a subtask has to lag behind the others before it counts as late"""
MANY_LATE = 0.01
_EVENT_TIME = re.compile(r"EventTime\w*\(|EventTime(?:Trigger|Session)|\bwindow=\[|WindowAggregate|WindowTableFunction")
_SIZE = re.compile(r"(?:Tumbling|Sliding|Cumulative)EventTimeWindows\((\d+)|EventTimeSessionWindows\((\d+)")


def watermarks(job: JobDocument) -> Iterator[Finding]:
    """Findings about event time that does not advance, for each vertex that waits for it."""
    if not is_running(job) or job.batch:
        return
    named: set[tuple[str, int | None]] = set()
    for vertex in job.vertices:
        for found in (*no_strategy(job, vertex), *held_back(job, vertex)):
            if (found.vertex or "", found.subtask) not in named:
                named.add((found.vertex or "", found.subtask))
                yield found
    for vertex in job.vertices:
        yield from open_windows(vertex)
        yield from late_records(vertex)


def waits_for_time(vertex: VertexDocument) -> bool:
    """Whether an operator of the vertex needs watermarks, judged by its description."""
    return any(_EVENT_TIME.search(f"{each.name} {each.description}") for each in vertex.operators)


def no_strategy(job: JobDocument, vertex: VertexDocument) -> Iterator[Finding]:
    """Find event-time operators that receive records while no source emits watermarks."""
    if not waits_for_time(vertex) or not records_in(vertex) or any(has_watermark(s.watermark) for s in vertex.subtasks):
        return
    sources = roots(job, vertex)
    if any(given_watermark(subtask) is not None for each in sources for subtask in each.subtasks):
        return
    names = ", ".join(f"“{short(each.name)}”" for each in sources) or "its input"
    yield Finding(
        "no-watermarks",
        "error",
        "silent",
        f"“{short(vertex.name)}” works in event time and has got {plural(records_in(vertex), 'record')}, but no "
        "watermark: "
        f"{names} {'gives' if len(sources) < 2 else 'give'} none, so it waits forever.",
        "Give the source a WatermarkStrategy (from_source(..., strategy, ...) or assign_timestamps_and_watermarks), or "
        "a WATERMARK in the table's definition.",
        vertex.id,
    )


def held_back(job: JobDocument, vertex: VertexDocument) -> Iterator[Finding]:
    """Find subtasks upstream without a watermark, or with one far behind the others."""
    if not vertex.inputs or not records_in(vertex):
        return
    low = low_watermark(vertex)
    without = []
    for source in roots(job, vertex):
        given = [(each, given_watermark(each)) for each in source.subtasks if each.state != "FINISHED"]
        known = [value for _, value in given if value is not None and value < END]
        if not known:
            without += [source] if given else []
            continue
        ahead = max(known)
        for subtask, value in given:
            # A subtask that is marked as idle holds back no watermark: the vertex's watermark is ahead of its own.
            holds = low is None if value is None else ahead - value > BEHIND and (low is None or low <= value)
            if holds:
                yield _holder(vertex, source, subtask, value, ahead)
                break
    if low is None and len(without) < len(roots(job, vertex)):
        yield from (_without(vertex, source) for source in without)


def _without(vertex: VertexDocument, source: VertexDocument) -> Finding:
    text = (
        f"No watermark gets through to “{short(vertex.name)}”: of its inputs, “{short(source.name)}” gives none at all."
    )
    advice = (
        "Every input counts, a broadcast one too. Give this source a WatermarkStrategy; one for data that has no time "
        "may say that it is always at the end, or be idle (with_idleness)."
    )
    return Finding("input-without-watermarks", "error", "silent", text, advice, source.id)


def _holder(
    vertex: VertexDocument, source: VertexDocument, subtask: SubtaskDocument, value: int | None, ahead: int
) -> Finding:
    where = f"subtask {subtask.index} of “{short(source.name)}”"
    if value is None:
        text = f"No watermark gets through to “{short(vertex.name)}”: {where} has none"
    else:
        text = (
            f"The watermark of “{short(vertex.name)}” is held back at {moment(value)}: {where} is "
            f"{duration(ahead - value)} "
            "behind the others"
        )
    count = subtask.records_out
    if count == 0:
        text += " and has read nothing at all."
    elif is_quiet(subtask):
        text += f", idle after {plural(count, 'record')}."
    else:
        text += f"; it has given out {plural(count, 'record')} and goes on."
    if count == 0 or is_quiet(subtask):
        advice = (
            "Its partition or split is empty. WatermarkStrategy.with_idleness(...) lets the others go on without it "
            "(tables: table.exec.source.idle-timeout)."
        )
    else:
        advice = (
            "It reads older elements than the others. Let it catch up; watermark alignment keeps the others from "
            "running "
            "ahead of it."
        )
    severity = "error" if value is None else "warning"
    return Finding("watermark-held-back", severity, "silent", text, advice, source.id, subtask.index)


def roots(job: JobDocument, vertex: VertexDocument) -> list[VertexDocument]:
    """The vertices that a vertex's watermarks come from: those upstream (or the vertex itself) that have no inputs."""
    seen = {vertex.id}
    front = [vertex]
    found = []
    while front:
        found += [each for each in front if not each.inputs]
        front = [each for one in front for each in upstream(job, one) if each.id not in seen]
        front = list({each.id: each for each in front}.values())
        seen.update(each.id for each in front)
    return found


def open_windows(vertex: VertexDocument) -> Iterator[Finding]:
    """Find windows that have received records and emitted nothing, because the watermark has not reached the first
    window's end."""
    size = max((_size(f"{each.name} {each.description}") for each in vertex.operators), default=0)
    low = low_watermark(vertex)
    if not size or low is None or low >= END or not records_in(vertex) or records_out(vertex):
        return
    yield Finding(
        "windows-open",
        "hint",
        "silent",
        f"“{short(vertex.name)}” holds {plural(records_in(vertex), 'record')} in windows of {duration(size)} and has "
        "given "
        f"nothing yet: the watermark is {moment(low)}, and a window closes when the watermark has passed its end.",
        f"Wait until the watermark has moved on by up to {duration(size)}, or take smaller windows or a trigger that "
        "fires "
        "early.",
        vertex.id,
    )


def _size(description: str) -> int:
    found = _SIZE.search(description)
    return int(found.group(1) or found.group(2)) if found else 0


def late_records(vertex: VertexDocument) -> Iterator[Finding]:
    """Find records that were dropped as late."""
    late, all = metric_sum(vertex, "numLateRecordsDropped"), records_in(vertex)
    if late and all and late / all >= MANY_LATE:
        yield Finding(
            "late-records",
            "warning",
            "silent",
            f"“{short(vertex.name)}” has dropped {number(late)} records that came too late, {percent(late / all)} of "
            "its "
            "input.",
            "Let watermarks wait longer (for_bounded_out_of_orderness), allow lateness, or take them from a side "
            "output.",
            vertex.id,
        )


# Records that stop

PATIENCE = 30_000
"""Time that a source has until its first record (ms)."""
ENOUGH = 100
"""Number of records of which an operator should have passed on at least one."""


def silent_sources(job: JobDocument) -> Iterator[Finding]:
    """Find sources that have read nothing since the job started."""
    since = job.written - job.timestamps.get("RUNNING", job.started)
    if not is_running(job) or since < PATIENCE:
        return
    for vertex in job.vertices:
        first = next(iter(operators(vertex)), None)
        if vertex.inputs or first is None or first.records_out != 0:
            continue
        if all(each.state in ENDED for each in vertex.subtasks):
            continue
        yield Finding(
            "source-reads-nothing",
            "warning",
            "silent",
            f"“{short(first.name)}” has read nothing in {duration(since)}.",
            "See whether there is new data where it reads (topic, directory, table), where it is told to begin "
            "(earliest or "
            "latest), and whether filters on partitions or dates leave anything over.",
            vertex.id,
        )


def everything_filtered(job: JobDocument) -> Iterator[Finding]:
    """Find the first operator of a path that receives records, emits none, and does not wait for event time."""
    for vertex in job.vertices:
        if not waits_for_time(vertex):
            yield from _filtered(job, vertex)


def _filtered(job: JobDocument, vertex: VertexDocument) -> Iterator[Finding]:
    sink = not downstream(job, vertex)
    for each in operators(vertex):
        if each.records_in is None or each.records_in < ENOUGH or each.records_out != 0 or (sink and each.last):
            continue
        yield Finding(
            "everything-filtered",
            "warning",
            "silent",
            f"“{short(each.name)}” has got {plural(each.records_in, 'record')} and passed on none.",
            "Its condition holds for none of them, its join finds no partner, or it keeps everything in state: look "
            "at a few "
            "records and at the types of what it compares.",
            vertex.id,
        )
        return
