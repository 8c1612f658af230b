"""Options of Flink as Java names them: ``key()`` and ``defaultValue()`` are methods there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["DeploymentOptions", "ExecutionOptions", "JavaOption", "PythonOptions", "TableConfigOptions"]


@dataclass(frozen=True)
class JavaOption:
    """An option by its key."""

    name: str
    default: Any = None

    def key(self) -> str:
        return self.name

    def defaultValue(self) -> Any:
        return self.default

    def hasDefaultValue(self) -> bool:
        return self.default is not None


class DeploymentOptions:
    """Where programs run."""

    TARGET = JavaOption("execution.target")


class ExecutionOptions:
    """How programs run."""

    RUNTIME_MODE = JavaOption("execution.runtime-mode", "STREAMING")


class PythonOptions:
    """What Python functions need."""

    PYTHON_ARCHIVES = JavaOption("python.archives")
    PYTHON_CLIENT_EXECUTABLE = JavaOption("python.client.executable", "python")
    PYTHON_EXECUTABLE = JavaOption("python.executable", "python")
    PYTHON_FILES = JavaOption("python.files")
    PYTHON_REQUIREMENTS = JavaOption("python.requirements")


class TableConfigOptions:
    """Names that a session begins with."""

    TABLE_CATALOG_NAME = JavaOption("table.builtin-catalog-name", "default_catalog")
    TABLE_DATABASE_NAME = JavaOption("table.builtin-database-name", "default_database")
