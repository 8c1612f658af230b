"""A program that is stopped with a savepoint, planned anew, and goes on from there."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

from tests.checkpoint.jobs import SavedJob
from tests.table.programs.running import SECOND, Bound, Change, changes_in, job_of

from millrace.runtime.operators.job_graph import JobGraph

Finish = Callable[[], bool]


def restored(
    made: Bound, again: Bound, draw: random.Random, directory: Path, finish: Finish | None = None
) -> list[list[Change]]:
    """The changes of the result, for each epoch of both lives.

    :param again: the same program, made for the second life, which may have another parallelism.
    :param finish: is asked between any two pieces whether the epoch is to end.
    """
    savepoint = directory / "savepoint"
    parallelism = draw.randint(1, 3)
    first = _begun(job_of(made, draw, parallelism), directory / "first", finish)
    epochs: list[list[Change]] = []
    for _ in range(draw.randint(0, 3)):
        if not first.coordinator.finished:
            epochs.append(_epoch(made, first))
    if first.coordinator.finished:  # too late for a savepoint: another one, after the first epoch
        first = _begun(job_of(made, draw, parallelism), directory / "another", finish)
        epochs = []
    epochs.append(_epoch(made, first, savepoint))
    job = job_of(again, draw, draw.choice([1, 2, 3]))
    second = SavedJob(job, directory / "second", workers=1, finish=finish)
    second.now = first.now
    second.restore(str(savepoint))
    while not second.coordinator.finished:
        epochs.append(_epoch(again, second))
    return epochs


def _begun(job: JobGraph, directory: Path, finish: Finish | None) -> SavedJob:
    saved = SavedJob(job, directory, workers=1, finish=finish)
    saved.now = -SECOND  # the first epoch is at 0
    return saved


def _epoch(made: Bound, job: SavedJob, savepoint: Path | None = None) -> list[Change]:
    job.now += SECOND - 1  # and 1 ms that it adds
    known = len(job.collected)
    job.epoch(savepoint)
    return changes_in(job.collected[known:], made.plan.schema)
