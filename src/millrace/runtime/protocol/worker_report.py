"""What the process that a task ran in says about itself."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class WorkerReport:
    """One process at the end of a run."""

    host: str
    executor: str
    """id of Spark's executor that it belongs to"""
    pid: int
    memory: int = -1
    """bytes that it holds; -1: not known"""
    cpu_ms: int = -1
    """processor time since it began; -1: not known"""
