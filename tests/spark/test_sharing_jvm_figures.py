"""Figures of a real JVM, compared with what the system says of its process."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from millrace.cluster.processes.engine import Measured, task_managers
from millrace.spark.jobs.gateways import jvm_figures

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def process_of(spark: SparkSession) -> Path:
    management = spark.sparkContext._jvm.java.lang.management.ManagementFactory  # type: ignore[union-attr]
    return Path(f"/proc/{management.getRuntimeMXBean().getPid()}")


def cpu_nanos(process: Path) -> int:
    fields = (process / "stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) * 1_000_000_000 // os.sysconf("SC_CLK_TCK")


def test_figures_are_those_of_the_process(spark: SparkSession) -> None:
    process = process_of(spark)
    before = cpu_nanos(process)
    found = jvm_figures(spark.sparkContext)
    after = cpu_nanos(process)
    tick = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
    assert before - 2 * tick <= found["Status.JVM.CPU.Time"] <= after + 2 * tick
    assert 0 <= found["Status.JVM.CPU.Load"] <= 1
    limit = next(line for line in (process / "limits").read_text().splitlines() if line.startswith("Max open files"))
    assert found["Status.JVM.FileDescriptor.Max"] == int(limit.split()[3])
    assert abs(found["Status.JVM.FileDescriptor.Open"] - len(os.listdir(process / "fd"))) < 50
    assert abs(found["Status.JVM.Threads.Count"] - len(os.listdir(process / "task"))) < 100
    assert 0 < found["Status.JVM.Memory.Heap.Used"] <= found["Status.JVM.Memory.Heap.Committed"]
    assert found["Status.JVM.ClassLoader.ClassesLoaded"] > 1000


def test_a_task_manager_has_them(spark: SparkSession) -> None:
    (driver,) = task_managers(spark.sparkContext, Measured(spark.sparkContext, machine=False))
    figures = {metric.name: metric.value for metric in driver.metrics}
    assert float(figures["Status.JVM.CPU.Time"] or 0) > 0
    assert driver.slots == spark.sparkContext.defaultParallelism
