"""Records that stop somewhere: sources that read nothing, operators that pass nothing on."""

from __future__ import annotations

from collections.abc import Iterator

from millrace.cluster.documents.job import JobDocument
from millrace.cluster.documents.vertices import VertexDocument
from millrace.cluster.insights.finding import Finding
from millrace.cluster.insights.reading import ENDED, downstream, is_running, operators
from millrace.cluster.insights.watermarks import waits_for_time
from millrace.cluster.insights.words import duration, plural, short

PATIENCE = 30_000
"""ms that a source may take until its first record"""
ENOUGH = 100
"""records of which at least one should have come through"""


def silent_sources(job: JobDocument) -> Iterator[Finding]:
    """Sources that have given nothing since the job started."""
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
    """The first operator on a way that gets records and passes none on, and does not wait for time."""
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
