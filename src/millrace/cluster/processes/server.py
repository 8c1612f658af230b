"""The server of a cluster: serves the REST API and the dashboard, using the cluster's folder and the sockets of its
processes.

It holds no state that is not in the folder, so another server may take its place at any time.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn

import msgspec

from millrace.checkpoint.metadata import dispose
from millrace.cluster import job_folder, rpc, submissions
from millrace.cluster.control import JobControl, JobOverError
from millrace.cluster.documents import FrameDocument, JobDocument, LogDocument, TaskManagerDocument, ThreadDocument
from millrace.cluster.durable_files import decode
from millrace.cluster.job_holders import ClusterJob, ClusterJobs, is_log, is_over, list_logs, read_log, with_older
from millrace.cluster.processes.sql_forwarding import SQL, SqlForwarding
from millrace.cluster.program_store import UPLOAD_DIRECTORY, ClusterPrograms
from millrace.cluster.rest.serving import NoPortError, RestServer
from millrace.cluster.rest.settings import Binding, binding, rest_settings
from millrace.cluster.retention import ARCHIVE_DIRECTORY, ArchiveWriter
from millrace.cluster.rpc import NotThereError, SilentError, ask
from millrace.cluster.run_folder import (
    CANNOT_LISTEN,
    SERVER_FILE,
    ServerDescription,
    become,
    describe_engine,
    read_token,
    this_process,
)
from millrace.cluster.socket_control import SocketControl
from millrace.configuration.files import log_limits
from millrace.util.logs import keep_own_short
from millrace.util.secrets import mask_options
from millrace.util.tracebacks import stacks

if TYPE_CHECKING:
    from millrace.cluster.control import Launch


# Jobs that no process drives


class NotRunningError(Exception):
    """The job has no process now; the text says so."""


class ControlWithoutProcess:
    """``JobControl`` of a job without a process: it can be looked at, and cancelled if it has not ended.

    :param cancel: ends a job that waits for a process; None: the job has ended.
    """

    def __init__(self, document: JobDocument, cancel: Callable[[], object] | None = None) -> None:
        self._document = document
        self._cancel = cancel

    def document(self) -> JobDocument:
        return self._document

    def cancel(self) -> None:
        if self._cancel is not None:
            self._cancel()
        elif self._document.state != "CANCELED":
            self._refuse()

    def savepoint(self, directory: str | None, native: bool) -> Future[str]:
        self._refuse()

    def stop(self, directory: str | None, drain: bool, native: bool) -> Future[str]:
        self._refuse()

    def checkpoint(self, full: bool) -> Future[int]:
        self._refuse()

    def query_state(self, operator: str, state: str, key: Any) -> Future[Any]:
        self._refuse()

    def threads(self, task_manager: str | None) -> list[ThreadDocument]:
        return []

    def flame_graph(self, vertex: str, subtask: int | None, mode: str) -> FrameDocument:
        return FrameDocument("root", 0)

    def _refuse(self) -> NoReturn:
        text = f"job {self._document.name!r} ({self._document.id}) is {self._document.state}"
        if self._cancel is None:
            raise JobOverError(text)
        raise NotRunningError(f"{text}: no process drives it now")


# All jobs of the cluster

ENGINE_SECONDS = 5.0
_WITHOUT_PROCESS = ("CREATED", "RESTARTING", "SUSPENDED")
"""States of jobs that no process drives."""


class ClusterHolder:
    """The ``JobHolder`` of one cluster.

    :param configuration: the cluster's configuration.
    """

    def __init__(self, folder: str, configuration: Mapping[str, str]) -> None:
        self._folder = folder
        self._configuration = dict(configuration)
        self._task_managers: list[TaskManagerDocument] | None = None
        self._known = ClusterJobs(folder)
        self._known.start()

    def jobs(self) -> Sequence[JobDocument]:
        return [known.document for known in self._known.all()]

    def job(self, id: str) -> JobDocument | None:
        known = self._known.get(id)
        return None if known is None else known.document

    def control(self, id: str) -> JobControl | None:
        known = self._known.get(id)
        return None if known is None else self._control(known)

    def _control(self, known: ClusterJob) -> JobControl:
        document, program = known.document, known.program
        if program is None or is_over(document):
            return ControlWithoutProcess(document)
        if document.state not in _WITHOUT_PROCESS and submissions.is_running(program):
            return SocketControl(document.id, rpc.socket_path(program, rpc.CONTROL))
        return ControlWithoutProcess(document, lambda: self._cancel(os.path.basename(program)))

    def _cancel(self, program: str) -> None:
        path = rpc.socket_path(self._folder, rpc.SUPERVISOR)
        ask(path, "the supervisor of the cluster", "cancel", id=program)

    def task_managers(self) -> Sequence[TaskManagerDocument]:
        """The task managers that the engine reports; the last reported ones if the engine is too busy to answer.

        :raises SilentError: the engine is too busy to answer and has never reported any.
        """
        path = rpc.socket_path(self._folder, rpc.ENGINE)
        try:
            found = ask(path, "the engine", "task_managers", ENGINE_SECONDS)
        except SilentError:
            if self._task_managers is None:
                raise
            return self._task_managers
        except NotThereError:
            self._task_managers = None
            return []  # it is just being started
        self._task_managers = msgspec.convert(found, list[TaskManagerDocument])
        return self._task_managers

    def configuration(self) -> Mapping[str, str]:
        return mask_options(self._configuration)

    def logs(self, task_manager: str | None) -> Sequence[LogDocument]:
        return list_logs(self._log_paths(task_manager))

    def read_log(self, task_manager: str | None, name: str) -> Iterable[bytes] | None:
        return read_log(self._log_paths(task_manager), name)

    def _log_paths(self, task_manager: str | None) -> list[str]:
        """The log files of a task manager. The driver logs beside server and engine; executors on other machines have
        their logs there."""
        if task_manager is not None:
            described = describe_engine(self._folder)
            return [] if described is None or described.log_file is None else with_older(described.log_file)
        base = os.path.join(self._folder, job_folder.LOGS)
        return [os.path.join(base, name) for name in sorted(os.listdir(base)) if is_log(name)]

    def threads(self) -> Sequence[ThreadDocument]:
        return [ThreadDocument(stack.name, stack.text) for stack in stacks()]

    def dispose_savepoint(self, path: str) -> None:
        dispose(path)

    def shut_down(self) -> None:
        ask(rpc.socket_path(self._folder, rpc.SUPERVISOR), "the supervisor of the cluster", "stop")


# The process

SUBMIT = "web.submit.enable"

PlanOf = Callable[["Launch", str], "JobDocument"]
"""Gives the job that an uploaded program would start; gets the program's path."""


def run_server(folder: str, plan_of: PlanOf) -> int:
    """Run the server of a cluster until SIGTERM arrives; returns the exit code."""
    from millrace.cluster.rest.app import make_app

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of the terminal of start-foreground: the supervisor decides
    configuration = job_folder.read_configuration(folder)
    try:
        keep_own_short([os.path.join(folder, job_folder.LOGS, "server.log")], log_limits(configuration))
        where = _where_it_was(folder, binding(configuration))
        settings = rest_settings(configuration, read_token(folder), where)
        programs, sql = None, None
        if configuration.get(SUBMIT, "true").lower() != "false":
            programs = ClusterPrograms(folder, plan_of, configuration.get(UPLOAD_DIRECTORY))
            settings = replace(settings, sql=SQL)
            sql = SqlForwarding(folder, settings).answer
        server = RestServer(make_app(ClusterHolder(folder, configuration), programs, settings, sql), where)
    except (NoPortError, ValueError) as error:
        print(error, file=sys.stderr, flush=True)
        return CANNOT_LISTEN
    if become(folder, SERVER_FILE, ServerDescription(this_process(), server.address)):
        directory = configuration.get(ARCHIVE_DIRECTORY)
        if directory:
            ArchiveWriter(folder, directory).start()
        server.run()
    return 0


def _where_it_was(folder: str, where: Binding) -> Binding:
    """Let a restarted server listen on its predecessor's port, so that links and scripts still work."""
    try:
        with open(os.path.join(folder, SERVER_FILE), "rb") as file:
            before = int(decode(file.read(), ServerDescription).url.rpartition(":")[2])
    except (OSError, ValueError):
        return where
    return replace(where, ports=[before, *where.ports]) if before in where.ports else where
