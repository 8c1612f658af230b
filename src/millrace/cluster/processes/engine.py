"""The engine of a cluster: the process with the JVM and the Spark that the processes of jobs share.

It runs no code of any job. It ends when its JVM is gone, and its supervisor starts another one. ``attach_to_engine``
connects another process to it. Spark's executors are shown as Flink's task managers.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from millrace.cluster import job_folder, rpc
from millrace.cluster.documents import MetricDocument, TaskManagerDocument
from millrace.cluster.processes.spark_daemons import wait_for
from millrace.cluster.processes.spark_layout import driver_of, read_layout
from millrace.cluster.rpc import CallServer, NotThereError, connect, converse
from millrace.cluster.run_folder import ENGINE_FILE, EngineDescription, become, describe_engine, this_process
from millrace.configuration.files import DIRECTORY, log_limits
from millrace.metrics.system import Machine, wants_machine
from millrace.util.logs import keep_own_short

if TYPE_CHECKING:
    from millrace.spark.jobs.gateways import OpenGateway


# Task managers

FRESH_SECONDS = 1.0


class Measured:
    """Metrics of a driver's JVM and machine, for the task manager that lives in the driver.

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
        """The current metrics, measured at most once a second."""
        from millrace.spark.jobs.gateways import jvm_figures

        with self._lock:
            if time.monotonic() > self._until:
                machine = {} if self._machine is None else self._machine.read()
                self._figures = {**jvm_figures(self._context), **machine}
                self._until = time.monotonic() + FRESH_SECONDS
            return self._figures


def task_managers(context: Any, measured: Measured | None = None) -> list[TaskManagerDocument]:
    """The executors of a Spark as task managers, by its ``SparkContext``.

    :param measured: the driver's metrics. Metrics of other executors are those that Spark reports.
    """
    from millrace.spark.jobs.gateways import DRIVER, executors

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


# The engine

LOOK_SECONDS = 1.0
CLOSE_SECONDS = 30.0
"""How long the successor of a dead job process waits until the engine has stopped that process's Spark jobs."""
JVM_LOST = 70
"""Exit code of an engine whose JVM is gone."""
MASTER_SECONDS = 90.0
NO_MASTER = 71
"""Exit code of an engine whose Spark master did not come up."""


@dataclass
class _Lease:
    """The gateway and the jobs of one process that is connected to the engine."""

    holder: str
    gateway: OpenGateway
    jobs: set[str] = field(default_factory=set)


class Engine:
    """Opens a Py4J gateway for each process that attaches, and closes it when the process ends."""

    def __init__(self, session: Any, configuration: Mapping[str, str]) -> None:
        self._session = session
        self._measured = Measured(session.sparkContext, wants_machine(configuration))
        self._leases: dict[int, _Lease] = {}
        self._changed = threading.Condition()

    def calls(self) -> Mapping[str, Any]:
        return {"attach": self._attach, "job": self._job, "released": self._released, "task_managers": self._executors}

    def _attach(self, connection: int, holder: str) -> dict[str, Any]:
        """Open a gateway for a process, for as long as its connection stays open."""
        from millrace.spark.jobs.gateways import OpenGateway

        opened = OpenGateway(self._session)
        with self._changed:
            self._leases[connection] = _Lease(holder, opened)
        gateway = opened.gateway
        return {"port": gateway.port, "secret": gateway.secret, "log_file": gateway.log_file}

    def _job(self, connection: int, job: str) -> None:
        """Record that a process is about to run a job with this id."""
        with self._changed:
            self._leases[connection].jobs.add(job)

    def _released(self, connection: int, holder: str) -> bool:
        """Wait until nothing runs any more for a process that has ended; returns whether that is so."""
        with self._changed:
            return self._changed.wait_for(
                lambda: all(lease.holder != holder for lease in self._leases.values()), CLOSE_SECONDS
            )

    def _executors(self, connection: int) -> Any:
        return msgspec.to_builtins(task_managers(self._session.sparkContext, self._measured))

    def gone(self, connection: int) -> None:
        """Close the gateway of a process whose connection has ended, with its jobs."""
        lease = self._leases.get(connection)
        if lease is None:
            return
        lease.gateway.close(sorted(lease.jobs))
        with self._changed:
            del self._leases[connection]
            self._changed.notify_all()


def run_engine(folder: str) -> int:
    """Run the engine of a cluster until its JVM is gone or SIGTERM arrives; returns the exit code."""
    from millrace.spark.errors import jvm_answers
    from millrace.spark.jobs.gateways import warm_up
    from millrace.spark.sessions.session import log_file_of, make_session
    from millrace.spark.sessions.settings import SessionWishes

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of the terminal of start-foreground: the supervisor decides
    configuration = job_folder.read_configuration(folder)
    logs = os.path.join(folder, job_folder.LOGS)
    keep_own_short([os.path.join(logs, "engine.log")], log_limits(configuration))
    layout = read_layout(folder)
    if layout is not None:
        configuration = driver_of(layout, folder, configuration)
        if not wait_for((layout.address, layout.port), MASTER_SECONDS):
            print(f"no master of Spark at {layout.url} for {MASTER_SECONDS:g} s", file=sys.stderr, flush=True)
            return NO_MASTER
    configuration = {**FAIR, **configuration, DIRECTORY: logs}
    session = make_session(SessionWishes(_slots(configuration), configuration))
    context = session.sparkContext
    warm_up(session)
    stopped = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopped.set())  # before, it ends what is just being started
    description = EngineDescription(
        this_process(),
        context.applicationId,
        context.master,
        context.defaultParallelism if layout is None else layout.slots,
        context.uiWebUrl,
        log_file_of(context),
    )
    if not become(folder, ENGINE_FILE, description):
        session.stop()
        return 0
    engine = Engine(session, configuration)
    listener = rpc.listen(rpc.socket_path(folder, rpc.ENGINE))
    CallServer(listener, engine.calls(), "millrace-engine", engine.gone).start()
    try:
        while not stopped.wait(LOOK_SECONDS):
            if not jvm_answers(context):
                print(f"{time.strftime('%Y-%m-%d %H:%M:%S')} the JVM is gone", file=sys.stderr, flush=True)
                return JVM_LOST
        return 0
    finally:
        os.unlink(os.path.join(folder, ENGINE_FILE))


FAIR = {"spark.scheduler.mode": "FAIR"}
"""Concurrent jobs get equal shares of the executors."""
SLOTS = "taskmanager.numberOfTaskSlots"


def _slots(configuration: Mapping[str, str]) -> int:
    """Number of tasks that run at the same time, if the engine's Spark is local."""
    return int(configuration.get(SLOTS) or max(os.cpu_count() or 1, 4))


# The way to the engine

ENGINE_SECONDS = 180.0
"""How long a program waits for the engine of its cluster, which may just be starting."""


def attach_to_engine(cluster: str, holder: str) -> Callable[[str], None]:
    """Attach this process to the cluster's engine until it ends; returns a function that announces a job to the
    engine.

    :param cluster: folder of the cluster.
    :param holder: name under which the engine knows this process, and an earlier process whose jobs it continues.
    :raises NotThereError: there is no engine, and none comes up.
    """
    from millrace.spark.jobs.gateways import Gateway, attach, run_in_pool

    lease = _engine(cluster)
    # What ran for an earlier driver of the program must have ended.
    converse(lease, "the engine", {"call": "released", "holder": holder}, CLOSE_SECONDS + 10)
    found = converse(lease, "the engine", {"call": "attach", "holder": holder}, ENGINE_SECONDS)
    session = attach(Gateway(found["port"], found["secret"], found["log_file"]))
    context = session.sparkContext
    lock = threading.Lock()

    def announce(job: str) -> None:
        run_in_pool(context, job)
        with lock:
            converse(lease, "the engine", {"call": "job", "job": job}, ENGINE_SECONDS)

    return announce


def _engine(cluster: str) -> socket.socket:
    path = rpc.socket_path(cluster, rpc.ENGINE)
    until = time.monotonic() + ENGINE_SECONDS
    while True:
        try:
            if describe_engine(cluster) is not None:
                return connect(path, "the engine")
        except NotThereError:
            pass
        if time.monotonic() > until:
            raise NotThereError(f"the engine of the cluster has not been ready for {ENGINE_SECONDS:g} s: see its log")
        time.sleep(0.1)
