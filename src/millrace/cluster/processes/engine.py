"""The engine: the process that has the JVM and the Spark of a cluster, and lets the processes of jobs use it.

It runs no code of any job. When its JVM is gone it ends, too, and its supervisor starts another one.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from millrace.cluster.places import job_folder, sockets
from millrace.cluster.places.descriptions import ENGINE_FILE, EngineDescription, become
from millrace.cluster.places.run_folder import this_process
from millrace.cluster.processes.task_managers import Measured, task_managers
from millrace.cluster.standalone.daemon import wait_for
from millrace.cluster.standalone.driver import driver_of
from millrace.cluster.standalone.layout import read_layout
from millrace.cluster.wire.serving import CallServer
from millrace.configuration.log_limits import DIRECTORY, log_limits
from millrace.metrics.system import wants_machine
from millrace.util.log_rotation import keep_own_short

if TYPE_CHECKING:
    from millrace.spark.sharing.gateways import OpenGateway

LOOK_SECONDS = 1.0
CLOSE_SECONDS = 30.0
"""How long whoever goes on with the jobs of a dead process waits for what still runs of them."""
JVM_LOST = 70
"""Exit code: the JVM is gone."""
MASTER_SECONDS = 90.0
NO_MASTER = 71
"""Exit code: the cluster's own master of Spark does not come."""


@dataclass
class _Lease:
    """A process that uses the engine, by its connection."""

    holder: str
    gateway: OpenGateway
    jobs: set[str] = field(default_factory=set)


class Engine:
    """Gateways, and who has them."""

    def __init__(self, session: Any, configuration: Mapping[str, str]) -> None:
        self._session = session
        self._measured = Measured(session.sparkContext, wants_machine(configuration))
        self._leases: dict[int, _Lease] = {}
        self._changed = threading.Condition()

    def calls(self) -> Mapping[str, Any]:
        return {"attach": self._attach, "job": self._job, "released": self._released, "task_managers": self._executors}

    def _attach(self, connection: int, holder: str) -> dict[str, Any]:
        """A gateway for a process, for as long as it keeps the connection open."""
        from millrace.spark.sharing.gateways import OpenGateway

        opened = OpenGateway(self._session)
        with self._changed:
            self._leases[connection] = _Lease(holder, opened)
        gateway = opened.gateway
        return {"port": gateway.port, "secret": gateway.secret, "log_file": gateway.log_file}

    def _job(self, connection: int, job: str) -> None:
        """The process is about to run a job with this id."""
        with self._changed:
            self._leases[connection].jobs.add(job)

    def _released(self, connection: int, holder: str) -> bool:
        """Whether nothing runs any more for a process that has ended; waits for it."""
        with self._changed:
            return self._changed.wait_for(
                lambda: all(lease.holder != holder for lease in self._leases.values()), CLOSE_SECONDS
            )

    def _executors(self, connection: int) -> Any:
        return msgspec.to_builtins(task_managers(self._session.sparkContext, self._measured))

    def gone(self, connection: int) -> None:
        """A process has ended."""
        lease = self._leases.get(connection)
        if lease is None:
            return
        lease.gateway.close(sorted(lease.jobs))
        with self._changed:
            del self._leases[connection]
            self._changed.notify_all()


def run_engine(folder: str) -> int:
    """Be the engine of a cluster until its JVM is gone or SIGTERM comes; the exit code."""
    from millrace.spark.errors import jvm_answers
    from millrace.spark.sessions.session import SessionWishes, log_file_of, make_session
    from millrace.spark.sharing.gateways import warm_up

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
    listener = sockets.listen(sockets.socket_path(folder, sockets.ENGINE))
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
"""Jobs beside each other get equal shares of the executors."""
SLOTS = "taskmanager.numberOfTaskSlots"


def _slots(configuration: Mapping[str, str]) -> int:
    """Tasks that run at the same time, where the engine has no cluster under it."""
    return int(configuration.get(SLOTS) or max(os.cpu_count() or 1, 4))
