"""The checkpoints and savepoints of a job, as documents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from millrace.cluster.documents.checkpoints import (
    CheckpointConfigDocument,
    CheckpointDocument,
    CheckpointsDocument,
    RestoredDocument,
    TaskCheckpointDocument,
)
from millrace.common.state.externalized_checkpoint_retention import ExternalizedCheckpointRetention
from millrace.runtime.coordination.checkpoint_log import CheckpointStats, CheckpointStatus, Pending, TaskBytes
from millrace.runtime.jobs.job import JobGraph
from millrace.runtime.jobs.vertices import Vertex
from millrace.runtime.storage import TaskId
from millrace.spark.jobs.runner import JobRunner

_KEPT = ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION
_PREFIX = "execution.checkpointing."


def checkpoints_document(runner: JobRunner) -> CheckpointsDocument:
    """All that is known of the checkpoints of a job."""
    log = runner.coordinator.log
    counts, pending, restored = log.counts, log.pending, log.last_restored
    history = [
        replace(_document(stats, runner.job), ends_job=stats.path is not None and stats.path == runner.savepoints.last)
        for stats in log.history()
    ]
    if pending is not None:
        history.append(_in_progress(pending))
    return CheckpointsDocument(
        config=_config(runner),
        restored_count=counts.restored,
        total=counts.total,
        in_progress=counts.in_progress,
        completed=counts.completed,
        failed=counts.failed,
        history=tuple(reversed(history)),
        restored=None
        if restored is None
        else RestoredDocument(restored.checkpoint_id, restored.at, restored.savepoint, restored.path),
    )


def _config(runner: JobRunner) -> CheckpointConfigDocument:
    settings, plan = runner.settings, runner.settings.checkpoints
    backend = "HashMapStateBackend" if runner.job.state.in_memory else "EmbeddedRocksDBStateBackend"
    described = settings.described
    if plan is None:
        return CheckpointConfigDocument(state_backend=backend, storage=_storage(described.get(f"{_PREFIX}dir")))
    own = plan.settings
    return CheckpointConfigDocument(
        mode=described.get(f"{_PREFIX}mode", "EXACTLY_ONCE").lower(),
        interval=own.interval,
        timeout=own.timeout,
        min_pause=own.min_pause,
        max_concurrent=int(described.get(f"{_PREFIX}max-concurrent-checkpoints", "1")),
        tolerable_failures=own.tolerable_failures,
        retained_on_cancellation=plan.retention is _KEPT,
        externalized=plan.retention is not ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS,
        state_backend=backend,
        storage=_storage(plan.directory),
        unaligned=described.get(f"{_PREFIX}unaligned.enabled", "false").lower() == "true",
    )


def _storage(directory: object) -> str:
    return "FileSystemCheckpointStorage" if directory else "JobManagerCheckpointStorage"


def _in_progress(pending: Pending) -> CheckpointDocument:
    return CheckpointDocument(pending.epoch, pending.savepoint, "IN_PROGRESS", pending.began)


def _document(stats: CheckpointStats, job: JobGraph) -> CheckpointDocument:
    failed = stats.status is CheckpointStatus.FAILED
    began = stats.trigger_time if stats.began < 0 else stats.began
    return CheckpointDocument(
        id=stats.checkpoint_id,
        savepoint=stats.savepoint,
        status=stats.status.value,
        triggered=began,
        latest_ack=max((task.acknowledged for task in stats.tasks.values()), default=-1),
        duration=stats.end_to_end,
        size=stats.new_bytes,
        full_size=stats.bytes,
        path=stats.path,
        discarded=stats.discarded,
        failed=began + stats.end_to_end if failed else -1,
        failure=stats.cause,
        tasks=tuple(_task(vertex, began, stats.tasks, job.state_vertices) for vertex in job.vertices)
        if stats.tasks
        else (),
    )


def _task(
    vertex: Vertex, began: int, tasks: Mapping[TaskId, TaskBytes], owners: Mapping[TaskId, str]
) -> TaskCheckpointDocument:
    own = []
    for partition in range(vertex.offset, vertex.offset + vertex.parallelism):
        place = (vertex.stage, partition)
        task = tasks.get(place, TaskBytes(0, 0, -1))
        own.append(task if owners.get(place) == vertex.id else TaskBytes(0, 0, task.acknowledged))
    latest = max((task.acknowledged for task in own), default=-1)
    return TaskCheckpointDocument(
        vertex=vertex.id,
        subtasks=vertex.parallelism,
        acknowledged=sum(task.acknowledged >= 0 for task in own),
        latest_ack=latest,
        size=sum(task.new for task in own),
        full_size=sum(task.full for task in own),
        duration=max(latest - began, 0) if latest >= 0 else 0,
        sizes=tuple(task.new for task in own),
    )
