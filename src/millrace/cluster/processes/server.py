"""The server of a cluster: serves the REST API and the dashboard, using the cluster's folder and the sockets of its
processes; with the store of uploaded programs, which are files in a folder, submitted as the cluster's other
programs are (names are checked, and no id leads to a file outside of the folder).

The server holds no state that is not in the cluster's folder, so another server may take its place at any time.
"""

from __future__ import annotations

import os
import re
import signal
import stat
import sys
import time
import uuid
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

import msgspec

from millrace.checkpoint.metadata import dispose
from millrace.cluster import durable_files, job_folder, rpc, submissions
from millrace.cluster.control import JobControl, JobOverError, Launch, LaunchError, NoEntryError
from millrace.cluster.documents import (
    FrameDocument,
    JobDocument,
    LogDocument,
    ProgramDocument,
    TaskManagerDocument,
    ThreadDocument,
)
from millrace.cluster.durable_files import decode
from millrace.cluster.job_holders import ClusterJob, ClusterJobs, is_log, is_over, list_logs, read_log, with_older
from millrace.cluster.processes.sql_forwarding import SQL, SqlForwarding
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
from millrace.cluster.submissions import SubmittedProgram, check_id, new_id, submit
from millrace.configuration.files import log_limits
from millrace.util.folders import make_private
from millrace.util.logs import keep_own_short
from millrace.util.secrets import mask_options
from millrace.util.tracebacks import stacks

# Uploaded programs

SUFFIXES = (".py", ".pyz", ".zip", ".tar.gz", ".tgz")
"""suffixes of files that can be uploaded"""

_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}_[\w][\w.+() \-]{0,199}\Z")
_NAME = re.compile(r"[\w][\w.+() \-]{0,199}\Z")


class ProgramFolder:
    """Programs as files of a folder that only this user can read."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)
        make_private(str(self._path))

    def programs(self) -> Sequence[ProgramDocument]:
        """All uploaded programs."""
        with os.scandir(self._path) as entries:
            files = [each for each in entries if _ID.match(each.name) and each.is_file(follow_symlinks=False)]
            return [self._describe(Path(each.path), each.stat(follow_symlinks=False)) for each in files]

    def upload(self, name: str, content: BinaryIO) -> ProgramDocument:
        """Store a program atomically under a new id.

        :raises ValueError: it can't be a program; the text says why.
        """
        name = re.split(r"[/\\]", name)[-1].strip()
        if not name.endswith(SUFFIXES):
            raise ValueError(f"Only Python programs and archives are allowed: {', '.join(SUFFIXES)}.")
        if not _NAME.match(name):
            raise ValueError("A program's name has letters, digits and ._-+() and begins with a letter or a digit.")
        if name.endswith((".zip", ".pyz")) and not zipfile.is_zipfile(content):
            raise ValueError(f"{name} is not a zip archive.")
        content.seek(0)
        path = self._path / f"{uuid.uuid4()}_{name}"
        durable_files.copy_file(content, str(path))
        return self._describe(path, path.lstat())

    def delete(self, id: str) -> bool:
        """Delete a program; returns whether it existed."""
        path = self.path(id)
        if path is None:
            return False
        path.unlink(missing_ok=True)
        return True

    def path(self, id: str) -> Path | None:
        """The file of a program; None if no program has this id."""
        if not _ID.match(id):
            return None
        path = self._path / id
        try:
            return path if stat.S_ISREG(path.lstat().st_mode) else None
        except OSError:
            return None

    def _describe(self, path: Path, found: os.stat_result) -> ProgramDocument:
        name = path.name.partition("_")[2]
        return ProgramDocument(path.name, name, int(found.st_mtime * 1000), _entry(path, name))


def _entry(path: Path, name: str) -> str | None:
    """The entry point of a program: the file itself, or the file or module that the archive declares."""
    if name.endswith(".py"):
        return name
    if name.endswith((".zip", ".pyz")):
        try:
            with zipfile.ZipFile(path) as archive:
                return "__main__" if "__main__.py" in archive.namelist() else None
        except (OSError, zipfile.BadZipFile):
            return None
    return None


UPLOAD_DIRECTORY = "web.upload.dir"
UPLOADS = "flink-web-upload"
"""the folder in ``web.upload.dir``, as Flink calls it"""
PYTHON_DRIVER = "org.apache.flink.client.python.PythonDriver"
"""Flink's name for the entry class of all Python programs"""
START_SECONDS = 120.0
"""How long a program may take until its first job starts."""
LOOK_SECONDS = 0.05


class ClusterPrograms(ProgramFolder):
    """Programs in the folder of a cluster.

    :param plan_of: gives the job that a program would start; it gets the program's path, too.
    :param directory: where programs go, instead of the folder of the cluster.
    """

    def __init__(
        self, cluster: str, plan_of: Callable[[Launch, str], JobDocument], directory: str | None = None
    ) -> None:
        own = os.path.join(cluster, job_folder.PROGRAMS)
        super().__init__(own if directory is None else os.path.join(directory, UPLOADS))
        self._cluster = cluster
        self._plan_of = plan_of

    def plan(self, launch: Launch) -> JobDocument:
        return self._plan_of(launch, self._found(launch))

    def run(self, launch: Launch) -> str:
        path = self._found(launch)
        check_savepoint(launch.savepoint)
        try:
            id = check_id(launch.job_id) if launch.job_id else new_id()
        except ValueError as error:
            raise LaunchError(str(error)) from None
        if job_folder.place_of(self._cluster, id) is None:
            kept = job_folder.keep_program(self._cluster, id, path)
            submit(self._cluster, submission_of(launch, id, kept, os.path.dirname(path)))
        return self._begun(id)

    def _begun(self, id: str) -> str:
        """Wait until the program has a job, or has ended."""
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until:
            program = job_folder.place_of(self._cluster, id)
            outcome = None if program is None else submissions.read_outcome(program)
            if program is not None and job_folder.read_documents(program):
                return id
            if outcome is not None and outcome.exit_code:
                log = os.path.join(self._cluster, job_folder.LOGS, f"{id}.log")
                text = outcome.text or job_folder.tail(log)
                raise LaunchError(text or f"it has ended with exit code {outcome.exit_code}")
            if outcome is not None:
                raise LaunchError("the program has ended without executing a job")
            time.sleep(LOOK_SECONDS)
        raise LaunchError(f"the program has not begun a job for {START_SECONDS:g} s; its id is {id}")

    def _found(self, launch: Launch) -> str:
        path = self.path(launch.program)
        if path is None:
            raise LaunchError(f"there is no program {launch.program!r}")
        if path.suffix == ".py" and launch.entry is not None and launch.entry not in (path_entry(path), PYTHON_DRIVER):
            raise NoEntryError(
                f"The program's entry point class '{launch.entry}' was not found: {path_entry(path)} is run as a whole."
            )
        return str(path)


def path_entry(path: Path) -> str:
    """The entry point of an uploaded Python file: the file itself, under its own name."""
    return path.name.partition("_")[2]


def check_savepoint(path: str | None) -> None:
    """Refuse a savepoint path of this machine that does not exist, before anything is started."""
    local = (path or "").removeprefix("file:")
    if local.startswith("/") and not os.path.exists("/" + local.lstrip("/")):
        raise LaunchError(f"Cannot find checkpoint or savepoint file/directory '{path}' on file system 'file'.")


def submission_of(launch: Launch, id: str, path: str, directory: str) -> SubmittedProgram:
    """The submission for a launch, with its directory: of a Python file, or of a module of an archive."""
    from millrace.datastream.settings import CLAIM_MODE, IGNORE_UNCLAIMED, PATH

    options: dict[str, object] = {"properties": sorted(launch.configuration.items())}
    if launch.parallelism is not None:
        options["parallelism"] = launch.parallelism
    if path.endswith(".py"):
        options["python"] = path
    else:
        options["files"] = [path]
        options["module"] = launch.entry or "__main__"
    restore = {
        PATH: launch.savepoint,
        IGNORE_UNCLAIMED: "true" if launch.allow_non_restored else None,
        CLAIM_MODE: launch.claim_mode.lower() if launch.claim_mode else None,
    }
    return SubmittedProgram(
        id,
        directory,
        os.path.basename(path).partition("_")[2],
        {**options, "words": list(launch.arguments), "pyflink": True},
        tuple((key, value) for key, value in restore.items() if value is not None),
        dict(os.environ),
        tuple(each for each in sys.path if each),
        sys.prefix,
        submitted=time.time_ns() // 1_000_000,
    )


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
