"""How far Spark has come with the stages of a query."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark import SparkContext


@dataclass(frozen=True)
class StageCount:
    """A stage of Spark that has begun, and its tasks."""

    id: int
    name: str
    tasks: int
    active: int
    done: int


def stages_of(context: SparkContext, group: str) -> list[StageCount]:
    """The stages of all jobs of a group that Spark still remembers, in the order in which they were made."""
    tracker = context.statusTracker()
    found: dict[int, StageCount] = {}
    for job in tracker.getJobIdsForGroup(group):
        info = tracker.getJobInfo(job)
        for stage in () if info is None else info.stageIds:
            told = tracker.getStageInfo(stage)
            if told is not None:
                done = min(told.numCompletedTasks, told.numTasks)
                active = min(told.numActiveTasks, told.numTasks - done)
                found[stage] = StageCount(stage, told.name, told.numTasks, active, done)
    return [found[stage] for stage in sorted(found)]
