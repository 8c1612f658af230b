"""The checkpoints and savepoints of a job."""

from __future__ import annotations

from dataclasses import dataclass, field

FOREVER = 9223372036854775807
"""The interval that Flink shows where there are no checkpoints."""


@dataclass(frozen=True)
class CheckpointConfigDocument:
    """What is configured. Times are ms."""

    mode: str = "exactly_once"
    interval: int = FOREVER
    timeout: int = 600_000
    min_pause: int = 0
    max_concurrent: int = 1
    tolerable_failures: int = 0
    retained_on_cancellation: bool = False
    externalized: bool = False
    state_backend: str = "HashMapStateBackend"
    storage: str = "JobManagerCheckpointStorage"
    unaligned: bool = False
    after_tasks_finish: bool = True


@dataclass(frozen=True)
class TaskCheckpointDocument:
    """What one vertex did for a checkpoint."""

    vertex: str
    subtasks: int
    acknowledged: int
    latest_ack: int
    """ms, -1: none"""
    size: int
    full_size: int
    duration: int
    sizes: tuple[int, ...] = ()
    """new bytes of each subtask"""


@dataclass(frozen=True)
class CheckpointDocument:
    """One checkpoint or savepoint. Times and durations are ms."""

    id: int
    savepoint: bool
    status: str
    """IN_PROGRESS, COMPLETED or FAILED"""
    triggered: int
    latest_ack: int = -1
    duration: int = 0
    """from the beginning of its epoch to its record"""
    size: int = 0
    """bytes written for it"""
    full_size: int = 0
    """bytes of all that it consists of"""
    path: str | None = None
    discarded: bool = False
    ends_job: bool = False
    """whether the job was stopped with this savepoint"""
    failed: int = -1
    failure: str | None = None
    tasks: tuple[TaskCheckpointDocument, ...] = ()


@dataclass(frozen=True)
class RestoredDocument:
    """The checkpoint or savepoint that the job went on from last."""

    id: int
    at: int
    savepoint: bool
    path: str | None


@dataclass(frozen=True)
class CheckpointsDocument:
    """All that is known of a job's checkpoints."""

    config: CheckpointConfigDocument = field(default_factory=CheckpointConfigDocument)
    restored_count: int = 0
    total: int = 0
    in_progress: int = 0
    completed: int = 0
    failed: int = 0
    history: tuple[CheckpointDocument, ...] = ()
    """the newest first"""
    restored: RestoredDocument | None = None
