"""Versions of a task's state: one for each epoch that changed it, and for each run of the task in that epoch.

Spark may run a task twice in one epoch: because its answer got lost, or its output, or since it was slow. Only one run
counts, and the other need not have done the same, so what they leave (files, copies of the task in processes) must not
be taken for one another. A version is a number, which is higher for later epochs.
"""

from __future__ import annotations

from dataclasses import dataclass

INITIAL = 0
"""The version of a task that has seen no epoch; epochs count from 1."""

REACH = 32
"""So many versions before it does each version name."""

_RUNS = 1 << 32


def version_of(epoch: int, run: int) -> int:
    """``run`` is the one in which the task has acknowledged the epoch."""
    return epoch * _RUNS + run


def epoch_and_run(version: int) -> tuple[int, int]:
    return divmod(version, _RUNS)


def first_of_epoch(epoch: int) -> int:
    """No version of the epoch is lower, and none of an earlier one is as high."""
    return epoch * _RUNS


@dataclass(frozen=True)
class Past:
    """Versions of a task that make up its state, oldest first: each is changes onto the one before it."""

    versions: tuple[int, ...]
    begins: bool
    """whether the first of them is ``INITIAL`` or one with the whole state; else there are others before it"""

    def then(self, version: int) -> Past:
        """With another version; what is out of ``REACH`` of the next one is left out."""
        versions = (*self.versions, version)
        return Past(versions[-REACH:], self.begins and len(versions) <= REACH)

    def after(self, earlier: Past) -> Past:
        """With the versions before its first one in front."""
        return Past((*earlier.versions, *self.versions), earlier.begins)


NO_PAST = Past((INITIAL,), True)
"""That of a task without any state yet."""


def whole_at(version: int) -> Past:
    """The past of a task whose whole state has just been written."""
    return Past((version,), True)
