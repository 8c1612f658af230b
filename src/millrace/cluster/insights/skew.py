"""Work that is spread unevenly: keys with a large share, one busy subtask among idle ones."""

from __future__ import annotations

from collections.abc import Iterator

from millrace.cluster.documents.job import JobDocument
from millrace.cluster.documents.vertices import VertexDocument
from millrace.cluster.insights.finding import Finding
from millrace.cluster.insights.reading import busy, is_running, typical
from millrace.cluster.insights.words import percent, short

TOO_MUCH = 0.2
"""the share of a key below which no one is told about it"""
UNEVEN = 1.5
"""how many times its fair share a subtask's key has to have"""
BUSY = 0.8
IDLE = 0.3


def heavy_keys(job: JobDocument) -> Iterator[Finding]:
    """Keys that get so much of the input that their subtask has more to do than the others can take over."""
    for vertex in job.vertices:
        key = heaviest(vertex)
        if key is not None:
            at_limit = is_running(job) and busy(vertex) >= BUSY
            text = (
                f"{percent(key[1])} of what “{short(vertex.name)}” gets has the key {short(key[0], 40)}: all of it "
                "goes to "
                f"one of its {vertex.parallelism} subtasks, an even share would be {percent(1 / vertex.parallelism)}."
            )
            advice = (
                "More subtasks do not help. Sum up in two steps (first by key and a random number, then by key), or "
                "take "
                "the key out and treat it apart; if it stands for “unknown”, filter it before key_by."
            )
            yield Finding("skewed-key", "warning" if at_limit else "hint", "slow", text, advice, vertex.id)


def heaviest(vertex: VertexDocument) -> tuple[str, float] | None:
    """The key with the largest share, if that is too large."""
    if vertex.parallelism < 2 or not vertex.heavy_keys:
        return None
    top = max(vertex.heavy_keys, key=lambda each: each.share)
    return (top.key, top.share) if top.share >= max(TOO_MUCH, UNEVEN / vertex.parallelism) else None


def busy_subtasks(job: JobDocument) -> Iterator[Finding]:
    """One subtask at its limit while most of the others have little to do, and no key explains it."""
    if not is_running(job):
        return
    for vertex in job.vertices:
        loads = [(each.busy, each.index) for each in vertex.subtasks if each.busy is not None]
        if len(loads) < 2 or heaviest(vertex) is not None:
            continue
        highest, index = max(loads)
        others = typical([load for load, each in loads if each != index])
        if highest >= BUSY and others <= IDLE:
            share = _share(vertex, index)
            got = f" It got {percent(share)} of the input." if share is not None else ""
            text = (
                f"Subtask {index} of “{short(vertex.name)}” works {percent(highest)} of the time, most of the others "
                "only "
                f"{percent(others)}.{got}"
            )
            advice = (
                "If the input is keyed, a few keys have most of the elements; if not, rebalance() before it spreads "
                "them "
                "evenly. A source needs at least as many splits as subtasks."
            )
            yield Finding("busy-subtask", "warning", "slow", text, advice, vertex.id, index)


def _share(vertex: VertexDocument, index: int) -> float | None:
    total = sum(each.records_in for each in vertex.subtasks)
    return next((each.records_in / total for each in vertex.subtasks if each.index == index), None) if total else None
