"""What a JVM tells of itself, under Flink's names: that of this driver, which in local mode runs the tasks, too."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark import SparkContext

_INVALID = re.compile(r"[ .:,]")


def jvm_figures(context: SparkContext) -> dict[str, float]:
    """Its processors' time, memory, threads, classes, files and garbage collectors, from its management beans."""
    beans: Any = context._jvm.java.lang.management.ManagementFactory
    system, classes = beans.getOperatingSystemMXBean(), beans.getClassLoadingMXBean()
    found: dict[str, float] = {
        "Status.JVM.CPU.Load": system.getProcessCpuLoad(),
        "Status.JVM.CPU.Time": system.getProcessCpuTime(),
        "Status.JVM.Threads.Count": beans.getThreadMXBean().getThreadCount(),
        "Status.JVM.ClassLoader.ClassesLoaded": classes.getTotalLoadedClassCount(),
        "Status.JVM.ClassLoader.ClassesUnloaded": classes.getUnloadedClassCount(),
        "Status.JVM.FileDescriptor.Open": system.getOpenFileDescriptorCount(),
        "Status.JVM.FileDescriptor.Max": system.getMaxFileDescriptorCount(),
    }
    memory = beans.getMemoryMXBean()
    _usage(found, "Heap", memory.getHeapMemoryUsage())
    _usage(found, "NonHeap", memory.getNonHeapMemoryUsage())
    for pool in beans.getMemoryPoolMXBeans():
        if pool.getName() == "Metaspace":
            _usage(found, "Metaspace", pool.getUsage())
    _collectors(found, beans)
    return found


def _usage(found: dict[str, float], name: str, usage: Any) -> None:
    found[f"Status.JVM.Memory.{name}.Used"] = usage.getUsed()
    found[f"Status.JVM.Memory.{name}.Committed"] = usage.getCommitted()
    found[f"Status.JVM.Memory.{name}.Max"] = usage.getMax()


def _collectors(found: dict[str, float], beans: Any) -> None:
    count = time = 0
    for collector in beans.getGarbageCollectorMXBeans():
        name = f"Status.JVM.GarbageCollector.{_INVALID.sub('_', collector.getName())}"
        collections, millis = collector.getCollectionCount(), collector.getCollectionTime()
        found[f"{name}.Count"], found[f"{name}.Time"] = collections, millis
        count, time = count + collections, time + millis
    found["Status.JVM.GarbageCollector.All.Count"], found["Status.JVM.GarbageCollector.All.Time"] = count, time
