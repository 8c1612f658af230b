"""What the subtasks of a vertex did for a checkpoint."""

from __future__ import annotations

from typing import TypedDict

from millrace.cluster.documents.checkpoints import CheckpointDocument, TaskCheckpointDocument
from millrace.cluster.rest.answers.checkpoints import TaskCheckpointStatistics, task
from millrace.cluster.rest.answers.statistics import NOTHING, Summary, summary

CheckpointDuration = TypedDict("CheckpointDuration", {"sync": int, "async": int})


class CheckpointAlignment(TypedDict):
    """Barriers that wait for each other: there are none here, all is 0."""

    buffered: int
    processed: int
    persisted: int
    duration: int


class _Subtask(TypedDict):
    className: str
    index: int
    status: str


class SubtaskCheckpointStatistics(_Subtask, total=False):
    """One subtask; those that have not acknowledged have no more than their index."""

    ack_timestamp: int
    end_to_end_duration: int
    checkpointed_size: int
    state_size: int
    checkpoint: CheckpointDuration
    alignment: CheckpointAlignment
    start_delay: int
    unaligned_checkpoint: bool
    aborted: bool


DurationSummary = TypedDict("DurationSummary", {"sync": Summary, "async": Summary})


class AlignmentSummary(TypedDict):
    """Barriers that wait for each other: there are none here, all is 0."""

    buffered: Summary
    processed: Summary
    persisted: Summary
    duration: Summary


class TaskSummary(TypedDict):
    """Over the subtasks."""

    checkpointed_size: Summary
    state_size: Summary
    end_to_end_duration: Summary
    checkpoint_duration: DurationSummary
    alignment: AlignmentSummary
    start_delay: Summary


class TaskCheckpointStatisticsWithSubtaskDetails(TaskCheckpointStatistics):
    """A vertex with its subtasks."""

    summary: TaskSummary
    subtasks: list[SubtaskCheckpointStatistics]


def with_subtasks(
    known: CheckpointDocument, of: TaskCheckpointDocument
) -> TaskCheckpointStatisticsWithSubtaskDetails:
    """A vertex with its subtasks. Percentiles are not computed here, neither are they by Flink."""
    count = of.acknowledged
    sizes = [of.sizes[index] if index < len(of.sizes) else of.size // max(1, of.subtasks) for index in range(count)]
    none = summary([0] * count, with_percentiles=False)
    return {
        **task(known, of),
        "summary": {
            "checkpointed_size": summary(sizes, with_percentiles=False),
            "state_size": summary(sizes, with_percentiles=False),
            "end_to_end_duration": summary([of.duration] * count, with_percentiles=False),
            "checkpoint_duration": {"sync": none, "async": summary([of.duration] * count, with_percentiles=False)},
            "alignment": {"buffered": NOTHING, "processed": none, "persisted": none, "duration": none},
            "start_delay": none,
        },
        "subtasks": [_subtask(of, index, sizes) for index in range(of.subtasks)],
    }


def _subtask(of: TaskCheckpointDocument, index: int, sizes: list[int]) -> SubtaskCheckpointStatistics:
    if index >= of.acknowledged:
        return {"className": "pending", "index": index, "status": "pending_or_failed"}
    return {
        "className": "completed",
        "index": index,
        "status": "completed",
        "ack_timestamp": of.latest_ack,
        "end_to_end_duration": of.duration,
        "checkpointed_size": sizes[index],
        "state_size": sizes[index],
        "checkpoint": {"sync": 0, "async": of.duration},
        "alignment": {"buffered": 0, "processed": 0, "persisted": 0, "duration": 0},
        "start_delay": 0,
        "unaligned_checkpoint": False,
        "aborted": False,
    }
