"""A cluster without Spark: ``python fake.py ROLE FOLDER``. Supervisor and server are the real ones; the engine only
lends itself, and a program is a job that counts, commits its count with its checkpoints, and goes on from them.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any, NoReturn

from millrace.cluster import durable_files, job_folder, rpc
from millrace.cluster.documents import FrameDocument, JobDocument, ThreadDocument
from millrace.cluster.processes import engine as attaching
from millrace.cluster.processes import job_process
from millrace.cluster.processes.job_process import DRIVER_LOST, ProgramRun
from millrace.cluster.processes.services import Service
from millrace.cluster.rpc import CallServer, converse
from millrace.cluster.run_folder import (
    CLUSTER,
    ENGINE_FILE,
    EngineDescription,
    Entry,
    Process,
    become,
    register,
    this_process,
    withdraw,
)
from millrace.cluster.socket_control import JobsHere
from millrace.spark import job_records

SAVEPOINT_SECONDS = 0.15
CHECKPOINT_SECONDS = 0.1
RESTARTS = {
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.attempts": "1000",
    "restart-strategy.fixed-delay.delay": "50 ms",
}


class FakeJob:
    """Counts; a checkpoint commits the lines ``1``, ``2``, ... up to its count to the job's file, once each."""

    def __init__(self, id: str, name: str, place: Path, until: int) -> None:
        self.id = id
        self._name = name
        self._place = place
        self._until = until
        self._began = _now()
        self._times = {"CREATED": self._began, "RUNNING": self._began}
        self._state = "RUNNING"
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._committed = len(committed(place))
        self._count = self._committed
        self._checkpoints = 0

    def run(self) -> int:
        """Until it is cancelled, stopped, or has counted to its end."""
        due = time.monotonic() + CHECKPOINT_SECONDS
        while not self._ended.wait(0.01):
            with self._lock:
                self._count = min(self._count + 1, self._until)
                last = self._count == self._until
                if last or time.monotonic() > due:
                    self._commit()
                    due = time.monotonic() + CHECKPOINT_SECONDS
            if last:
                self._end("FINISHED")
        return 0 if self._state == "FINISHED" else 1

    def _commit(self) -> None:
        lines = "".join(f"{number}\n" for number in range(1, self._count + 1))
        self._checkpoints += 1
        durable_files.write_file(str(self._place), lines.encode())
        self._committed = self._count

    def _end(self, state: str) -> None:
        if not self._ended.is_set():
            self._enter(state)
            job_records.record_end(self.id, state)
            self._ended.set()

    def _enter(self, state: str) -> None:
        self._times = {**self._times, state: _now()}
        self._state = state

    def document(self) -> JobDocument:
        state = self._state
        ended = self._times[state] if state in job_folder.OVER else -1
        return JobDocument(
            self.id, self._name, state, False, 1, 128, self._began, ended, _now(), dict(self._times),
            stoppable=True, process=os.getpid(),
        )  # fmt: skip

    def cancel(self) -> None:
        if self._state in ("CANCELLING", "CANCELED"):
            return
        job_records.record_cancelling(self.id)
        self._enter("CANCELLING")
        threading.Timer(0.1, self._end, ["CANCELED"]).start()

    def savepoint(self, directory: str | None, native: bool) -> Future[str]:
        return self._later(lambda: self._save(directory))

    def stop(self, directory: str | None, drain: bool, native: bool) -> Future[str]:
        def stop() -> str:
            path = self._save(directory)
            self._end("FINISHED")
            return path

        return self._later(stop)

    def _save(self, directory: str | None) -> str:
        assert directory is not None
        time.sleep(SAVEPOINT_SECONDS)
        with self._lock:
            self._commit()
            path = os.path.join(directory, f"savepoint-{self.id[:6]}-{time.time_ns()}")
            os.makedirs(directory, exist_ok=True)
            assert durable_files.write_folder(path, {"_metadata": json.dumps({"count": self._count}).encode()})
        return path

    def checkpoint(self, full: bool) -> Future[int]:
        def take() -> int:
            time.sleep(SAVEPOINT_SECONDS)
            with self._lock:
                self._commit()
                return self._checkpoints

        return self._later(take)

    def _later(self, work: Callable[[], Any]) -> Future[Any]:
        future: Future[Any] = Future()

        def run() -> None:
            try:
                future.set_result(work())
            except Exception as error:
                future.set_exception(error)

        threading.Thread(target=run, daemon=True).start()
        return future

    def query_state(self, operator: str, state: str, key: Any) -> Future[Any]:
        return self._later(lambda: None)

    def threads(self, task_manager: str | None) -> list[ThreadDocument]:
        return []

    def flame_graph(self, vertex: str, subtask: int | None, mode: str) -> FrameDocument:
        return FrameDocument("root", 0)


def committed(place: Path) -> list[str]:
    """What a job has put out."""
    try:
        return place.read_text().splitlines()
    except FileNotFoundError:
        return []


def entry(run: ProgramRun, here: JobsHere) -> int:
    """Run an uploaded program: its text is how far it counts."""
    id = run.submission.id
    try:
        until = int(Path(run.submission.options["python"]).read_text().split()[0])
    except OSError as error:
        print(error, file=sys.stderr, flush=True)
        return 2
    cluster = Path(run.program).parents[1]
    job_records.use(run.recovery)
    lost = job_records.recoverable_job(job_records.begin_job(id, RESTARTS))
    with open(cluster / f"ran-{id}", "a") as file:
        file.write("goes on\n" if lost else "begins\n")
    job_records.record_job(0, id, str(cluster / f"out-{id}"))
    job = FakeJob(id, run.submission.name, cluster / f"out-{id}", until)
    here._controls = lambda: [job]
    signal.signal(signal.SIGTERM, lambda *_: job.cancel())
    run.announce(id)
    return job.run()


def attach(cluster: str, holder: str) -> Callable[[str], None]:
    """Lease the engine, and end when it is gone, as a driver does that has lost its JVM."""
    lease = attaching._engine(cluster)
    converse(lease, "the engine", {"call": "released", "holder": holder}, 40.0)
    converse(lease, "the engine", {"call": "attach", "holder": holder}, 40.0)

    def watch() -> NoReturn:
        lease.settimeout(None)
        lease.recv(1)
        os._exit(DRIVER_LOST)

    threading.Thread(target=watch, daemon=True).start()
    return lambda _: None


def engine(folder: str) -> int:
    """Leases, and nothing behind them."""
    leases: dict[int, str] = {}

    def lease(connection: int, holder: str) -> None:
        leases[connection] = holder

    calls = {
        "attach": lease,
        "released": lambda connection, holder: holder not in leases.values(),
        "task_managers": lambda connection: [],
    }
    if not become(folder, ENGINE_FILE, EngineDescription(this_process(), "fake", "local[1]", 1, None, None)):
        return 0
    listener = rpc.listen(rpc.socket_path(folder, rpc.ENGINE))
    CallServer(listener, calls, "engine", lambda number: leases.pop(number, None)).start()
    signal.sigwait([signal.SIGTERM])
    os.unlink(os.path.join(folder, ENGINE_FILE))
    return 0


def server(folder: str) -> int:
    from millrace.cluster.processes.server import run_server

    return run_server(folder, lambda launch, path: JobDocument("0" * 32, "plan", "CREATED", False, 1, 1, 0, -1, 0, {}))


def supervisor(folder: str) -> int:
    from millrace.cluster.processes.supervisor import Supervisor
    from millrace.cluster.run_folder import describe_engine, describe_server

    job_process.attach_to_engine = attach
    register(folder, Entry(CLUSTER, this_process()))
    found: dict[str, Callable[[str], Any]] = {"engine": describe_engine, "server": describe_server}
    services = [_service(role, folder, describe) for role, describe in found.items()]
    Supervisor(folder, services, entry).run()
    withdraw(folder)
    return 0


def _service(role: str, folder: str, describe: Callable[[str], Any]) -> Service:
    def find() -> Process | None:
        return getattr(describe(folder), "process", None)

    log = os.path.join(folder, job_folder.LOGS, f"{role}.log")
    return Service(role, command(role, folder), log, find)


def command(role: str, folder: str) -> list[str]:
    return [sys.executable, "-m", "tests.cluster.killing.fake", role, folder]


def _now() -> int:
    return time.time_ns() // 1_000_000


ROLES: dict[str, Callable[[str], int]] = {"supervisor": supervisor, "engine": engine, "server": server}

if __name__ == "__main__":
    sys.exit(ROLES[sys.argv[1]](sys.argv[2]))
