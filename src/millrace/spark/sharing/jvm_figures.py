"""What a JVM tells of itself, under Flink's names: that of this driver, which in local mode runs the tasks, too."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark import SparkContext

_INVALID = re.compile(r"[ .:,]")
_SYSTEM = {
    "Status.JVM.CPU.Load": ("OperatingSystemMXBean", "getProcessCpuLoad"),
    "Status.JVM.CPU.Time": ("OperatingSystemMXBean", "getProcessCpuTime"),
    "Status.JVM.FileDescriptor.Open": ("UnixOperatingSystemMXBean", "getOpenFileDescriptorCount"),
    "Status.JVM.FileDescriptor.Max": ("UnixOperatingSystemMXBean", "getMaxFileDescriptorCount"),
}
"""Figures of the process -> the interface of the bean that has them, in ``com.sun.management``, and its method."""


def jvm_figures(context: SparkContext) -> dict[str, float]:
    """Its processors' time, memory, threads, classes, files and garbage collectors, from its management beans."""
    beans: Any = context._jvm.java.lang.management.ManagementFactory
    classes = beans.getClassLoadingMXBean()
    found: dict[str, float] = {
        **_of_process(context._jvm, beans.getOperatingSystemMXBean()),
        "Status.JVM.Threads.Count": beans.getThreadMXBean().getThreadCount(),
        "Status.JVM.ClassLoader.ClassesLoaded": classes.getTotalLoadedClassCount(),
        "Status.JVM.ClassLoader.ClassesUnloaded": classes.getUnloadedClassCount(),
    }
    memory = beans.getMemoryMXBean()
    _usage(found, "Heap", memory.getHeapMemoryUsage())
    _usage(found, "NonHeap", memory.getNonHeapMemoryUsage())
    for pool in beans.getMemoryPoolMXBeans():
        if pool.getName() == "Metaspace":
            _usage(found, "Metaspace", pool.getUsage())
    _collectors(found, beans)
    return found


def _of_process(jvm: Any, bean: Any) -> dict[str, float]:
    """Asked through the public interfaces: py4j finds no method of the bean's own class, whose module keeps it to
    itself."""
    found = {}
    for figure, (interface, method) in _SYSTEM.items():
        declared = jvm.java.lang.Class.forName(f"com.sun.management.{interface}")
        if declared.isInstance(bean):  # files are counted on Unix only
            found[figure] = declared.getMethod(method, None).invoke(bean, None)
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
