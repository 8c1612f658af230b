"""A statement that was submitted to the gateway: its status, and its rows in pages.

A client asks for token 0, 1, 2, ... and may ask for the last one again, in case the answer was lost. A thread of its
own reads the rows of a query; it waits while the client does not fetch.
"""

from __future__ import annotations

import contextlib
import enum
import threading
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

from millrace.common.jobs import JobClient
from millrace.common.types import Row
from millrace.relational.types import DataType
from millrace.table.result_kind import ResultKind
from millrace.table.table_result import TableResult

# Errors


class GatewayError(Exception):
    """The gateway cannot serve a request; the text says why."""


class RetiredError(GatewayError):
    """The gateway is about to end and opens no sessions; a new gateway may start soon."""


class NoSuchSessionError(GatewayError):
    """No open session has this handle."""

    def __init__(self, handle: str) -> None:
        super().__init__(f"Session '{handle}' does not exist.")


class NoSuchOperationError(GatewayError):
    """The session has no operation with this handle."""

    def __init__(self, handle: str) -> None:
        super().__init__(f"Can not find the submitted operation in the OperationManager with the {handle}.")


# Pages of rows

MOST_ROWS = 5000
"""Rows of a page, at most. While this many rows wait to be fetched, no more are read."""


@dataclass(frozen=True)
class Page:
    """The rows of one token. An empty page that is not the last says that no row has arrived yet."""

    rows: tuple[Row, ...]
    is_last: bool


LAST = Page((), True)


class Pages:
    """The rows of a statement, in pages.

    :param rows: lists of at most ``MOST_ROWS`` rows.
    :param streamed: whether a thread of its own reads the rows; otherwise they are all read at once.
    """

    def __init__(self, rows: Iterable[Sequence[Row]], streamed: bool) -> None:
        self._waiting: deque[Row] = deque()
        self._changed = threading.Condition()
        self._ended = self._closed = False
        self._error: BaseException | None = None
        self._token = 0
        """the token of the next page"""
        self._last_given = Page((), False)
        if streamed:
            threading.Thread(target=self._read, args=(rows,), name="millrace-gateway-rows", daemon=True).start()
        else:
            self._waiting.extend(chain.from_iterable(rows))
            self._ended = True

    def _read(self, rows: Iterable[Sequence[Row]]) -> None:
        try:
            for together in rows:
                with self._changed:
                    self._changed.wait_for(lambda: self._closed or len(self._waiting) < MOST_ROWS)
                    if self._closed:
                        return
                    self._waiting.extend(together)
        except BaseException as error:
            self._error = error
        finally:
            with self._changed:
                self._ended = True
                self._changed.notify_all()

    def fetch(self, token: int) -> Page:
        """:raises GatewayError: it is neither the next token nor the one before.

        :raises BaseException: what reading the rows has raised, once those before are fetched.
        """
        with self._changed:
            if token == self._token - 1:
                return self._last_given
            if token != self._token:
                before = f"{self._token} or {self._token - 1}" if self._token else "0"
                raise GatewayError(f"Expecting token to be {before}, but found {token}.")
            if not self._waiting and self._ended:
                if self._error is not None:
                    raise self._error
                return LAST  # under the same token from now on, and the page before stays the one before
            rows = tuple(self._waiting.popleft() for _ in range(min(MOST_ROWS, len(self._waiting))))
            self._changed.notify_all()
            self._last_given = Page(rows, False)
            self._token += 1
            return self._last_given

    def close(self) -> None:
        """Stop reading rows: the client fetches no more."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()


# Statements


class OperationStatus(enum.Enum):
    """Flink's states of an operation."""

    INITIALIZED = "INITIALIZED"
    PENDING = "PENDING"
    RUNNING = "RUNNING"
    FINISHED = "FINISHED"
    CANCELED = "CANCELED"
    CLOSED = "CLOSED"
    ERROR = "ERROR"
    TIMEOUT = "TIMEOUT"

    @property
    def is_over(self) -> bool:
        return self not in (OperationStatus.INITIALIZED, OperationStatus.PENDING, OperationStatus.RUNNING)


@dataclass(frozen=True)
class Result:
    """The schema and kind of a statement's result, without its rows."""

    names: tuple[str, ...]
    types: tuple[DataType, ...]
    kind: ResultKind
    is_query: bool
    job_id: str | None
    zone: str
    """the session's time zone, in which PLAIN_TEXT shows TIMESTAMP_LTZ values"""


class Operation:
    """One submitted statement. It runs on the thread of its session; all other methods may be called from any
    thread."""

    def __init__(self, work: Callable[[], tuple[TableResult, bool]], zone: Callable[[], str]) -> None:
        """:param work: runs the statement; returns its result, and whether it is a query."""
        self.handle = str(uuid.uuid4())
        self._work = work
        self._zone = zone
        self._lock = threading.Lock()
        self._status = OperationStatus.PENDING
        self._over = threading.Event()
        self._error: BaseException | None = None
        self._table: TableResult | None = None
        self._result: Result | None = None
        self._pages: Pages | None = None
        self._timer: threading.Timer | None = None
        self.clients: list[JobClient] = []
        """jobs that the statement has started"""

    def started(self, client: JobClient) -> None:
        """Record a job that the statement has started; cancel it if the operation has ended meanwhile."""
        self.clients.append(client)
        if self._status.is_over:  # by a limit or on demand, in this moment
            client.cancel()

    @property
    def status(self) -> OperationStatus:
        return self._status

    def limit(self, seconds: float) -> None:
        """End the operation with TIMEOUT if it still runs after these seconds."""
        self._timer = threading.Timer(seconds, self._stop, (OperationStatus.TIMEOUT,))
        self._timer.daemon = True
        self._timer.start()

    def run(self) -> None:
        """Run the statement; called on the thread of the session."""
        if not self._become(OperationStatus.RUNNING):
            return
        try:
            self._take(*self._work())
        except BaseException as error:
            self._error = error
            self._become(OperationStatus.ERROR)
            return
        if not self._become(OperationStatus.FINISHED):  # it was cancelled meanwhile
            self._let_go()

    def _take(self, table: TableResult, is_query: bool) -> None:
        client = table.get_job_client()
        schema = table.get_resolved_schema()
        self._table = table
        self._result = Result(
            tuple(schema.get_column_names()),
            tuple(schema.get_column_data_types()),
            table.get_result_kind(),
            is_query,
            None if client is None else str(client.get_job_id()),
            self._zone(),
        )
        self._pages = Pages(table._lists(MOST_ROWS), streamed=is_query)

    def _become(self, status: OperationStatus) -> bool:
        """Change the status, unless the operation has ended; returns whether the status was changed."""
        with self._lock:
            if self._status.is_over:
                return False
            self._status = status
        if status.is_over:
            self._over.set()
            if self._timer is not None:
                self._timer.cancel()
        return True

    def wait(self, seconds: float) -> bool:
        """Wait; returns whether the operation has ended within these seconds."""
        return self._over.wait(seconds)

    @property
    def result(self) -> Result:
        """:raises GatewayError: there is none; the statement's own error is its cause."""
        if self._result is not None and self._status is OperationStatus.FINISHED:
            return self._result
        if self._error is not None:
            raise GatewayError("Failed to fetchResults.") from self._error
        raise GatewayError(f"Can not fetch results from the {self.handle} in {self._status.value} status.")

    def fetch(self, token: int) -> Page:
        """:raises GatewayError: no rows, a wrong token, or what reading them has raised as its cause."""
        result = self.result
        assert self._pages is not None, f"{result} has rows"
        try:
            return self._pages.fetch(token)
        except GatewayError:
            raise
        except BaseException as error:
            raise GatewayError("Failed to fetchResults.") from error

    def cancel(self) -> None:
        """Cancel the operation.

        :raises GatewayError: it is over already.
        """
        if not self._stop(OperationStatus.CANCELED):
            status = self._status.value
            message = f"Failed to convert the Operation Status from {status} to CANCELED for {self.handle}."
            raise GatewayError(message)

    def close(self) -> None:
        """Drop the operation's rows, and end the job if it is a query."""
        with self._lock:
            self._status = OperationStatus.CLOSED
        self._over.set()
        if self._timer is not None:
            self._timer.cancel()
        self._end_query()

    def _stop(self, status: OperationStatus) -> bool:
        stopped = self._become(status)
        if stopped:
            self._let_go()
        return stopped

    def _let_go(self) -> None:
        """Cancel all jobs of an operation that was cancelled, or timed out, while its statement ran."""
        self._end_query()
        for client in self.clients:
            client.cancel()

    def _end_query(self) -> None:
        """End the job of a query; the job of an INSERT continues."""
        if self._pages is not None:
            self._pages.close()
        if self._table is not None and self._result is not None and self._result.is_query:
            with contextlib.suppress(Exception):  # its error is raised where its rows are fetched
                self._table.collect().close()
