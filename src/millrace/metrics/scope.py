"""Where a metric belongs, as Flink writes it: ``host.taskmanager.spark.my job.Map.0.my_counter``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["JOB_SCOPE", "OPERATOR_SCOPE", "TASK_SCOPE", "ScopeFormats", "in_scope"]

JOB_MANAGER_SCOPE = "<host>.jobmanager"
"""Flink's default for ``metrics.scope.jm``."""
JOB_SCOPE = f"{JOB_MANAGER_SCOPE}.<job_name>"
"""Flink's default for ``metrics.scope.jm-job``."""
TASK_MANAGER_SCOPE = "<host>.taskmanager.<tm_id>"
"""Flink's default for ``metrics.scope.tm``."""
TASK_MANAGER_JOB_SCOPE = f"{TASK_MANAGER_SCOPE}.<job_name>"
"""Flink's default for ``metrics.scope.tm-job``."""
TASK_SCOPE = f"{TASK_MANAGER_JOB_SCOPE}.<task_name>.<subtask_index>"
"""Flink's default for ``metrics.scope.task``."""
OPERATOR_SCOPE = f"{TASK_MANAGER_JOB_SCOPE}.<operator_name>.<subtask_index>"
"""Flink's default for ``metrics.scope.operator``."""

_VARIABLE = re.compile(r"<\w+>")


def in_scope(scope: str, variables: Mapping[str, str], path: tuple[str, ...], delimiter: str = ".") -> str:
    """The identifier of a metric: the scope's format with its variables filled in, then the path, joined by dots.

    A variable that has no value stays as it is written, as in Flink.

    :param delimiter: stands between the parts in the place of the dots.
    """
    parts = scope.split(".") if delimiter != "." else [scope]
    filled = [_VARIABLE.sub(lambda found: variables.get(found[0], found[0]), part) for part in parts]
    return delimiter.join((*filled, *path))


@dataclass(frozen=True)
class ScopeFormats:
    """How the identifiers of a configuration's metrics begin (``metrics.scope.*``)."""

    job: str = JOB_SCOPE
    task: str = TASK_SCOPE
    operator: str = OPERATOR_SCOPE
    delimiter: str = "."

    @staticmethod
    def of(configuration: Mapping[str, str]) -> ScopeFormats:
        """Those of a configuration. A format that begins with ``*.`` goes on from the one above it, as in Flink."""

        def format(name: str, default: str, above: str) -> str:
            text = configuration.get(f"metrics.scope.{name}", default)
            return f"{above}{text[1:]}" if text == "*" or text.startswith("*.") else text

        job_manager = format("jm", JOB_MANAGER_SCOPE, "")
        task_manager = format("tm", TASK_MANAGER_SCOPE, "")
        in_task_manager = format("tm-job", TASK_MANAGER_JOB_SCOPE, task_manager)
        task = format("task", TASK_SCOPE, in_task_manager)
        return ScopeFormats(
            format("jm-job", JOB_SCOPE, job_manager),
            task,
            format("operator", OPERATOR_SCOPE, task),
            configuration.get("metrics.scope.delimiter", "."),
        )
