"""When a task may be scheduled, depending on its inputs: a setting of Flink without effect here."""

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
