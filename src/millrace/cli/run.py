"""``millrace run``: run a program and its jobs in this process, until they end.

The first Ctrl-C or SIGTERM lets the job be cancelled, the second ends this process at once. A thread registers the
program after its job has run for a moment, so that `millrace list`, `stop` and the like find it, and serves its web
pages; programs which end at once pay nothing for it. If the packages for it are not installed, the program runs
without.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn

import click

from millrace.cli.command_line import ProgramCommand, refuse_the_rest
from millrace.cli.options import ProgramOptions, Target, program_options, savepoint_options, target_options
from millrace.cli.program import Program, RunSettings, find_program, run_settings
from millrace.cli.supervisor import Supervisor, can_supervise
from millrace.spark import job_records
from millrace.util.plugins import LAUNCHERS, load

if TYPE_CHECKING:
    from millrace.cli.program_jobs import Jobs
    from millrace.cli.terminal import Screen
    from millrace.cluster.socket_control import JobsHere
    from millrace.datastream.settings import Submission
    from millrace.spark.jobs.client import LocalJobClient
    from millrace.spark.jobs.submit import SparkJobClient


# Registering the program, and its web pages

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


# The verb

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class StoppedError(KeyboardInterrupt):
    """A signal asks the program to end."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number

    @property
    def exit_code(self) -> int:
        """The shell's exit code of a command that the signal ended."""
        return 128 + self.number


class Stopper:
    """Turns signals into ``StoppedError`` in the main thread."""

    def __init__(self, handed_on: Callable[[], int] = lambda: 0) -> None:
        """:param handed_on: counts the signals that the watching process has forwarded, or is about to."""
        self._handed_on = handed_on
        self._received: int | None = None
        self._count = 0
        self._deferred = False

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Handle signals inside; once one has arrived, also afterwards, until the process has ended."""
        # What the shell of a background command has switched off stays off.
        wanted = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
        before = {number: signal.signal(number, self._handle) for number in wanted}
        try:
            yield
        finally:
            if self._received is None:
                for number, handler in before.items():
                    signal.signal(number, handler)

    @contextlib.contextmanager
    def deferred(self) -> Iterator[None]:
        """Defer signals until the code inside has ended: interrupting a call to the JVM breaks the connection."""
        self._deferred = True
        try:
            yield
        finally:
            self._deferred = False
            self._take_back()
        if self._received is not None:
            raise StoppedError(self._received)

    def _take_back(self) -> None:
        # Spark's handler would cancel its own jobs first, and the job would look as if it had failed.
        handler = signal.getsignal(signal.SIGINT)
        if getattr(handler, "__module__", "").startswith("pyspark"):
            signal.signal(signal.SIGINT, self._handle)

    def _handle(self, number: int, _: FrameType | None) -> None:
        self._count += 1
        # A terminal or a shell tells both processes, and the one that watches hands it on all the same: then a signal
        # arrives twice. The larger of the two counts is the number that was sent.
        handed_on = self._handed_on()
        if max(handed_on, self._count - handed_on) > 1:
            os._exit(128 + number)
        if self._received is None:
            self._received = number
            if not self._deferred:
                raise StoppedError(number)


EPILOG = """
A driver that dies while a job with checkpoints runs is started again, as the job's restart strategy says. SIGUSR1
takes a savepoint of the running jobs into execution.checkpointing.savepoint-dir.

Exit codes: 0 the program has ended well, 1 it or its job failed, 2 it could not begin (wrong options, no program, no
Java), 70 Spark's JVM is gone, 130 stopped by Ctrl-C, 143 by SIGTERM, 128+N killed by signal N; else what the program
exits with.
"""


@click.command(cls=ProgramCommand, epilog=EPILOG, context_settings={"allow_interspersed_args": False})
@program_options
@target_options
@savepoint_options
@click.option("--no-restart", is_flag=True, help="Don't start the driver again when it has died.")
@click.option("--no-session", is_flag=True, help="With a Spark of its own, also where `millrace session` keeps one.")
@click.option("--quiet", is_flag=True, help="No live line and no summary on a terminal; log errors only.")
@click.option("--verbose", is_flag=True, help="Log more, and show errors with all their tracebacks.")
@refuse_the_rest
def run(
    program: ProgramOptions,
    target: Target,
    savepoint: tuple[tuple[str, str], ...],
    no_restart: bool,
    no_session: bool,
    quiet: bool,
    verbose: bool,
) -> None:
    """Run a Flink program written in Python on Spark: on the cluster that runs, on the session, or in this process.

    In a pipe only the program's own output appears. On a terminal a live line shows how its job fares.
    """
    start(program, target, savepoint, no_restart, quiet, verbose, no_session)


def start(
    program: ProgramOptions,
    target: Target,
    savepoint: tuple[tuple[str, str], ...],
    no_restart: bool = False,
    quiet: bool = False,
    verbose: bool = False,
    no_session: bool = False,
) -> None:
    """Run a program where its command line says: submit it to a cluster or session, or run it here to its end."""
    if quiet and verbose:
        raise click.UsageError("--quiet and --verbose contradict each other: give one of them")
    if quiet or verbose:
        level = ("spark.log.level", "INFO" if verbose else "ERROR")
        program = replace(program, properties=(level, *program.properties))
    found = find_program(program)
    submitting = load(LAUNCHERS, "commands")
    cluster = submitting.cluster_for(program, target)
    if cluster is not None:
        submitting.submit_to(cluster, program, found, savepoint, target)
    session = None if no_session else submitting.session_for(program, target)
    if session is not None:
        submitting.submit_to(session, program, found, savepoint, target, Manner(quiet=quiet, verbose=verbose))
    program = replace(program, properties=(*program.properties, *savepoint))  # an option beats its -D twin
    supervisor = None if no_restart or not can_supervise() else Supervisor()
    if supervisor is not None and (code := supervisor.supervise()) is not None:
        sys.exit(code)
    job_records.use(supervisor.recovery if supervisor else None)
    stopper = Stopper(supervisor.handed_on) if supervisor else Stopper()
    folder = supervisor.directory if supervisor else None
    try:
        with stopper.listening(), tempfile.TemporaryDirectory(prefix="millrace-ship-", dir=folder) as directory:
            manner = Manner(program.pyflink, quiet, verbose, is_found=True)
            settings = run_settings(program, found, directory)
            from millrace.spark.sessions.own_jvm import started_early  # not in the process that watches

            with started_early(settings.configuration):
                run_program(found, settings, stopper, manner)
    except KeyboardInterrupt as stopped:
        click.echo("cancelled", err=True)
        sys.exit(stopped.exit_code if isinstance(stopped, StoppedError) else 130)


@dataclass(frozen=True)
class Manner:
    """How a program's run is displayed and registered."""

    pyflink: bool = False
    quiet: bool = False
    verbose: bool = False
    announce: Callable[[str], None] = lambda _: None
    """is called with the id of each job before the job starts, on the thread that drives it"""
    started: Callable[[LocalJobClient], None] = lambda _: None
    """is called with the client of each running job"""
    is_found: bool = False
    """whether the program is registered as one in the foreground"""


@click.command("run-application", cls=ProgramCommand, context_settings={"allow_interspersed_args": False})
@program_options
@target_options
@savepoint_options
@refuse_the_rest
def run_application(program: ProgramOptions, target: Target, savepoint: tuple[tuple[str, str], ...]) -> None:
    """Run a program on the cluster with a Spark of its own, main() and all, and return when its job has begun.

    Flink's documents of old have this command; it is `run -d --isolated`.
    """
    submitting = load(LAUNCHERS, "commands")
    found = find_program(program)
    target = replace(target, detached=True, isolated=True)
    cluster = submitting.cluster_for(program, target)
    assert cluster is not None, "detached programs need a cluster"
    submitting.submit_to(cluster, program, found, savepoint, target)


def run_program(program: Program, settings: RunSettings, stopper: Stopper, manner: Manner) -> None:
    """Run a program with its jobs. If it fails, exits with a report."""
    from millrace.cli.live import JobWatch
    from millrace.cli.program_jobs import Jobs, hooks, report, savepoints_on_signal

    if not manner.verbose:
        # A program that logs at INFO would otherwise print how its connections to the JVM open and close.
        logging.getLogger("py4j").setLevel(logging.WARNING)
    screen = None if manner.quiet else _screen()
    watch = JobWatch(screen, manner.announce)
    started, presence = manner.started, None
    if manner.is_found:
        tell = screen.say if screen else None
        presence = Presence(program.target, settings.configuration, tell, lambda: watch.log_file, watch.works)
        started = presence.started
    jobs = Jobs(_starter(stopper, screen, started))
    say = screen.say if screen else partial(click.echo, err=True)
    with hooks(settings, jobs.submit, watch.listener, manner.pyflink):
        try:
            with screen.around() if screen else contextlib.nullcontext(), savepoints_on_signal(jobs, say):
                _run_with_jobs(program, settings, jobs, say)
        except Exception as error:
            if isinstance(error, OSError) and error.errno == errno.EPIPE:
                _reader_has_gone()
            explained = report(jobs.lost() or error, watch.log_file, manner.verbose)
            sys.stdout.flush()
            click.echo(explained.text, err=True)
            sys.exit(explained.exit_code)
        finally:
            if presence is not None:
                presence.close()


def _run_with_jobs(program: Program, settings: RunSettings, jobs: Jobs, say: Callable[[str], None]) -> None:
    """Run the program, then wait for its remaining jobs; if the program fails, they are cancelled."""
    from millrace.graph.program import never_executed, watching

    with watching() as described:
        try:
            program.run(settings.paths, afterwards=jobs.wait)
        finally:
            jobs.cancel()
    if (forgotten := never_executed(described)) is not None:
        say(f"{forgotten.described} never ran: the program has ended without calling execute() behind it")
        sys.exit(1)


def _screen() -> Screen | None:
    if not sys.stderr.isatty():
        return None
    from millrace.cli.terminal import terminal

    return terminal()


def _starter(
    stopper: Stopper, screen: Screen | None, started: Callable[[LocalJobClient], None]
) -> Callable[[Submission], SparkJobClient]:
    from millrace.spark.sessions.settings import spark_context

    def start(submission: Submission) -> SparkJobClient:
        if screen is not None and spark_context() is None:
            screen.show("starting Spark")
        with stopper.deferred():
            client = submission.start()
        started(client)
        return client

    return start


def _reader_has_gone() -> NoReturn:
    """Exit quietly: the reader of the output has ended (``| head``)."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(1)


COMMANDS = (run, run_application)
