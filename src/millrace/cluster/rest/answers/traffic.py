"""What has gone through a vertex or subtask, and what its time was spent on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypedDict

from millrace.cluster.documents.vertices import SubtaskDocument
from millrace.cluster.rest.answers.statistics import Number, Spread, number, spread

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
    """The sums over some subtasks. They are complete once each of them has begun to report."""
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
    """State -> how long the subtask was in it, -1 if it never was."""
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
