"""Executors of Spark as Flink's task managers."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping
from typing import Any

from millrace.cluster.documents.cluster import TaskManagerDocument
from millrace.cluster.documents.numbers import MetricDocument
from millrace.metrics.system import Machine

FRESH_SECONDS = 1.0


class Measured:
    """What a driver measures of its JVM and machine, for the task manager that lives in it.

    :param context: its ``SparkContext``.
    :param machine: whether the machine is measured (``metrics.system-resource``).
    """

    def __init__(self, context: Any, machine: bool) -> None:
        self._context = context
        self._machine = Machine() if machine else None
        self._lock = threading.Lock()
        self._figures: Mapping[str, float] = {}
        self._until = 0.0

    def figures(self) -> Mapping[str, float]:
        """As they are now; they serve for a second."""
        from millrace.spark.sharing.jvm_figures import jvm_figures

        with self._lock:
            if time.monotonic() > self._until:
                machine = {} if self._machine is None else self._machine.read()
                self._figures = {**jvm_figures(self._context), **machine}
                self._until = time.monotonic() + FRESH_SECONDS
            return self._figures


def task_managers(context: Any, measured: Measured | None = None) -> list[TaskManagerDocument]:
    """Those of a Spark, by its ``SparkContext``, as they are now.

    :param measured: of this driver. Executors of their own are known by what Spark keeps of them.
    """
    from millrace.spark.sharing.executors import DRIVER, executors

    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    now = time.time_ns() // 1_000_000
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
                *(
                    MetricDocument(name, value)
                    for name, value in (measured.figures() if measured and each.id == DRIVER else {}).items()
                ),
            ),
        )
        for each in executors(context)
    ]
