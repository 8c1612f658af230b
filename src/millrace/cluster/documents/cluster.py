"""The machines under the jobs: executors as task managers, the driver as job manager."""

from __future__ import annotations

from dataclasses import dataclass

from millrace.cluster.documents.numbers import MetricDocument


@dataclass(frozen=True)
class TaskManagerDocument:
    """One executor of Spark."""

    id: str
    host: str
    port: int
    slots: int
    free_slots: int
    last_heartbeat: int
    """ms since the epoch"""
    cores: int
    physical_memory: int
    """bytes"""
    free_memory: int
    """bytes of the JVM's heap"""
    heap_max: int
    heap_used: int
    worker_memory: int = 0
    """bytes of the Python processes on it"""
    tasks: int = 0
    log_file: str | None = None
    metrics: tuple[MetricDocument, ...] = ()


@dataclass(frozen=True)
class LogDocument:
    """A log file that can be read."""

    name: str
    size: int
    modified: int
    """ms"""


@dataclass(frozen=True)
class ProgramDocument:
    """An uploaded program: a Python file, or an archive with one."""

    id: str
    """``<uuid>_<name>``, as Flink's ids of jars"""
    name: str
    uploaded: int
    entry: str | None
    """file or module that is run, if the program itself says which"""
