"""One Spark for several processes: its owner opens a gateway for each, and a process attaches to its own.

A gateway is Spark's own ``Py4JServer`` in the owner's JVM, so every process has its connections, its threads and its
secret for itself. When a process has ended, however it did, the owner lets go of its gateway and of what still runs for
its jobs. ``executors`` lists the executors as Spark's own bookkeeping has them; ``jvm_figures`` are the metrics of this
driver's JVM under Flink's names (in local mode it runs the tasks, too).
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyspark
from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from millrace.spark.sessions import session as sessions
from millrace.spark.sessions.java_names import java_class, remember_names
from millrace.spark.sessions.logs import quiet_about_lost_jvm
from millrace.spark.sessions.settings import SessionWishes
from millrace.spark.workers import pipe
from millrace.spark.workers.pipe import SCHEMA, SPARK_SCHEMA

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
    """The live executors of a Spark application. In local mode that is the driver; on a cluster the driver, which runs
    no tasks, is left out."""
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


_INVALID = re.compile(r"[ .:,]")
_SYSTEM = {
    "Status.JVM.CPU.Load": ("OperatingSystemMXBean", "getProcessCpuLoad"),
    "Status.JVM.CPU.Time": ("OperatingSystemMXBean", "getProcessCpuTime"),
    "Status.JVM.FileDescriptor.Open": ("UnixOperatingSystemMXBean", "getOpenFileDescriptorCount"),
    "Status.JVM.FileDescriptor.Max": ("UnixOperatingSystemMXBean", "getMaxFileDescriptorCount"),
}
"""metric of the JVM's process -> the interface in ``com.sun.management`` that has it, and the method to call"""


def jvm_figures(context: SparkContext) -> dict[str, float]:
    """Metrics of the driver's JVM, read from its management beans: CPU, memory, threads, classes, open files and
    garbage collectors."""
    beans: Any = java_class(context._jvm, "java.lang.management.ManagementFactory")
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
    """Read the metrics of ``_SYSTEM`` through the public interfaces: the bean's own class is private to its module, so
    py4j cannot call its methods."""
    found = {}
    for figure, (interface, method) in _SYSTEM.items():
        declared = java_class(jvm, "java.lang.Class").forName(f"com.sun.management.{interface}")
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


_PORT, _SECRET = "PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET"
CANCEL_SECONDS = 10.0
POOL = "spark.scheduler.pool"


@dataclass(frozen=True)
class Gateway:
    """Where a process reaches the shared Spark."""

    port: int
    secret: str = field(repr=False)
    log_file: str | None = None
    """where the JVM logs to"""


class OpenGateway:
    """The owner's side of one process.

    :param session: the owner's session.
    """

    def __init__(self, session: SparkSession) -> None:
        self._context = session.sparkContext
        python = self._context._jvm.org.apache.spark.api.python
        self._server = python.Py4JServer(self._context._jvm.org.apache.spark.SparkConf())
        self._server.start()
        self.gateway = Gateway(
            self._server.getListeningPort(),
            self._server.secret(),
            sessions.log_file_of(self._context),
        )

    def close(self, jobs: Iterable[str]) -> None:
        """End what runs for the jobs of a process that has ended, so that its successor finds none of it. Waits until
        the owners of these jobs have closed."""
        with contextlib.suppress(Exception):
            self._server.shutdown()  # first: nothing more begins
        for job in jobs:
            with contextlib.suppress(Exception):
                self._cancel(job)
            with contextlib.suppress(Exception):
                pipe.forget(job)

    def _cancel(self, job: str) -> None:
        """Cancel what runs for a job, but not the work that the job's next driver begins under the same group."""
        until = time.monotonic() + CANCEL_SECONDS
        while True:
            self._context.cancelJobGroup(job)
            if not self._is_active(job) or time.monotonic() > until:
                return
            time.sleep(0.05)

    def _is_active(self, job: str) -> bool:
        tracker = self._context.statusTracker()
        infos = [tracker.getJobInfo(id) for id in tracker.getJobIdsForGroup(job)]
        return any(info is not None and info.status == "RUNNING" for info in infos)


def attach(gateway: Gateway) -> SparkSession:
    """Make the shared Spark that of this process, for whatever asks for a session from now on.

    What the process stops is its own session, not the Spark of the others. Raises an error of Py4J if nothing answers.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # what workers run; Spark would take any python3
    os.environ[_PORT], os.environ[_SECRET] = str(gateway.port), gateway.secret
    try:
        connection = launch_gateway()
    finally:
        del os.environ[_PORT], os.environ[_SECRET]
    jvm = remember_names(connection)
    SparkContext._gateway, SparkContext._jvm = connection, jvm
    java_context = jvm.JavaSparkContext(jvm.org.apache.spark.SparkContext.getOrCreate())
    conf = SparkConf(_jvm=jvm, _jconf=java_context.getConf())
    with sessions.own_interrupt_handler():
        context = SparkContext(gateway=connection, jsc=java_context, conf=conf)
    quiet_about_lost_jvm(context._accumulatorServer)
    _never_stops(context)
    session = SparkSession(context).newSession()
    SparkSession._instantiatedSession = session
    sessions.use_shared(session, gateway.log_file)
    return session


def detach() -> None:
    """Forget a shared Spark that is gone: this process may attach to another one."""
    SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = None
    sessions.use_shared(None, None)


def warm_up(session: SparkSession) -> None:
    """Do once what the first job would wait for: Spark runs a plan of the shape of a job, and so has its classes; the
    executors start Python with all that tasks need."""
    width = max(session.sparkContext.defaultParallelism, 1)
    rows = sessions.workplace(session, SessionWishes(width)).session.range(0, width, 1, width)
    sent = rows.mapInArrow(_prepared, SPARK_SCHEMA).repartitionById(width, "target")
    sent.mapInArrow(_passed, SPARK_SCHEMA).select("edge", "payload").collect()


def _prepared(_: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    pipe.prepare()
    packet = {"target": 0, "edge": 0, "channel": 0, "number": 0, "payload": b"", "run": 0}
    yield pa.RecordBatch.from_pylist([packet], SCHEMA)


def _passed(packets: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from packets


def run_in_pool(context: SparkContext, pool: str) -> None:
    """What this thread runs from now on gets its share of the shared Spark beside other pools."""
    context.setLocalProperty(POOL, pool)


def _never_stops(context: SparkContext) -> None:
    """Make ``stop`` do nothing: many programs stop their session at the end, which would end the jobs of all other
    processes."""
    anything: Any = context
    anything.stop = _leave
    session_class: Any = pyspark.sql.SparkSession
    session_class.stop = _leave


def _leave(*_: object) -> None:
    """Let the session end together with its process."""
