"""States and numbers of jobs, vertices and subtasks, counted and computed as Flink does; several families of answers
use them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypedDict

from millrace.cluster.documents import JobDocument, SubtaskDocument, VertexDocument

# States

EXECUTION_STATES = (
    "FAILED", "DEPLOYING", "CREATED", "CANCELING", "SCHEDULED", "FINISHED", "INITIALIZING", "RUNNING", "CANCELED",
    "RECONCILING",
)  # fmt: skip
JOB_STATES = (
    "RESTARTING", "INITIALIZING", "CREATED", "FINISHED", "RUNNING", "FAILING", "SUSPENDED", "CANCELLING", "CANCELED",
    "FAILED", "RECONCILING",
)  # fmt: skip
ENDED = frozenset({"FINISHED", "CANCELED", "FAILED"})
UNASSIGNED = "(unassigned)"


def count_states(states: Iterable[str]) -> dict[str, int]:
    """Number of subtasks by state, zeros included."""
    counts = Counter(states)
    return {state: counts[state] for state in EXECUTION_STATES}


def subtask_states(vertex: VertexDocument) -> list[str]:
    """The state of each subtask; subtasks without any report are CREATED."""
    known = [each.state for each in vertex.subtasks]
    return known + ["CREATED"] * (vertex.parallelism - len(known))


def vertex_state(vertex: VertexDocument) -> str:
    """The state of a vertex, from those of its subtasks."""
    states = subtask_states(vertex)
    for state in ("FAILED", "CANCELING", "CANCELED", "INITIALIZING", "RUNNING"):
        if state in states:
            return state
    if "FINISHED" in states:
        return "FINISHED" if all(state == "FINISHED" for state in states) else "RUNNING"
    return "CREATED"


def task_counts(job: JobDocument) -> dict[str, int]:
    """State in small letters, and ``total`` -> subtasks of the whole job."""
    states = [state for vertex in job.vertices for state in subtask_states(vertex)]
    counts = {state.lower(): count for state, count in count_states(states).items()}
    return {**counts, "total": len(states)}


def began(subtasks: Iterable[SubtaskDocument]) -> int:
    """Start of the first started subtask (ms); -1: none has started."""
    return min((each.started for each in subtasks if each.started >= 0), default=-1)


def ended(subtasks: Iterable[SubtaskDocument]) -> int:
    """End of the last subtask (ms); -1: some have not ended."""
    ends = [each.ended for each in subtasks]
    return max(ends) if ends and min(ends) >= 0 else -1


def duration(began: int, ended: int, now: int) -> int:
    """Time from a start to an end or until now (ms); -1: not started."""
    return -1 if began < 0 else max(0, (ended if ended >= 0 else now) - began)


# Statistics over a few numbers

Number = float | str
"""a number, or the text NaN, which JSON's numbers lack"""


def number(value: float | None) -> Number:
    return "NaN" if value is None or value != value else float(value)


def percentile(ordered: Sequence[float], percent: float) -> float | None:
    """The percentile of sorted numbers, interpolated; None if there are no numbers."""
    if not ordered:
        return None
    place = percent * (len(ordered) + 1) / 100
    below = int(place)
    if below < 1:
        return ordered[0]
    if below >= len(ordered):
        return ordered[-1]
    return ordered[below - 1] + (place - below) * (ordered[below] - ordered[below - 1])


class Spread(TypedDict):
    """Of the subtasks of a vertex."""

    min: int
    max: int
    avg: int
    sum: int
    median: int
    p25: int
    p75: int
    p95: int


def spread(values: Sequence[float]) -> Spread:
    ordered = sorted(values)

    def at(percent: float) -> int:
        return int(percentile(ordered, percent) or 0)

    return {
        "min": int(ordered[0]) if ordered else 0,
        "max": int(ordered[-1]) if ordered else 0,
        "avg": int(sum(ordered) / len(ordered)) if ordered else 0,
        "sum": int(sum(ordered)),
        "median": at(50),
        "p25": at(25),
        "p75": at(75),
        "p95": at(95),
    }


class Summary(TypedDict):
    """Of several checkpoints."""

    min: int
    max: int
    avg: int
    p50: Number
    p90: Number
    p95: Number
    p99: Number
    p999: Number


def summary(values: Sequence[float], with_percentiles: bool = True) -> Summary:
    ordered = sorted(values)

    def at(percent: float) -> Number:
        return number(percentile(ordered, percent) if with_percentiles else None)

    return {
        "min": int(ordered[0]) if ordered else 0,
        "max": int(ordered[-1]) if ordered else 0,
        "avg": int(sum(ordered) / len(ordered)) if ordered else 0,
        "p50": at(50),
        "p90": at(90),
        "p95": at(95),
        "p99": at(99),
        "p999": at(99.9),
    }


NOTHING: Summary = {"min": 0, "max": 0, "avg": 0, "p50": 0.0, "p90": 0.0, "p95": 0.0, "p99": 0.0, "p999": 0.0}
"""Summary of values that Millrace does not have: buffers of aligned barriers"""


# Records, bytes and times

Traffic = TypedDict(
    "Traffic",
    {
        "read-bytes": int,
        "read-bytes-complete": bool,
        "write-bytes": int,
        "write-bytes-complete": bool,
        "read-records": int,
        "read-records-complete": bool,
        "write-records": int,
        "write-records-complete": bool,
        "accumulated-backpressured-time": int,
        "accumulated-idle-time": int,
        "accumulated-busy-time": Number,
    },
)

Aggregated = TypedDict("Aggregated", {"metrics": dict[str, Spread], "status-duration": dict[str, Spread]})

COUNTS: Mapping[str, Callable[[SubtaskDocument], float]] = {
    "read-bytes": lambda each: each.bytes_in,
    "write-bytes": lambda each: each.bytes_out,
    "read-records": lambda each: each.records_in,
    "write-records": lambda each: each.records_out,
    "accumulated-backpressured-time": lambda each: each.backpressured_ms,
    "accumulated-idle-time": lambda each: each.idle_ms,
    "accumulated-busy-time": lambda each: each.busy_ms,
}
_BEFORE_END = ("CREATED", "SCHEDULED", "DEPLOYING", "INITIALIZING", "RUNNING")


def traffic(subtasks: Sequence[SubtaskDocument]) -> Traffic:
    """Sums over subtasks. They are marked complete once each subtask has reported."""
    complete = bool(subtasks) and all(each.started >= 0 for each in subtasks)
    return {
        "read-bytes": sum(each.bytes_in for each in subtasks),
        "read-bytes-complete": complete,
        "write-bytes": sum(each.bytes_out for each in subtasks),
        "write-bytes-complete": complete,
        "read-records": sum(each.records_in for each in subtasks),
        "read-records-complete": complete,
        "write-records": sum(each.records_out for each in subtasks),
        "write-records-complete": complete,
        "accumulated-backpressured-time": int(sum(each.backpressured_ms for each in subtasks)),
        "accumulated-idle-time": int(sum(each.idle_ms for each in subtasks)),
        "accumulated-busy-time": number(sum(each.busy_ms for each in subtasks)),
    }


def state_durations(subtask: SubtaskDocument, now: int) -> dict[str, int]:
    """Time that a subtask spent in each state (ms); -1 if it never was in that state."""
    moments = sorted(subtask.states.values())
    durations = {}
    for state in _BEFORE_END:
        since = subtask.states.get(state)
        if since is None:
            durations[state] = -1
            continue
        later = [moment for moment in moments if moment > since]
        durations[state] = max(0, (later[0] if later else now) - since)
    return durations


def aggregated(subtasks: Sequence[SubtaskDocument], now: int) -> Aggregated:
    """Statistics over some subtasks."""
    durations = [state_durations(each, now) for each in subtasks]
    return {
        "metrics": {name: spread([of(each) for each in subtasks]) for name, of in COUNTS.items()},
        "status-duration": {state: spread([each[state] for each in durations]) for state in _BEFORE_END},
    }
