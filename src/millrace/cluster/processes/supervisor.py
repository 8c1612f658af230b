"""The supervisor of a cluster: forks a process for each program, watches these, and keeps engine and server alive.

It has imported all that a driver needs, runs no code of any program, and is single-threaded, so it may fork. Programs
survive its death; the next supervisor of the cluster takes them over.
"""

from __future__ import annotations

import contextlib
import gc
import itertools
import os
import select
import shutil
import signal
import socket
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

from millrace.cluster import job_folder, retention, rpc, submissions
from millrace.cluster.documents import ExceptionDocument, JobDocument
from millrace.cluster.durable_files import move, sweep
from millrace.cluster.processes.driver_restarts import Restarts
from millrace.cluster.processes.job_process import DRIVER_LOST, FAILED, NOT_THE_ONE, Entry, become_job
from millrace.cluster.processes.services import RemoteService, Service
from millrace.cluster.rpc import receive, send
from millrace.cluster.submissions import Outcome, SubmittedProgram
from millrace.configuration.files import log_limits
from millrace.spark.job_records import read_jobs
from millrace.spark.workers.frames import same_user
from millrace.util.logs import LOOK_SECONDS, turn_own_over

# A program that is watched


@dataclass
class Watched:
    """A program that the supervisor watches. ``pid`` is None while no process runs it."""

    cluster: str
    folder: str
    submission: SubmittedProgram
    restarts: Restarts
    attempt: int = 0
    pid: int | None = None
    adopted: bool = False
    """whether an earlier supervisor started the process; its exit code cannot be read then"""
    due: float | None = None
    """when the next attempt begins (s, monotonic clock); None: no attempt is pending"""
    streams: list[int] = field(default_factory=list)
    client: socket.socket | None = None
    """connection of the command that waits for the program's end"""
    cancelled: bool = False
    last_call: float | None = None
    """when the process is killed if it has not ended (s, monotonic clock); None: no kill is pending"""

    @property
    def id(self) -> str:
        return self.submission.id

    @property
    def log(self) -> str:
        return os.path.join(self.cluster, job_folder.LOGS, f"{self.id}.log")

    @property
    def output(self) -> str:
        return os.path.join(self.cluster, job_folder.LOGS, f"{self.id}.out")

    def signal(self, number: int) -> None:
        """Forward a signal to the process. All signals cancel the program, but for SIGUSR1, which asks for a
        savepoint."""
        self.cancelled = self.cancelled or number != signal.SIGUSR1
        if self.pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill the process and its JVMs, which are in its process group."""
        self.last_call = None
        if self.pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)

    def say(self, text: str) -> None:
        """Print a line on the program's standard error, or into its log if it has no streams."""
        with contextlib.suppress(OSError):
            os.write(self.streams[2], f"{text}\n".encode()) if self.streams else _append(self.log, text)

    def show_restarting(self) -> None:
        """Show the program's jobs as RESTARTING, until another process restores them."""
        self._mark("RESTARTING", None)

    def settle(self, outcome: Outcome) -> None:
        """Record the program's end, and archive the jobs that its process could not archive."""
        if submissions.read_outcome(self.folder) is None:
            submissions.write_outcome(self.folder, outcome)
        for document in self._mark("CANCELED" if self.cancelled else "FAILED", outcome):
            if not job_folder.is_archived(self.cluster, document.id):
                job_folder.archive(self.cluster, document)
        shutil.rmtree(os.path.join(self.folder, "work"), ignore_errors=True)
        sweep(self.folder)
        job_folder.forget_program(self.cluster, self.id)

    def close(self, exit_code: int | None) -> None:
        """Close the streams, and send the exit code to the command that waits for it."""
        for stream in self.streams:
            os.close(stream)
        self.streams = []
        if self.client is not None:
            with contextlib.suppress(OSError), self.client:
                if exit_code is not None:
                    send(self.client, {"exit": exit_code})
            self.client = None

    def _mark(self, state: str, outcome: Outcome | None) -> list[JobDocument]:
        """Set the state of all jobs that have not ended; returns their new documents."""
        now = time.time_ns() // 1_000_000
        over = outcome is not None
        documents = job_folder.read_documents(self.folder)
        if not documents and over:
            documents = self._without_job(now, outcome)
        ends = {job.job_id: job.end for job in read_jobs(os.path.join(self.folder, "work", "jobs"))}
        marked = [
            each if each.state in job_folder.OVER else _in_state(each, ends.get(each.id) or state, now, outcome)
            for each in documents
        ]
        if marked:
            job_folder.write_documents(self.folder, marked)
        return marked

    def _without_job(self, now: int, outcome: Outcome | None) -> list[JobDocument]:
        """A document for a program that failed before it had a job."""
        if outcome is None or (outcome.exit_code == 0 and not self.cancelled):
            return []
        name = self.submission.name
        began = self.submission.submitted or now
        times = {"CREATED": began}
        return [JobDocument(self.id, name, "CREATED", False, 1, 1, began, -1, now, times)]


def _in_state(document: JobDocument, state: str, now: int, outcome: Outcome | None) -> JobDocument:
    times = {**document.timestamps, state: now}
    exceptions = document.exceptions
    if state == "FAILED" and outcome is not None:
        text = outcome.text or f"the program has ended with exit code {outcome.exit_code}"
        exceptions = (ExceptionDocument("ProgramEnded", text, text, now), *exceptions)
    ended = -1 if outcome is None else now
    return replace(document, state=state, timestamps=times, ended=ended, written=now, exceptions=exceptions)


def _append(path: str, text: str) -> None:
    with open(path, "a", encoding="utf-8") as file:
        file.write(f"{text}\n")


def death(code: int) -> str:
    """How a process died, in words, from the negative number of the signal."""
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    why = " (kill -9, or the machine ran out of memory)" if name == "SIGKILL" else ""
    return f"the driver was killed by {name}{why}"


# The supervisor

LOOK_MS = 200
GREETING_SECONDS = 5.0
ATTACH_SECONDS = 30.0
"""How long a program waits for the command that submitted it and lends it its streams."""
CANCEL_SECONDS = 30.0
"""How long programs may take to cancel their jobs when the cluster stops."""

STARTING_SECONDS = 10.0
"""How long a program that has no job yet may take to end when it is cancelled."""


class Supervisor:
    """Watches the programs of one cluster.

    :param services: the cluster's own Spark master and workers (if any), engine, server, and the SQL gateway.
    :param idle_seconds: the cluster ends after this time without a program; None: never.
    """

    def __init__(
        self,
        cluster: str,
        services: Sequence[Service | RemoteService],
        entry: Entry,
        idle_seconds: float | None = None,
    ) -> None:
        self._cluster = cluster
        self._services = services
        self._entry = entry
        self._programs: dict[str, Watched] = {}
        self._connections: dict[int, tuple[socket.socket, str | None]] = {}
        """connections by descriptor, each with the id of the program whose end it waits for"""
        self._poller = select.poll()
        self._stopped = False
        self._idle_seconds = idle_seconds
        self._used = time.monotonic()
        configuration = job_folder.read_configuration(cluster)
        self._limits = log_limits(configuration)
        self._kept = retention.limits(configuration)
        self._tidying_due = 0.0
        self._wake: tuple[int, int] = os.pipe()

    def run(self) -> None:
        """Watch programs and services until the cluster is stopped."""
        self._listener = rpc.listen(rpc.socket_path(self._cluster, rpc.SUPERVISOR))
        for file in self._wake:
            os.set_blocking(file, False)
        signal.set_wakeup_fd(self._wake[1], warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop_soon)
        self._poller.register(self._listener, select.POLLIN)
        self._poller.register(self._wake[0], select.POLLIN)
        job_folder.sweep_folders(self._cluster)
        for name in job_folder.names(self._cluster, job_folder.JOBS):
            self._take_over(os.path.join(self._cluster, job_folder.JOBS, name))
        gc.collect()
        gc.freeze()
        while not self._stopped:
            self._look()
        self._end_all()

    def _stop_soon(self, *_: object) -> None:
        self._stopped = True

    def _look(self) -> None:
        for file, _ in self._poller.poll(LOOK_MS):
            if file == self._listener.fileno():
                self._accept()
            elif file == self._wake[0]:
                with contextlib.suppress(BlockingIOError):
                    os.read(self._wake[0], 4096)
            elif file in self._connections:
                self._hear(file)
        now = time.monotonic()
        if now >= self._tidying_due:
            self._tidying_due = now + LOOK_SECONDS
            turn_own_over([os.path.join(self._cluster, job_folder.LOGS, "supervisor.log")], self._limits)
            with contextlib.suppress(OSError):
                retention.expire(self._cluster, self._kept)
        for service in self._services:
            service.look(now)
        for name in job_folder.names(self._cluster, job_folder.SUBMISSIONS):
            self._look_at_submission(name)
        for program in list(self._programs.values()):
            self._look_at(program, now)
        if self._programs or self._connections:
            self._used = time.monotonic()
        elif self._idle_seconds is not None and now - self._used > self._idle_seconds:
            print(f"nothing has run for {self._idle_seconds:g} s", file=sys.stderr, flush=True)
            self._stopped = True

    # -- programs -------------------------------------------------------------------------------------------------

    def _look_at_submission(self, name: str) -> None:
        """Take up a submitted program that needs no streams; drop one whose command died before it lent its streams."""
        try:
            submission = submissions.read_submission(os.path.join(self._cluster, job_folder.SUBMISSIONS, name))
        except (OSError, ValueError):
            submission = None  # taking it up says so
        if submission is None or not submission.attached:
            self._take_up(name)
        elif _now() - submission.submitted > ATTACH_SECONDS * 1000:
            folder = submissions.take_up(self._cluster, name)
            program = None if folder is None else self._watch(folder)
            if program is not None:
                program.cancelled = True
                self._settle(program, Outcome(FAILED, _now(), "the command that submitted it ended before it began"))

    def _take_up(self, name: str, streams: Sequence[int] = ()) -> Watched | None:
        folder = submissions.take_up(self._cluster, name)
        if folder is None:
            left = os.path.join(self._cluster, job_folder.SUBMISSIONS, name)
            shutil.rmtree(left, ignore_errors=True)  # a second submission of this id
            return None
        program = self._watch(folder)
        if program is not None:
            program.streams = list(streams)
            self._start(program)
        return program

    def _watch(self, folder: str) -> Watched | None:
        try:
            submission = submissions.read_submission(folder)
        except (OSError, ValueError) as error:
            print(f"{folder} is no submission: {error}", file=sys.stderr, flush=True)
            move(folder, os.path.join(self._cluster, job_folder.DONE, os.path.basename(folder)))
            return None
        restarts = Restarts(os.path.join(folder, "work", "jobs"))
        program = Watched(self._cluster, folder, submission, restarts, len(submissions.attempts(folder)))
        self._programs[submission.id] = program
        return program

    def _take_over(self, folder: str) -> None:
        """Take over a program of an earlier supervisor."""
        program = self._watch(folder)
        if program is None:
            return
        if program.attempt == 0 and not submissions.is_running(folder):
            self._start(program)  # it was taken up, and not begun
        else:
            program.adopted = True
            begun = submissions.attempts(folder)
            program.pid = begun[-1].pid if begun else None

    def _start(self, program: Watched) -> None:
        program.due = None
        program.adopted = False
        program.attempt = len(submissions.attempts(program.folder)) + 1
        opened = []
        streams = program.streams
        if not streams:
            opened = streams = [os.open(os.devnull, os.O_RDONLY), _to_end(program.output), _to_end(program.log)]
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if pid == 0:
            self._become(program, streams)
        for file in opened:
            os.close(file)
        program.pid = pid

    def _become(self, program: Watched, streams: Sequence[int]) -> NoReturn:
        for connection, _ in self._connections.values():
            connection.close()
        self._listener.close()
        # A reader of another program's output would not see its end while a copy of its stream is open here.
        others = (each.streams for each in self._programs.values() if each is not program)
        for file in (*self._wake, *itertools.chain.from_iterable(others)):
            os.close(file)
        become_job(self._cluster, program.folder, program.attempt, streams, self._entry)

    def _look_at(self, program: Watched, now: float) -> None:
        if program.due is not None:
            if program.cancelled:
                self._settle(program, Outcome(128 + signal.SIGTERM, _now(), "it was cancelled"))
            elif now >= program.due:
                self._start(program)
            return
        code = self._ended(program)
        if code is None:
            if program.last_call is not None and now >= program.last_call:
                program.kill()
            return
        if code == NOT_THE_ONE:  # a fork of an earlier supervisor was faster
            program.attempt = len(submissions.attempts(program.folder))
            program.adopted = True
            return
        program.pid = None
        written = submissions.read_outcome(program.folder)
        if written is not None:
            self._settle(program, written)
            return
        died = code < 0 or code == DRIVER_LOST
        if died and not program.cancelled:
            verdict = program.restarts.after(None if code == DRIVER_LOST else death(code), int(now * 1000))
            if verdict.text:
                program.say(verdict.text)
            if verdict.delay_ms is not None:
                program.due = now + verdict.delay_ms / 1000
                program.show_restarting()
                return
            self._settle(program, Outcome(code if code >= 0 else 128 - code, _now(), verdict.text))
            return
        self._settle(program, Outcome(code if code >= 0 else 128 - code, _now()))

    def _ended(self, program: Watched) -> int | None:
        """The exit code of a process that has ended: minus the signal's number if a signal killed it. None while it
        runs."""
        if not program.adopted:
            assert program.pid is not None
            pid, status = os.waitpid(program.pid, os.WNOHANG)
            return os.waitstatus_to_exitcode(status) if pid else None
        return None if submissions.is_running(program.folder) else -signal.SIGKILL

    def _settle(self, program: Watched, outcome: Outcome) -> None:
        if outcome.exit_code and not outcome.text and not program.streams:
            outcome = Outcome(outcome.exit_code, outcome.ended, job_folder.tail(program.log))
        program.settle(outcome)
        move(program.folder, os.path.join(self._cluster, job_folder.DONE, program.id))
        del self._programs[program.id]
        program.close(outcome.exit_code)  # last: the end is recorded before the command learns of it

    # -- requests -------------------------------------------------------------------------------------------------

    def _accept(self) -> None:
        connection, _ = self._listener.accept()
        connection.settimeout(GREETING_SECONDS)
        if not same_user(connection, os.getuid()):
            connection.close()
            return
        self._connections[connection.fileno()] = (connection, None)
        self._poller.register(connection, select.POLLIN)

    def _hear(self, file: int) -> None:
        connection, waits_for = self._connections[file]
        try:
            message, files = receive(connection)
            answer = self._answer(message, files, connection, waits_for)
            if answer is not None:
                send(connection, answer)
        except (OSError, EOFError, ValueError, KeyError):
            self._forget(file)

    def _forget(self, file: int) -> None:
        connection, waits_for = self._connections.pop(file)
        self._poller.unregister(file)
        program = self._programs.get(waits_for or "")
        if program is not None and program.client is connection:
            program.client = None  # its streams stay: the process has them, too
        connection.close()

    def _answer(
        self, message: dict[str, Any], files: list[int], connection: socket.socket, waits_for: str | None
    ) -> dict[str, Any] | None:
        call = message["call"]
        if call == "submitted":
            return self._submitted(message["id"], files, connection)
        for each in files:
            os.close(each)
        if call == "signal" and waits_for is not None:
            if (program := self._programs.get(waits_for)) is not None:
                program.signal(int(message["number"]))
            return None
        if call == "cancel":
            return {"result": self._cancel(message["id"])}
        if call == "want":
            return {"result": self._want(message["name"])}
        if call == "status":
            return {"result": {service.name: service.pid for service in self._services} | {"supervisor": os.getpid()}}
        if call == "stop":
            self._stopped = True
            return {"result": None}
        return {"error": f"no such call: {call!r}", "kind": "KeyError"}

    def _submitted(self, id: str, files: list[int], connection: socket.socket) -> dict[str, Any]:
        """Take up a new program. If the command lends its streams, its connection waits for the program's end."""
        program = self._programs.get(id) or self._take_up(id, files)
        if program is not None and program.adopted and program.submission.attached and not program.streams:
            program.streams = list(files)  # of the command, which has them from an earlier supervisor
        lent = program is not None and bool(files) and program.streams == files
        if program is not None and lent:
            self._connections[connection.fileno()] = (connection, id)
            program.client = connection
        else:
            for file in files:
                os.close(file)
        return {"result": lent or (program is not None and not files)}

    def _cancel(self, id: str) -> bool:
        """End a program, also one that waits for a process or for Spark; returns whether the program is known.

        While Spark's JVM waits for its executors (YARN for example), Python waits for the JVM and defers signals: such
        a
        process is killed after ``STARTING_SECONDS``.
        """
        program = self._programs.get(id)
        if program is None:
            return False
        program.signal(signal.SIGTERM)
        program.last_call = time.monotonic() + STARTING_SECONDS
        return True

    def _want(self, name: str) -> bool:
        """Request the start of a service at the next look; returns whether there is one of this name."""
        wanted = [service for service in self._services if isinstance(service, Service) and service.name == name]
        for service in wanted:
            service.want()
        return bool(wanted)

    # -- the end --------------------------------------------------------------------------------------------------

    def _end_all(self) -> None:
        """Cancel the programs, then end all services."""
        for program in self._programs.values():
            program.signal(signal.SIGTERM)
        until = time.monotonic() + CANCEL_SECONDS
        while self._programs and time.monotonic() < until:
            for program in list(self._programs.values()):
                self._look_at(program, time.monotonic())
            time.sleep(0.05)
        for program in list(self._programs.values()):
            program.signal(signal.SIGKILL)
            self._settle(program, Outcome(FAILED, _now(), "the cluster was stopped"))
        for service in reversed(self._services):
            service.end(CANCEL_SECONDS)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(rpc.socket_path(self._cluster, rpc.SUPERVISOR))


def _to_end(path: str) -> int:
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)


def _now() -> int:
    return time.time_ns() // 1_000_000
