"""Registers a program in the foreground, so that `millrace list`, `stop` and the like find it, and serves its web
pages.

A thread does this after the job has run for a moment, so that programs which end at once pay nothing for it. If the
packages for it are not installed, the program runs without.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import threading
import time
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from millrace.cluster.socket_control import JobsHere
    from millrace.spark.jobs.client import LocalJobClient

WAIT_SECONDS = 1.0
"""How long a job must run after its first epoch before the program is registered."""
FIRST_SECONDS = 5.0
"""How long the thread waits for the first epoch: in a cold start that needs the processors which these imports would
take."""
logger = logging.getLogger("millrace")

ARCHIVES = "jobmanager.archive.fs.dir"
PORT = "rest.port"
NO_PORT = "none"
"""``rest.port`` for a program without web pages."""


class Presence:
    """Makes the jobs of this process visible to other commands.

    :param configuration: the program's configuration.
    :param say: prints the address of the web pages; None: nothing is printed.
    :param log_file: path of Spark's log, once it is known.
    :param works: set when a job has completed its first epoch.
    """

    def __init__(
        self,
        program: str,
        configuration: Mapping[str, str],
        say: Callable[[str], None] | None,
        log_file: Callable[[], str | None],
        works: threading.Event,
    ) -> None:
        self._program = program
        self._configuration = configuration
        self._say = say
        self._log_file = log_file
        self._works = works
        self._begun = False
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._here: JobsHere | None = None
        self._folder: str | None = None
        self._server: Any = None
        self._ran: JobsHere | None = None
        """the jobs to archive at the end"""

    def started(self, client: LocalJobClient) -> None:
        """Register one more job."""
        if self._ran is None and self._configuration.get(ARCHIVES) and find_spec("msgspec") is not None:
            from millrace.cluster.publishing import published_jobs
            from millrace.cluster.socket_control import JobsHere

            published_jobs()  # from here on it hears of all
            self._ran = JobsHere(published_jobs)
        if not self._begun and find_spec("msgspec") is not None:
            self._begun = True
            threading.Thread(target=self._begin, name="millrace-presence", daemon=True).start()

    def _begin(self) -> None:
        self._works.wait(FIRST_SECONDS)
        if self._closed.wait(WAIT_SECONDS):
            return
        # What goes wrong here must not touch the job.
        with contextlib.suppress(Exception):
            self._listen()
        with contextlib.suppress(Exception):
            if not self._closed.is_set():
                self._serve()

    def _listen(self) -> None:
        from millrace.cluster import rpc, run_folder
        from millrace.cluster.publishing import published_jobs
        from millrace.cluster.rpc import CallServer
        from millrace.cluster.socket_control import JobsHere

        here = self._here = JobsHere(published_jobs)
        folder = run_folder.new_folder(f"run-{os.getpid()}")
        CallServer(rpc.listen(rpc.socket_path(folder, rpc.CONTROL)), here.calls(), "millrace-control").start()
        with self._lock:
            if not self._closed.is_set():
                self._folder = folder
                self._register(None)
        if self._folder is None:
            shutil.rmtree(folder, ignore_errors=True)

    def _register(self, address: str | None) -> None:
        from millrace.cluster import run_folder

        assert self._folder is not None
        entry = run_folder.Entry(
            run_folder.FOREGROUND, run_folder.this_process(), address, self._program, time.time_ns() // 1_000_000
        )
        run_folder.register(self._folder, entry)

    def _serve(self) -> None:
        """Serve the REST API with the web pages, if they are installed and enabled."""
        wanted = self._configuration.get(PORT, "").lower() != NO_PORT
        if not wanted or any(find_spec(name) is None for name in ("starlette", "uvicorn")):
            return
        from millrace.cluster.job_holders import ProcessHolder
        from millrace.cluster.rest.app import make_app
        from millrace.cluster.rest.serving import NoPortError, RestServer
        from millrace.cluster.rest.settings import binding, rest_settings
        from millrace.cluster.run_folder import read_token
        from millrace.metrics.system import wants_machine

        assert self._here is not None and self._folder is not None
        token = read_token(self._folder)
        try:
            where = binding(self._configuration)
            settings = rest_settings(self._configuration, token, where)
            managers = _TaskManagers(wants_machine(self._configuration))
            holder = ProcessHolder(self._here, self._configuration, managers, self._log_file)
            server = RestServer(make_app(holder, None, settings), where)
        except (NoPortError, ValueError) as error:
            if self._say is not None:
                self._say(f"no web pages: {error}")
            return
        with self._lock:
            if self._closed.is_set():
                server.stop()
                return
            self._server = server
            self._register(server.address)
        # A program that logs at INFO would otherwise print how the server comes and goes.
        logging.getLogger("uvicorn").setLevel(logging.WARNING)
        logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
        if self._say is not None:
            self._say(f"dashboard: {server.address}/?token={token}")
        server.run()

    def close(self) -> None:
        """Archive the jobs and remove the registration, because the program has ended."""
        self._archive()
        with self._lock:
            self._closed.set()
            if self._server is not None:
                self._server.stop()
            if self._folder is not None:
                shutil.rmtree(self._folder, ignore_errors=True)

    def _archive(self) -> None:
        """Archive the jobs for a history server."""
        if self._ran is None:
            return
        from millrace.cluster.history import write_archive
        from millrace.cluster.job_holders import is_over

        try:
            for document in self._ran.documents():
                if is_over(document):
                    write_archive(self._configuration[ARCHIVES], document)
        except (OSError, ValueError) as error:
            logger.warning("the jobs are not archived in %s: %s", self._configuration[ARCHIVES], error)


class _TaskManagers:
    """The task managers of this process's Spark session; empty before there is a session."""

    def __init__(self, machine: bool) -> None:
        self._machine = machine
        self._measured: Any = None

    def __call__(self) -> Any:
        from millrace.cluster.processes.engine import Measured, task_managers
        from millrace.spark.sessions.settings import spark_context

        context = spark_context()
        if context is None:
            return []
        if self._measured is None:
            self._measured = Measured(context, self._machine)
        return task_managers(context, self._measured)
