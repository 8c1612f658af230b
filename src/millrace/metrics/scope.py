"""Where a metric belongs, as Flink writes it: ``host.taskmanager.spark.my job.Map.0.my_counter``."""

from __future__ import annotations

import re
from collections.abc import Mapping

__all__ = ["JOB_SCOPE", "OPERATOR_SCOPE", "in_scope"]

JOB_SCOPE = "<host>.jobmanager.<job_name>"
"""Flink's default for ``metrics.scope.jm-job``."""
OPERATOR_SCOPE = "<host>.taskmanager.<tm_id>.<job_name>.<operator_name>.<subtask_index>"
"""Flink's default for ``metrics.scope.operator``."""

_VARIABLE = re.compile(r"<\w+>")


def in_scope(scope: str, variables: Mapping[str, str], path: tuple[str, ...]) -> str:
    """The identifier of a metric: the scope's format with its variables filled in, then the path, joined by dots.

    A variable that has no value stays as it is written, as in Flink.
    """
    filled = _VARIABLE.sub(lambda found: variables.get(found[0], found[0]), scope)
    return ".".join((filled, *path))
