"""Executors, which run the client's statements, and the explanation of their errors.

``Executor`` is the contract; ``Embedded`` runs statements in the client's own process, on a thread of their own. The
client answers HELP, SET, SHOW JOBS, STOP JOB and the like itself (``COMMANDS``).
"""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, wait
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from millrace.cli.program_jobs import report, spark_line
from millrace.cli.sql.results import DEFAULTS, VERBOSE, ClientSettings, cost, listed
from millrace.cluster.gateway.sql_completion import Candidate, Completions
from millrace.cluster.gateway.sql_session import SqlJob, SqlJobs, SqlSession, answer
from millrace.runtime.coordination.coordinator import JobFailedError
from millrace.runtime.failure import full_traceback
from millrace.spark.errors import DriverLostError
from millrace.spark.java import JavaNotFoundError
from millrace.table import TableResult
from millrace.table.result_kind import ResultKind
from millrace.table.sql import statements as s
from millrace.table.sql.statements import Statement
from millrace.table.sql.text import SqlError
from millrace.table.statement_runners.statements import run
from millrace.util.tracebacks import raised_by_millrace, user_origin

if TYPE_CHECKING:
    from millrace.cli.sql.client import Client


class Words(Protocol):
    """Completes words at the cursor."""

    def of(self, before: str, after: str = "") -> Iterable[Candidate]:
        """Candidates for the word that is being typed."""


class Executor(Protocol):
    """Runs statements one at a time; has their settings and jobs."""

    @property
    def zone(self) -> str:
        """The time zone of TIMESTAMP_LTZ."""

    @property
    def streaming(self) -> bool:
        """Whether queries produce changes (streaming mode)."""

    def settings(self) -> dict[str, str]:
        """All options of the session."""

    def answer(self, statement: s.Statement, defaults: Mapping[str, str]) -> TableResult | None:
        """The result of a statement about settings and jobs; None for any other statement.

        :param defaults: what SET shows of options that are not set.
        """

    def perform(self, statement: s.Statement) -> TableResult:
        """Run a statement.

        :raises KeyboardInterrupt: Ctrl-C; what it had begun is taken back.
        """

    def wait(self, result: TableResult) -> None:
        """Wait for the end of the job of an INSERT."""

    def words(self) -> Words:
        """The source of completions."""

    def reason(self, error: BaseException, verbose: bool) -> str:
        """The reason of a statement's failure, in words that help its author."""

    def failures(self) -> Iterable[tuple[str, BaseException]]:
        """Jobs of INSERTs that have failed since the last call, and why."""

    def running(self) -> list[str]:
        """Running jobs of INSERTs that would end with the client."""

    def wait_for_jobs(self) -> None:
        """Wait for the jobs that would end with the client."""


# Why a statement failed

_HINT = f"(SET '{VERBOSE}' = 'true' shows all of it)"
_ENGINE = ("pyspark", "py4j")


def reason(error: BaseException, verbose: bool = False, origin: str | None = None, log_file: str | None = None) -> str:
    """The text of an error.

    :param verbose: whether the traceback is included.
    :param log_file: is named if a job has failed.
    :param origin: place in Python that Millrace takes for the user's line; it is none here, so it is left out.
    """
    text = _text(error, verbose, log_file)
    if origin is not None:
        text = text.replace(f", made at {origin},", "").replace(f"{origin}: ", "")
    return text


def _text(error: BaseException, verbose: bool, log_file: str | None) -> str:
    if isinstance(error, (JobFailedError, DriverLostError, JavaNotFoundError)):
        return report(error, log_file, verbose).text
    if verbose:
        return full_traceback(error).rstrip()
    if isinstance(error, (SqlError, NotImplementedError)) or raised_by_millrace(error):
        return str(error)
    if type(error).__module__.startswith(_ENGINE):
        return f"Spark: {spark_line(error)}\n{_HINT}"
    return f"{type(error).__name__}: {error}\n{_HINT}"


def place(error: BaseException, statement: Statement | None) -> str:
    """Place of an error in the script (``line:column``), or else of the statement that failed."""
    position = error.position if isinstance(error, SqlError) else None
    own = statement.position if statement is not None else None
    # A view has a text of its own: a place in it is none of the script.
    if position is None or (own is not None and position.source.text != own.source.text):
        position = own
    return "" if position is None else f"{position.line}:{position.column}"


# Statements in this process

T = TypeVar("T")
"""The result of a function that the worker runs."""

_LOOK_SECONDS = 1.0
"""Longest wait: a Ctrl-C that arrives right before a thread falls asleep does not wake it."""


class Worker:
    """Runs functions one after the other on one thread.

    Ctrl-C arrives in the main thread, where it would interrupt a call to Spark, which breaks the connection to the JVM.
    It
    is always the same thread, since Spark finds its session by the thread.
    """

    def __init__(self) -> None:
        self._works: SimpleQueue[tuple[Callable[[], Any], Future[Any]]] = SimpleQueue()
        self._thread = threading.Thread(target=self._loop, name="millrace-sql", daemon=True)
        self.origin: str | None = None
        """the user's line that errors name: the place in Python where this thread begins"""

    def _loop(self) -> None:
        self.origin = user_origin()
        while True:
            _do(*self._works.get())

    def do(self, work: Callable[[], T], abandon: Callable[[T], None]) -> T:
        """Run a function on the thread, and wait for its end, which must be soon.

        :param abandon: undoes the function's result after Ctrl-C.
        :raises KeyboardInterrupt: Ctrl-C, once the function has ended.
        """
        if self._thread.ident is None:
            self._thread.start()
        future: Future[T] = Future()
        self._works.put((work, future))
        try:
            while not future.done():
                wait([future], _LOOK_SECONDS)
        except KeyboardInterrupt:
            while not future.done():
                wait([future], _LOOK_SECONDS)
            if future.exception() is None:
                abandon(future.result())
            raise
        return future.result()


def _do(work: Callable[[], Any], future: Future[Any]) -> None:
    try:
        future.set_result(work())
    except BaseException as error:
        future.set_exception(error)


class Embedded:
    """An ``Executor`` in this process; its jobs end with the client."""

    def __init__(self, session: SqlSession, jobs: SqlJobs) -> None:
        self.session = session
        self.jobs = jobs
        self._worker = Worker()

    @property
    def zone(self) -> str:
        return self.session.environment.get_config().get_local_timezone()

    @property
    def streaming(self) -> bool:
        return self.session.environment._session.streaming

    def settings(self) -> dict[str, str]:
        return self.session.settings()

    def answer(self, statement: s.Statement, defaults: Mapping[str, str]) -> TableResult | None:
        return answer(statement, self.session, self.jobs, defaults)

    def perform(self, statement: s.Statement) -> TableResult:
        return self._worker.do(functools.partial(self._run, statement), _abandon)

    def _run(self, statement: s.Statement) -> TableResult:
        if not self.streaming and isinstance(statement, s.Explain):
            self.jobs.announce()
        return run(statement, self.session.environment._session)

    def wait(self, result: TableResult) -> None:
        client: Any = result.get_job_client()
        self.jobs.find(str(client.get_job_id())).announced = True
        client.wait()

    def words(self) -> Completions:
        return Completions(self.session.environment)

    def reason(self, error: BaseException, verbose: bool) -> str:
        return reason(error, verbose, self._worker.origin, self.jobs.log_file)

    def failures(self) -> Iterator[tuple[str, BaseException]]:
        for job, error in self.jobs.failures():
            yield self._name(job), error

    def running(self) -> list[str]:
        return [self._name(job) for job in self.jobs.running()]

    def wait_for_jobs(self) -> None:
        self.jobs.wait()

    def _name(self, job: SqlJob) -> str:
        return f"job {job.id} ({self.jobs.name(job)})"


def _abandon(result: TableResult) -> None:
    client: Any = result.get_job_client()
    if client is not None:
        client.cancel().result()


# The client's own commands

HELP = """\
Statements end with a semicolon; several may stand in a line, and one may take several lines.

  SELECT ..., WITH ..., VALUES ...     run a query and show its rows; Ctrl-C ends it
  INSERT INTO, INSERT OVERWRITE        start a job that writes; 'table.dml-sync' = 'true' waits for it
  EXECUTE STATEMENT SET BEGIN ... END  several INSERTs as one job
  CREATE, ALTER, DROP, USE, DESCRIBE   tables, views, functions, databases, catalogs
  SUMMARIZE t, DESCRIBE SELECT ...     figures about each column; the columns of a query
  SHOW TABLES, SHOW FUNCTIONS, ...     what there is
  EXPLAIN [details] ...                the plan: CHANGELOG_MODE, ESTIMATED_COST, PLAN_ADVICE, JSON_EXECUTION_PLAN
  SHOW JOBS                            the jobs that this client has started
  DESCRIBE JOB '<id>'                  one of them
  STOP JOB '<id>' [WITH SAVEPOINT] [WITH DRAIN]
  SET; SET '<key>' = '<value>'         show or change settings
  RESET; RESET '<key>'                 put all or one back
  HELP, CLEAR, QUIT (or EXIT)          this text; an empty screen; leave

Settings of the client:

  sql-client.execution.result-mode            tableau: rows as they come; table: a table that changes in place;
                                              changelog: the changes, page by page
  sql-client.execution.max-table-result.rows  how many rows table and changelog keep
  millrace.sql.output                         screen; csv, json, arrow: rows for other programs
  sql-client.verbose                          errors with their traceback
  sql-client.display.print-time-cost          how long statements took
  table.display.max-column-width              characters of a column of text
  execution.runtime-mode                      streaming or batch
"""


class QuitError(Exception):
    """The user has typed QUIT."""


def _client_command(statement: s.ClientCommand, client: Client) -> bool:
    if statement.name == "QUIT":
        raise QuitError
    if statement.name == "CLEAR":
        client.console.clear()
    else:
        client.console.show(HELP.splitlines())
    return True


def _set(statement: s.Set, client: Client) -> bool:
    if statement.key is not None:
        # Raises if a setting of the client itself cannot be this.
        ClientSettings.of({**client.executor.settings(), statement.key: statement.value or ""})
    return _of_session(statement, client)


def _of_session(statement: s.Statement, client: Client) -> bool:
    begin = time.monotonic()
    result = client.executor.answer(statement, DEFAULTS)
    if result is None:
        return False
    if result.get_result_kind() is ResultKind.SUCCESS_WITH_CONTENT:
        client.console.show(listed(result, client.settings, begin))
    elif isinstance(statement, s.StopJob):
        client.console.info(f"Job {statement.job} has been cancelled.")
    else:
        client.console.info(f"Execute statement succeeded.{cost(client.settings, begin)}")
    return True


COMMANDS: dict[type[s.Statement], Callable[[Any, Client], bool]] = {
    s.ClientCommand: _client_command,
    s.Set: _set,
    **dict.fromkeys((s.Reset, s.Show, s.DescribeJob, s.StopJob, s.Jar), _of_session),
}
"""Statement -> function that answers it; False: the environment runs the statement."""
