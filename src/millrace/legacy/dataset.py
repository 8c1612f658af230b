"""``pyflink.dataset``: the environment of batch programs, which had settings only in PyFlink."""

from __future__ import annotations

from millrace.common.execution_config import ExecutionConfig
from millrace.common.jobs import JobExecutionResult
from millrace.datastream import StreamExecutionEnvironment
from millrace.legacy.warning import tell

__all__ = ["ExecutionEnvironment"]

__path__: list[str] = []
"""An empty path makes this module a package: it also is ``pyflink.dataset.execution_environment``."""


class ExecutionEnvironment:
    """The context of a batch program; its tables are made by ``BatchTableEnvironment.create(env)``."""

    def __init__(self) -> None:
        self._streams = StreamExecutionEnvironment()

    @staticmethod
    def get_execution_environment() -> ExecutionEnvironment:
        tell("ExecutionEnvironment", "TableEnvironment.create(EnvironmentSettings.in_batch_mode())")
        return ExecutionEnvironment()

    def give_settings(self, streams: StreamExecutionEnvironment) -> None:
        """Copy this environment's settings to the environment that runs the program; both share them from now on."""
        streams._configuration.add_all(self._streams._configuration)
        self._streams = streams

    def get_config(self) -> ExecutionConfig:
        return self._streams.get_config()

    def get_parallelism(self) -> int:
        return self._streams.get_parallelism()

    def set_parallelism(self, parallelism: int) -> None:
        self._streams.set_parallelism(parallelism)

    def get_default_local_parallelism(self) -> int:
        return self._streams.get_default_local_parallelism()

    def set_default_local_parallelism(self, parallelism: int) -> None:
        self._streams.set_default_local_parallelism(parallelism)

    def register_cached_file(self, file_path: str, name: str, executable: bool = False) -> None:
        self._streams.register_cached_file(file_path, name, executable)

    def get_execution_plan(self) -> str:
        return self._streams.get_execution_plan()

    def execute(self, job_name: str | None = None) -> JobExecutionResult:
        return self._streams.execute(job_name)
