"""The orders of an epoch for tasks in flow, made of those for stages that run one after the other."""

from __future__ import annotations

from dataclasses import replace

from millrace.runtime.protocol.epoch import EpochPlan, SourceOrder, TaskOrder


def flowing(plan: EpochPlan, aligned: bool) -> EpochPlan:
    """The same epoch in flow: how long it takes is said by its marks, and how much is read by credit.

    :param aligned: it is the first one of a bounded job.
    """
    if aligned:
        return replace(plan, order=replace(plan.order, aligned=True))
    tasks = {task: _unlimited(own) for task, own in plan.tasks.items()}
    return replace(plan, tasks=tasks)


def _unlimited(own: TaskOrder) -> TaskOrder:
    sources = {id: _source(reads) for id, reads in own.sources.items()}
    return replace(own, sources=sources) if sources else own


def _source(reads: SourceOrder) -> SourceOrder:
    # Who is ahead of its alignment group waits for a new limit, not for the next epoch; and who has to wait for slow
    # operators is told so by credit.
    return replace(reads, millis=None, records=None, whole=False, paused=False)
