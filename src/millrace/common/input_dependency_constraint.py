"""``InputDependencyConstraint``, a setting of Flink without effect here: when a task may be scheduled, by its
inputs."""

from __future__ import annotations

import enum

__all__ = ["InputDependencyConstraint"]


class InputDependencyConstraint(enum.Enum):
    """Accepted for programs that use it: Spark schedules a stage when all its inputs are there.

    >>> InputDependencyConstraint.ALL.name
    'ALL'
    """

    ANY = 0
    ALL = 1
