"""Executors of Spark as Flink's task managers."""

from __future__ import annotations

import os
import socket
import time
from typing import Any

from millrace.cluster.documents.cluster import TaskManagerDocument
from millrace.cluster.documents.numbers import MetricDocument
from millrace.cluster.processes.machine import Machine


def task_managers(context: Any, machine: Machine | None = None) -> list[TaskManagerDocument]:
    """Those of a Spark, by its ``SparkContext``, as they are now.

    :param machine: measures this machine; executors of others tell nothing of theirs.
    """
    from millrace.spark.sharing.executors import executors

    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    now = time.time_ns() // 1_000_000
    measured = () if machine is None else machine.metrics()
    return [
        TaskManagerDocument(
            each.id,
            each.host,
            each.port,
            each.cores,
            max(each.cores - each.active_tasks, 0),
            now,
            each.cores,
            memory,
            max(each.heap_max - each.heap_used, 0),
            each.heap_max,
            each.heap_used,
            tasks=each.active_tasks,
            metrics=(
                MetricDocument("totalTasks", each.total_tasks, "counter"),
                MetricDocument("failedTasks", each.failed_tasks, "counter"),
                *(measured if _is_here(each.host) else ()),
            ),
        )
        for each in executors(context)
    ]


def _is_here(host: str) -> bool:
    """Whether an executor is on this machine."""
    return host in ("localhost", "127.0.0.1", socket.gethostname(), socket.getfqdn())
