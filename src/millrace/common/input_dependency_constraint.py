"""When a task may be scheduled, seen from its inputs."""

from __future__ import annotations

import enum

__all__ = ["InputDependencyConstraint"]


class InputDependencyConstraint(enum.Enum):
    """Kept for programs that name it: Spark schedules a stage when all its inputs are there.

    >>> InputDependencyConstraint.ALL.name
    'ALL'
    """

    ANY = 0
    ALL = 1
