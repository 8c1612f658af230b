"""The supervisor: forks a process for each program, watches them, and keeps engine and server of the cluster alive.

It has imported all that a driver needs, runs no code of any program, and is single-threaded, so it may fork. Programs
survive its death; the next supervisor of the cluster takes over what it finds.
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
from typing import Any, NoReturn

from millrace.cluster.places import attempts, job_folder, retention, sockets, submissions
from millrace.cluster.places.attempts import Outcome
from millrace.cluster.places.durable import move
from millrace.cluster.processes.job_process import DRIVER_LOST, FAILED, NOT_THE_ONE, Entry, become_job
from millrace.cluster.processes.remote_service import RemoteService
from millrace.cluster.processes.restarts import Restarts
from millrace.cluster.processes.service import Service
from millrace.cluster.processes.watched import Watched, death
from millrace.cluster.wire.messages import receive, send
from millrace.configuration.log_limits import log_limits
from millrace.spark.owners.frames import same_user
from millrace.util.log_rotation import LOOK_SECONDS, turn_own_over

LOOK_MS = 200
GREETING_SECONDS = 5.0
ATTACH_SECONDS = 30.0
"""How long a program waits for the command that submitted it and is to lend it its streams."""
CANCEL_SECONDS = 30.0
"""How long programs may take to cancel their jobs when the cluster stops."""

STARTING_SECONDS = 10.0
"""How long a program that has no job yet may take to end when it is cancelled."""


class Supervisor:
    """Watches the programs of one cluster.

    :param services: Spark's master and workers if they are the cluster's own, engine, server, and the SQL gateway.
    :param idle_seconds: the cluster ends when there has been no program for so long; None: it stays.
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
        """by descriptor: with the id of the program whose end it waits for"""
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
        """Until the cluster is to stop."""
        self._listener = sockets.listen(sockets.socket_path(self._cluster, sockets.SUPERVISOR))
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
        """Take up a program that needs no streams; one whose command died before it lent them is not run."""
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
            shutil.rmtree(left, ignore_errors=True)  # the same id once more
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
        program = Watched(self._cluster, folder, submission, restarts, len(attempts.attempts(folder)))
        self._programs[submission.id] = program
        return program

    def _take_over(self, folder: str) -> None:
        """A program of an earlier supervisor."""
        program = self._watch(folder)
        if program is None:
            return
        if program.attempt == 0 and not attempts.is_running(folder):
            self._start(program)  # it was taken up, and not begun
        else:
            program.adopted = True
            begun = attempts.attempts(folder)
            program.pid = begun[-1].pid if begun else None

    def _start(self, program: Watched) -> None:
        program.due = None
        program.adopted = False
        program.attempt = len(attempts.attempts(program.folder)) + 1
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
        # Whoever reads what another program prints would not see its end, as long as a copy of its stream is open here.
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
            program.attempt = len(attempts.attempts(program.folder))
            program.adopted = True
            return
        program.pid = None
        written = attempts.read_outcome(program.folder)
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
        """The exit code of a process that has ended, minus the signal that killed it."""
        if not program.adopted:
            assert program.pid is not None
            pid, status = os.waitpid(program.pid, os.WNOHANG)
            return os.waitstatus_to_exitcode(status) if pid else None
        return None if attempts.is_running(program.folder) else -signal.SIGKILL

    def _settle(self, program: Watched, outcome: Outcome) -> None:
        if outcome.exit_code and not outcome.text and not program.streams:
            outcome = Outcome(outcome.exit_code, outcome.ended, job_folder.tail(program.log))
        program.settle(outcome)
        move(program.folder, os.path.join(self._cluster, job_folder.DONE, program.id))
        del self._programs[program.id]
        program.close(outcome.exit_code)  # last: who hears of the end finds it recorded

    # -- who asks -------------------------------------------------------------------------------------------------

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
        """There is a new program. With streams the connection waits for its end."""
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
        """End a program that waits for a process, or for its Spark.

        While Spark's JVM waits for YARN, or for whatever gives it executors, Python waits for the JVM and puts signals
        off: such a process is killed.
        """
        program = self._programs.get(id)
        if program is None:
            return False
        program.signal(signal.SIGTERM)
        program.last_call = time.monotonic() + STARTING_SECONDS
        return True

    def _want(self, name: str) -> bool:
        """Whether there is a service of this name; it is started at the next look."""
        wanted = [service for service in self._services if isinstance(service, Service) and service.name == name]
        for service in wanted:
            service.want()
        return bool(wanted)

    # -- the end --------------------------------------------------------------------------------------------------

    def _end_all(self) -> None:
        """Cancel the programs, then end server and engine."""
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
            os.unlink(sockets.socket_path(self._cluster, sockets.SUPERVISOR))


def _to_end(path: str) -> int:
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)


def _now() -> int:
    return time.time_ns() // 1_000_000
