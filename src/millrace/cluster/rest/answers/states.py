"""States of jobs, vertices and subtasks, and how many there are of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from millrace.cluster.documents.job import JobDocument
from millrace.cluster.documents.vertices import SubtaskDocument, VertexDocument

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
    """State -> how many, with zeros."""
    counts = Counter(states)
    return {state: counts[state] for state in EXECUTION_STATES}


def subtask_states(vertex: VertexDocument) -> list[str]:
    """One for each subtask; those that nothing is known of are only created."""
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
    """When the first of them was started; -1: none was."""
    return min((each.started for each in subtasks if each.started >= 0), default=-1)


def ended(subtasks: Iterable[SubtaskDocument]) -> int:
    """When the last of them ended; -1: not all have."""
    ends = [each.ended for each in subtasks]
    return max(ends) if ends and min(ends) >= 0 else -1


def duration(began: int, ended: int, now: int) -> int:
    """From a beginning to an end or until now; -1: nothing has begun."""
    return -1 if began < 0 else max(0, (ended if ended >= 0 else now) - began)
