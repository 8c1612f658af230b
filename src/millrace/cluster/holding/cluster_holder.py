"""``JobHolder`` of a cluster: over its folder, and the sockets of its processes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from millrace.checkpoint.savepoints.disposal import dispose
from millrace.cluster.control import JobControl
from millrace.cluster.documents.cluster import LogDocument, TaskManagerDocument
from millrace.cluster.documents.job import JobDocument
from millrace.cluster.documents.threads import ThreadDocument
from millrace.cluster.holding.known_jobs import KnownJob, KnownJobs, is_over
from millrace.cluster.holding.logs import is_log, list_logs, read_log, with_older
from millrace.cluster.holding.other_controls import ControlWithoutProcess
from millrace.cluster.places import attempts, job_folder, sockets
from millrace.cluster.places.descriptions import describe_engine
from millrace.cluster.remote.socket_control import SocketControl
from millrace.cluster.wire.asking import NotThereError, SilentError, ask
from millrace.util.secrets import mask_options
from millrace.util.stacks import stacks

ENGINE_SECONDS = 5.0
_WITHOUT_PROCESS = ("CREATED", "RESTARTING", "SUSPENDED")
"""States of jobs that no process drives."""


class ClusterHolder:
    """The jobs of one cluster.

    :param configuration: of the cluster.
    """

    def __init__(self, folder: str, configuration: Mapping[str, str]) -> None:
        self._folder = folder
        self._configuration = dict(configuration)
        self._task_managers: list[TaskManagerDocument] | None = None
        self._known = KnownJobs(folder)
        self._known.start()

    def jobs(self) -> Sequence[JobDocument]:
        return [known.document for known in self._known.all()]

    def job(self, id: str) -> JobDocument | None:
        known = self._known.get(id)
        return None if known is None else known.document

    def control(self, id: str) -> JobControl | None:
        known = self._known.get(id)
        return None if known is None else self._control(known)

    def _control(self, known: KnownJob) -> JobControl:
        document, program = known.document, known.program
        if program is None or is_over(document):
            return ControlWithoutProcess(document)
        if document.state not in _WITHOUT_PROCESS and attempts.is_running(program):
            return SocketControl(document.id, sockets.socket_path(program, sockets.CONTROL))
        return ControlWithoutProcess(document, lambda: self._cancel(os.path.basename(program)))

    def _cancel(self, program: str) -> None:
        path = sockets.socket_path(self._folder, sockets.SUPERVISOR)
        ask(path, "the supervisor of the cluster", "cancel", id=program)

    def task_managers(self) -> Sequence[TaskManagerDocument]:
        """Those that the engine has told of last, if it is too busy to answer.

        :raises SilentError: it is, and has told of none before.
        """
        path = sockets.socket_path(self._folder, sockets.ENGINE)
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
        """A driver of programs logs beside server and engine; executors of other machines keep their logs there."""
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
        ask(sockets.socket_path(self._folder, sockets.SUPERVISOR), "the supervisor of the cluster", "stop")
