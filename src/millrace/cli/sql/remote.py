"""Runs statements in a SQL gateway."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from millrace.cli.sql.executor import reason
from millrace.cluster.gateway.sql_completion import Candidate, typed
from millrace.cluster.gateway.sql_session import table
from millrace.cluster.sql_client import GatewayClientError, Header, RefusedError, RemoteSession
from millrace.common.configuration import Configuration
from millrace.common.jobs import JobStatus
from millrace.table import TableConfig, TableResult
from millrace.table.result_kind import ResultKind
from millrace.table.sessions.session import MODE
from millrace.table.sql import statements as s
from millrace.util.secrets import mask_options

_FOR_SESSION = (s.Set, s.Reset, s.DescribeJob, s.StopJob, s.Jar)


@dataclass(frozen=True)
class RemoteJob:
    """The job of a statement in a gateway; only its id is known."""

    id: str

    def get_job_id(self) -> str:
        return self.id


class JobFailedThereError(Exception):
    """A job of an INSERT has failed after its statement had returned."""


class Remote:
    """An ``Executor`` in a gateway; its jobs continue after the client has left."""

    def __init__(self, session: RemoteSession) -> None:
        self._session = session
        self._settings = session.properties()
        self._changed = False
        self._inserted: set[str] = set()
        """jobs of INSERTs that had not ended at the last check"""

    @property
    def zone(self) -> str:
        config = TableConfig()
        config.add_configuration(Configuration.from_dict(self.settings()))
        return config.get_local_timezone()

    @property
    def streaming(self) -> bool:
        return self.settings().get(MODE, "streaming").lower() == "streaming"

    def settings(self) -> dict[str, str]:
        """The session's options; the last known ones if the gateway cannot be reached, which the next statement will
        report."""
        if self._changed:
            with contextlib.suppress(GatewayClientError):
                self._settings, self._changed = self._session.properties(), False
        return dict(self._settings)

    def answer(self, statement: s.Statement, defaults: Mapping[str, str]) -> TableResult | None:
        if isinstance(statement, s.Set) and statement.key is None:
            return table(("key", "value"), sorted(mask_options({**defaults, **self.settings()}).items()))
        if not isinstance(statement, _FOR_SESSION):
            return None
        try:
            return self.perform(statement)
        finally:
            self._changed = True

    def perform(self, statement: s.Statement) -> TableResult:
        submitted = self._session.submit(statement.text)
        try:
            header = submitted.header()
            if header.is_query:
                return _result(header, submitted.rows(), close=submitted.close)
            rows = list(submitted.rows())
        except BaseException:
            submitted.cancel()
            submitted.close()
            raise
        submitted.close()
        if header.job_id is not None:
            self._inserted.add(header.job_id)
        return _result(header, rows)

    def wait(self, result: TableResult) -> None:
        """Wait for an INSERT's job: done already, because the gateway has waited if ``table.dml-sync`` is set."""

    def words(self) -> RemoteWords:
        return RemoteWords(self._session)

    def reason(self, error: BaseException, verbose: bool) -> str:
        if isinstance(error, JobFailedThereError):
            return str(error)
        if not isinstance(error, GatewayClientError):
            return reason(error, verbose)
        return "\n".join(error.texts) if verbose and isinstance(error, RefusedError) else str(error)

    def failures(self) -> Iterable[tuple[str, BaseException]]:
        """Ask the gateway for failed INSERTs, if any are unfinished."""
        if not self._inserted:
            return
        try:
            jobs = list(self._session.submit("SHOW JOBS").rows())
        except GatewayClientError:
            return  # the next statement says what is wrong
        for id, name, status, *_ in jobs:
            if id in self._inserted and JobStatus[status].is_globally_terminal_state():
                self._inserted.discard(id)
                if status == JobStatus.FAILED.name:
                    why = "it has failed; the log and the dashboard of what runs it say why"
                    yield f"job {id} ({name})", JobFailedThereError(why)

    def running(self) -> list[str]:
        return []

    def wait_for_jobs(self) -> None:
        """Does nothing: jobs of a gateway do not need the client."""


class RemoteWords:
    """Asks the gateway for completions."""

    def __init__(self, session: RemoteSession) -> None:
        self._session = session

    def of(self, before: str, after: str = "") -> list[Candidate]:
        length = len(typed(before, after).begun)
        try:
            return [Candidate(text, length, "") for text in self._session.complete(before + after, len(before))]
        except GatewayClientError:
            return []  # the statement, when it is run, tells what is wrong


def _result(header: Header, rows: Any, **more: Any) -> TableResult:
    kind = ResultKind.SUCCESS_WITH_CONTENT if header.has_content else ResultKind.SUCCESS
    job: Any = None if header.job_id is None else RemoteJob(header.job_id)
    # EXPLAIN and SHOW CREATE give one text.
    layout = "plain" if [column.name for column in header.columns] == ["result"] else "content"
    return TableResult(header.columns, rows, kind, job_client=job, layout=layout, **more)
