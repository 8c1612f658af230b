"""Versions of a task's state: one for each epoch, and for each run of the task in it.

Spark may run a task twice in one epoch: because its answer got lost, or its output, or since it was slow. Only one run
counts, and the other need not have done the same, so what they leave (files, copies of the task in workers) must not be
taken for one another. A version is a number, which is higher for later epochs.
"""

from __future__ import annotations

from collections.abc import Sequence

INITIAL = 0
"""The version of a task that has seen no epoch; epochs count from 1."""

_RUNS = 1 << 32


def version_of(epoch: int, run: int) -> int:
    """``run`` is the one in which the task has acknowledged the epoch."""
    return epoch * _RUNS + run


def epoch_and_run(version: int) -> tuple[int, int]:
    return divmod(version, _RUNS)


def first_of_epoch(epoch: int) -> int:
    """No version of the epoch is lower, and none of an earlier one is as high."""
    return epoch * _RUNS


def versions_of(history: Sequence[int], runs: Sequence[int]) -> tuple[int, ...]:
    """The versions that make up the state of a task, oldest first: ``INITIAL`` or one with its whole state, then those
    with changes.

    :param history: completed epochs.
    :param runs: those of the task in the last of these epochs; 0 is before all epochs.
    """
    epochs = (INITIAL, *history) if len(runs) > len(history) else history[len(history) - len(runs) :]
    return tuple(map(version_of, epochs, runs))
