"""The rules for findings about a job, and the order of their findings: the most important first.

There are rules on load (a vertex that works at its limit and holds up those before it, work that is spread unevenly),
on checkpoints that fail or take long, on epochs that are mostly overhead, on jobs that fail again and again, on event
time that does not move (no watermark strategy, an idle or late subtask, windows that are still open, late records), and
on records that stop somewhere (sources that read nothing, operators that pass nothing on).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator

from millrace.cluster.documents import FOREVER, ExceptionDocument, JobDocument, SubtaskDocument, VertexDocument
from millrace.cluster.insights.readings import (
    END,
    ENDED,
    Finding,
    backpressured,
    busy,
    downstream,
    duration,
    given_watermark,
    has_watermark,
    is_quiet,
    is_running,
    low_watermark,
    metric_sum,
    millis,
    moment,
    number,
    operators,
    percent,
    plural,
    records_in,
    records_out,
    short,
    typical,
    upstream,
)

# Load: back pressure

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


# Event time, and records that stop

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


# All rules

Rule = Callable[[JobDocument], Iterable[Finding]]

RULES: tuple[Rule, ...] = (
    slow_operator,
    failures,
    watermarks,
    silent_sources,
    everything_filtered,
    heavy_keys,
    busy_subtasks,
    slow_vertices,
    overhead,
    checkpoints,
)
SEVERITIES = ("error", "warning", "hint")


def insights(job: JobDocument) -> list[Finding]:
    """What explains why a job is slow, silent or failing, the worst first; nothing if all is well."""
    found = [finding for rule in RULES for finding in rule(job)]
    return sorted(found, key=lambda finding: SEVERITIES.index(finding.severity))
