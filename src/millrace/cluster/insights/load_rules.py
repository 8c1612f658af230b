"""Rules on load: a vertex that works at its limit and holds up those before it, and work that is spread unevenly."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from millrace.cluster.documents import JobDocument, VertexDocument
from millrace.cluster.insights.readings import (
    Finding,
    backpressured,
    busy,
    downstream,
    is_running,
    millis,
    percent,
    short,
    typical,
)

# Back pressure

HELD_UP = 0.5
AT_LIMIT = 0.8
FULL = 0.95


def slow_operator(job: JobDocument) -> Iterator[Finding]:
    """Find the operator that takes most of the time while records wait."""
    slow = job.slow
    if slow is None or not is_running(job):
        return
    vertex = next((each for each in job.vertices if each.id == slow.vertex), None)
    yield Finding(
        "slow-operator",
        "warning",
        "slow",
        f"“{short(slow.operator)}” takes {millis(slow.millis)} a record, {percent(slow.share)} of the time of this "
        "job, and records wait for it.",
        "Look at its flame graph for what takes the time, "
        + (f"give it more than {vertex.parallelism} subtasks, " if vertex is not None else "")
        + "or let it wait for several records at once (AsyncDataStream).",
        slow.vertex,
    )


def slow_vertices(job: JobDocument) -> Iterator[Finding]:
    """Find bottlenecks: each vertex that holds up others, with these; and vertices at their limit that hold up none."""
    if not is_running(job):
        return
    waiting: dict[str, list[VertexDocument]] = defaultdict(list)
    unexplained = []
    for vertex in job.vertices:
        if backpressured(vertex) >= HELD_UP:
            culprit = cause(job, vertex)
            if culprit is None:
                unexplained.append(vertex)
            else:
                waiting[culprit.id].append(vertex)
    for vertex in job.vertices:
        if vertex.id in waiting:
            yield _bottleneck(job, vertex, waiting[vertex.id])
    full = [each for each in job.vertices if busy(each) >= FULL and each.id not in waiting]
    if full:
        yield _at_limit(sorted(full, key=busy, reverse=True))
    yield from map(_unexplained, unexplained)


def cause(job: JobDocument, vertex: VertexDocument) -> VertexDocument | None:
    """The busiest vertex downstream that is at its limit. The search passes through vertices that are held up
    themselves."""
    seen = {vertex.id}
    front = [vertex]
    found: list[VertexDocument] = []
    while front:
        following = [each for one in front for each in downstream(job, one) if each.id not in seen]
        seen.update(each.id for each in following)
        found += [each for each in following if busy(each) >= AT_LIMIT and backpressured(each) < HELD_UP]
        front = [each for each in following if backpressured(each) >= HELD_UP]
    return max(found, key=busy, default=None)


def _bottleneck(job: JobDocument, vertex: VertexDocument, waiting: list[VertexDocument]) -> Finding:
    worst = max(waiting, key=backpressured)
    rest = f" and {len(waiting) - 1} more" if len(waiting) > 1 else ""
    sink = not downstream(job, vertex)
    text = (
        f"“{short(vertex.name)}” works {percent(busy(vertex))} of the time and cannot keep up: "
        f"“{short(worst.name)}”{rest} "
        f"{'wait' if rest else 'waits'} for it, up to {percent(backpressured(worst))} of the time."
    )
    if sink:
        advice = (
            "It writes out what the job makes: see whether the system it writes to is slow, let it write larger "
            f"batches, or give it more than {vertex.parallelism} subtasks."
        )
    else:
        advice = f"Look at its flame graph for what takes the time, or give it more than {vertex.parallelism} subtasks."
    return Finding("slow-sink" if sink else "bottleneck", "warning", "slow", text, advice, vertex.id)


def _at_limit(vertices: list[VertexDocument]) -> Finding:
    vertex, *others = vertices
    text = f"“{short(vertex.name)}” works {percent(busy(vertex))} of the time"
    if others:
        named = ", ".join(f"“{short(each.name, 30)}”" for each in others[:3])
        more = f" and {len(others) - 3} more" if len(others) > 3 else ""
        text += f", and so nearly do {named}{more}: they limit the speed of this job."
    else:
        text += ": it limits the speed of this job."
    advice = f"Look at its flame graph for what takes the time, or give it more than {vertex.parallelism} subtasks."
    return Finding("at-limit", "hint", "slow", text, advice, vertex.id)


def _unexplained(vertex: VertexDocument) -> Finding:
    text = (
        f"“{short(vertex.name)}” is held up {percent(backpressured(vertex))} of the time, but none of the vertices "
        "after "
        "it is at its limit."
    )
    advice = (
        "Shipping itself may be slow (large records, few executors), or epochs spend their time elsewhere: see "
        "Timeline."
    )
    return Finding("held-up", "hint", "slow", text, advice, vertex.id)


# Skew

TOO_MUCH = 0.2
"""Smallest share of the input for which a heavy key is reported."""
UNEVEN = 1.5
"""How many times the fair share of a subtask a heavy key must have."""
BUSY = 0.8
IDLE = 0.3


def heavy_keys(job: JobDocument) -> Iterator[Finding]:
    """Find keys with so large a share of the input that their subtask has more work than the others can take over."""
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
    """Find a subtask at its limit while most others are idle, where no heavy key explains it."""
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
