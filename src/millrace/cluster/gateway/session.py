"""A session of the gateway: a table environment with its settings and jobs, and the statements submitted to it.

INSERTs run in a cluster if there is one, queries on the Spark that this process shares with it. The statements of a
session run one after the other on one thread, because Spark finds its session by the thread.
"""

from __future__ import annotations

import os
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from queue import SimpleQueue
from typing import TYPE_CHECKING

from millrace.cluster.gateway.operations import GatewayError, NoSuchOperationError, Operation
from millrace.cluster.gateway.sql_completion import Completions
from millrace.cluster.gateway.sql_session import SqlJobs, SqlSession, answer
from millrace.common.jobs import JobClient
from millrace.common.types import Row
from millrace.relational.nodes import Field
from millrace.relational.types import string
from millrace.spark.jobs.listeners import JobListener
from millrace.spark.sessions.settings import spark_context
from millrace.table.sessions.session import DML_SYNC
from millrace.table.sessions.table_result import settled
from millrace.table.sql import statements as s
from millrace.table.sql.grammar.parser import parse_statement
from millrace.table.statement_runners.statements import run
from millrace.table.table_result import TableResult

if TYPE_CHECKING:
    from millrace.cluster.client import Cluster


# Where statements run

Find = Callable[[Mapping[str, str]], "Cluster | None"]
"""Finds the cluster that takes the jobs of a session with these settings; None: this process runs them."""


def nowhere(settings: Mapping[str, str]) -> Cluster | None:
    """A ``Find`` that finds no cluster: this process runs all jobs."""
    return None


class SessionCluster:
    """The cluster that runs a session's INSERTs, and the Spark that this process shares with it once a query needs
    one.

    :param find: called for each job.
    """

    def __init__(self, find: Find = nowhere) -> None:
        self.cluster = find
        self._lock = threading.Lock()
        self._announce: Callable[[str], None] | None = None

    def share(self, settings: Mapping[str, str]) -> None:
        """Attach to the cluster's engine, if this process has no Spark yet, and to a new engine if the old one is
        gone.

        :raises NotThereError: there is a cluster, and its engine does not come.
        :raises NoClusterError: the one that the settings ask for is not there.
        """
        cluster = self.cluster(settings)
        with self._lock:
            if self._announce is not None and not _answers():
                from millrace.spark.jobs.gateways import detach

                self._announce = None
                detach()
            if cluster is not None and spark_context() is None:
                from millrace.cluster.processes.engine import attach_to_engine

                self._announce = attach_to_engine(cluster.folder, f"sql-gateway-{os.getpid()}")

    def announce(self, job: str) -> None:
        """Tell the engine about a job that is about to run on it; called on the thread that drives the job."""
        if self._announce is not None:
            self._announce(job)


def _answers() -> bool:
    from millrace.spark.errors import jvm_answers

    context = spark_context()
    return context is not None and jvm_answers(context)


# The session

MOST_OPERATIONS = 100
"""Ended operations of a session that are remembered until the client closes them; beyond, the oldest are dropped."""
CONFIGURE_SECONDS = 600.0
"""Time limit of a statement that configures the session, if the client names none."""
CONFIGURING = (
    *(s.Set, s.Reset, s.CreateTable, s.CreateView, s.CreateFunction, s.CreateDatabase, s.CreateCatalog, s.CreateModel),
    *(s.Drop, s.Alter, s.UseCatalog, s.UseDatabase, s.UseModules, s.LoadModule, s.UnloadModule, s.Jar),
)
"""Statements that ``configure-session`` accepts."""


class GatewaySession:
    """A session of the gateway. Its statements run one after the other on one thread: Spark finds its session by the
    thread."""

    def __init__(
        self,
        properties: Mapping[str, str],
        name: str | None = None,
        home: SessionCluster | None = None,
        reads_files: bool = False,
    ) -> None:
        """:param reads_files: whether the session's SQL may read files by their path."""
        self.handle = str(uuid.uuid4())
        self.name = name
        self.used = time.monotonic()
        """time of the last request to this session (seconds of the monotonic clock)"""
        self._sql = SqlSession(properties)
        self._sql.environment._session.reads_files = reads_files
        self._home = home or SessionCluster()
        self._jobs = SqlJobs(lambda _: None, lambda: self._home.cluster(self._sql.settings()))
        self._operations: dict[str, Operation] = {}
        self._lock = threading.Lock()
        self._queue: SimpleQueue[Operation | None] = SimpleQueue()
        self._current: Operation | None = None
        self._thread = threading.Thread(target=self._loop, name=f"millrace-session-{self.handle[:8]}", daemon=True)
        self._thread.start()

    @property
    def properties(self) -> dict[str, str]:
        return self._sql.settings()

    @property
    def jobs(self) -> SqlJobs:
        return self._jobs

    def runs_here(self, thread: threading.Thread) -> bool:
        """Whether a thread is the one that runs this session's statements."""
        return thread is self._thread

    def listener(self) -> JobListener:
        """A listener for the next job of this session."""
        return self._jobs.listener(self._home.announce)

    def started(self, client: JobClient) -> None:
        """Add a job to the operation of the statement that runs now."""
        if self._current is not None:
            self._current.started(client)

    # -- statements ---------------------------------------------------------------------------------------------

    def submit(self, text: str, settings: Mapping[str, str] | None = None, seconds: float | None = None) -> Operation:
        """Queue a statement: it runs after the session's earlier statements.

        :param settings: options that hold for it alone.
        :param seconds: it ends with TIMEOUT if it is not over by then; None: it may take as long as it does.
        """
        operation = Operation(lambda: self._with(settings or {}, text), self._zone)
        self._start(operation, seconds)
        return operation

    def configure(self, text: str, seconds: float | None = None) -> None:
        """Run a statement that configures the session, and wait for its end.

        :raises GatewayError: another statement, or one that failed, or that takes longer.
        """

        def work() -> tuple[TableResult, bool]:
            statement = parse_statement(text)
            if not isinstance(statement, CONFIGURING):
                raise GatewayError(f"Unsupported statement for configuring session:\n{text}")
            return self._run(statement)

        operation = Operation(work, self._zone)
        limit = seconds or CONFIGURE_SECONDS
        self._start(operation, limit)
        operation.wait(limit + 1)
        try:
            operation.result  # noqa: B018  # raises what the statement has raised
        except GatewayError as error:
            raise GatewayError("Failed to configure session.") from (error.__cause__ or error)
        finally:
            self.close_operation(operation.handle)

    def _start(self, operation: Operation, seconds: float | None) -> None:
        with self._lock:
            over = [each for each in self._operations.values() if each.status.is_over]
            for each in over[: max(0, len(over) + 1 - MOST_OPERATIONS)]:
                each.close()
                del self._operations[each.handle]
            self._operations[operation.handle] = operation
        if seconds is not None and seconds > 0:
            operation.limit(seconds)
        self._queue.put(operation)

    def _loop(self) -> None:
        while (operation := self._queue.get()) is not None:
            self._current = operation
            operation.run()
            self._current = None

    def _with(self, settings: Mapping[str, str], text: str) -> tuple[TableResult, bool]:
        statement = parse_statement(text)
        before = self._sql.own_settings()
        try:
            for key, value in settings.items():
                self._sql.set(key, value)
            return self._run(statement)
        finally:
            for key in settings:
                if key in before:
                    self._sql.set(key, before[key])
                else:
                    self._sql.reset(key)

    def _run(self, statement: s.Statement) -> tuple[TableResult, bool]:
        found = answer(statement, self._sql, self._jobs, {})
        if found is not None:
            return found, False
        session = self._sql.environment._session
        if isinstance(statement, s.Explain) and not session.streaming:
            self._home.share(self._sql.settings())  # it asks Spark for its plan
        result, is_query = run(statement, session), isinstance(statement, s.Query)
        client = result.get_job_client()
        if is_query or client is None:
            return result, is_query
        if session.config.get(DML_SYNC, "false").lower() != "true":
            return _submitted(client), False
        return settled(result, session), False

    def _zone(self) -> str:
        return self._sql.environment.get_config().get_local_timezone()

    # -- operations ---------------------------------------------------------------------------------------------

    def operation(self, handle: str) -> Operation:
        """:raises NoSuchOperationError: there is none with this handle."""
        with self._lock:
            found = self._operations.get(handle)
        if found is None:
            raise NoSuchOperationError(handle)
        return found

    def close_operation(self, handle: str) -> None:
        """Close an operation; does nothing if the session has none with this handle."""
        with self._lock:
            found = self._operations.pop(handle, None)
        if found is not None:
            found.close()

    def complete(self, text: str, position: int) -> list[str]:
        """Candidates that may follow in a statement that is being typed."""
        before, after = text[:position], text[position:]
        return [str(each.text) for each in Completions(self._sql.environment).of(before, after)]

    def is_busy(self) -> bool:
        """Whether a statement of this session runs or is queued."""
        with self._lock:
            return any(not each.status.is_over for each in self._operations.values())

    def close(self) -> None:
        """Close the session: its queries end, the jobs of its INSERTs continue."""
        with self._lock:
            operations, self._operations = list(self._operations.values()), {}
        for each in operations:
            each.close()
        self._queue.put(None)


def _submitted(client: JobClient) -> TableResult:
    """The result of an INSERT that the gateway does not wait for: the id of its job."""
    id = str(client.get_job_id())
    return TableResult((Field("job id", string()),), [Row(id)], job_client=client)
