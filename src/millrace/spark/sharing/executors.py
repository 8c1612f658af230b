"""The executors of a Spark, as its own bookkeeping knows them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark import SparkContext

DRIVER = "driver"


@dataclass(frozen=True)
class Executor:
    """One process that runs tasks. Sizes are bytes, times ms since the epoch."""

    id: str
    host: str
    port: int
    cores: int
    active_tasks: int
    heap_max: int
    heap_used: int
    total_tasks: int
    failed_tasks: int


def executors(context: SparkContext) -> list[Executor]:
    """Those that live. In local mode the driver is the only one; on a cluster it runs no tasks."""
    java: Any = context._jsc.sc()
    found = java.statusStore().executorList(True)
    listed = [_executor(found.apply(at)) for at in range(found.size())]
    others = [each for each in listed if each.id != DRIVER]
    return others or listed


def _executor(summary: Any) -> Executor:
    host, _, port = summary.hostPort().rpartition(":")
    peak = summary.peakMemoryMetrics()
    used = peak.get().getMetricValue("JVMHeapMemory") if peak.isDefined() else 0
    return Executor(
        summary.id(),
        host,
        int(port) if port.isdecimal() else 0,
        summary.totalCores(),
        summary.activeTasks(),
        summary.maxMemory(),
        used,
        summary.totalTasks(),
        summary.failedTasks(),
    )
