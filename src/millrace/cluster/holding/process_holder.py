"""``JobHolder`` of a program in the foreground: the jobs of this process."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable, Mapping, Sequence

from millrace.checkpoint.savepoints.disposal import dispose
from millrace.cluster.control import JobControl
from millrace.cluster.documents.cluster import LogDocument, TaskManagerDocument
from millrace.cluster.documents.job import JobDocument
from millrace.cluster.documents.threads import ThreadDocument
from millrace.cluster.holding.known_jobs import is_over
from millrace.cluster.holding.logs import list_logs, read_log, with_older
from millrace.cluster.remote.control_service import JobsHere
from millrace.util.secrets import mask_options
from millrace.util.stacks import stacks


class ProcessHolder:
    """The jobs that this process has run.

    :param log_file: where Spark's JVM logs to, once that is known.
    """

    def __init__(
        self,
        here: JobsHere,
        configuration: Mapping[str, str],
        task_managers: Callable[[], Sequence[TaskManagerDocument]],
        log_file: Callable[[], str | None],
    ) -> None:
        self._here = here
        self._configuration = dict(configuration)
        self._task_managers = task_managers
        self._log_file = log_file

    def jobs(self) -> Sequence[JobDocument]:
        return sorted(self._here.documents(), key=lambda job: (is_over(job), -job.started))

    def job(self, id: str) -> JobDocument | None:
        control = self._here.control(id)
        return None if control is None else control.document()

    def control(self, id: str) -> JobControl | None:
        return self._here.control(id)

    def task_managers(self) -> Sequence[TaskManagerDocument]:
        return self._task_managers()

    def configuration(self) -> Mapping[str, str]:
        return mask_options(self._configuration)

    def logs(self, task_manager: str | None) -> Sequence[LogDocument]:
        return list_logs(self._log_paths())

    def read_log(self, task_manager: str | None, name: str) -> Iterable[bytes] | None:
        return read_log(self._log_paths(), name)

    def _log_paths(self) -> list[str]:
        found = self._log_file()
        return [] if found is None else with_older(found)

    def threads(self) -> Sequence[ThreadDocument]:
        return [ThreadDocument(stack.name, stack.text) for stack in stacks()]

    def dispose_savepoint(self, path: str) -> None:
        dispose(path)

    def shut_down(self) -> None:
        """As Ctrl-C does."""
        os.kill(os.getpid(), signal.SIGINT)
